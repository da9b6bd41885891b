"""Stop work on Ctrl-C or SIGTERM without losing what is done."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_pressed = threading.Event()


class Interrupted(KeyboardInterrupt):
    """A person stopped the run, and it is kept; the message says how to resume it."""


def note_ctrl_c() -> None:
    """From now on Ctrl-C is noted for `was_pressed`, and raises KeyboardInterrupt as before; where it is ignored, as in
    the background, it stays so. After it nothing is printed of an object that was half made and cannot be deleted."""

    def note(number: int, frame: FrameType | None) -> None:
        _pressed.set()
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)


def was_pressed() -> bool:
    """Whether Ctrl-C was noted: a library whose import it broke off may raise an exception of another kind."""
    return _pressed.is_set()


@contextmanager
def explained(said: str, kept: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block at once, as `Interrupted` with this message if the run is `kept`."""
    try:
        with _sigterm_as_ctrl_c():
            yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        if not kept():
            raise
        raise Interrupted(said) from None


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def sigterm_deferred() -> Iterator[None]:
    """SIGTERM ends the block only when it is over, as Ctrl-C would; if the block raises, only what it raised counts.

    Blocks in it that handle SIGTERM themselves still do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
    if asked.is_set():
        raise KeyboardInterrupt


@contextmanager
def stop_requested() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM only set a flag, which the block checks; a second Ctrl-C ends it at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
