"""Progress on stderr: bars, spinners and one-line notes, for people who wait.

Library functions report what they do; this module decides what is shown. Bars are drawn only on a terminal and in
Jupyter, one at a time: inside a bar no second one is drawn; inside `progress.part` others move it. `with
progress.off():` silences everything inside, notes too.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sized
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

Item = TypeVar("Item")

_shown: ContextVar[bool] = ContextVar("shown", default=True)
_busy: ContextVar[bool] = ContextVar("busy", default=False)
"""Whether a bar or a spinner is on the terminal."""
_part: ContextVar["_Share | None"] = ContextVar("part", default=None)
"""The part of a bar's work that is being done, whose own bars are not drawn."""
LATELY, STEADY = 30.0, 86_400.0  # seconds whose speed says how long the rest takes


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Report nothing inside."""
    with _set(_shown, False):
        yield


@contextlib.contextmanager
def _set(variable: ContextVar[Item], value: Item) -> Iterator[None]:
    before = variable.get()
    variable.set(value)
    try:
        yield
    finally:
        variable.set(before)  # not by a token: a notebook may close a generator in another context than began it


class Bar:
    """A progress bar, moved with `advance` and `update`; it appears with the first move."""

    def __init__(
        self,
        what: str,
        total: float | None,
        drawn: "Progress | None" = None,
        part: "_Share | None" = None,
    ) -> None:
        self.done = 0.0
        self._total = total
        self._drawn = drawn
        self._part = part
        self._task = None if drawn is None else drawn.add_task(what, total=total, note="")

    def advance(self, more: float = 1, note: str | None = None) -> None:
        """Add `more` units; show `note` after the bar from now on."""
        self.update(self.done + more, note=note)

    def update(
        self, done: float, *, total: float | None = None, note: str | None = None, what: str | None = None
    ) -> None:
        """Set the units done, and if given the `total` and the new name `what` of the work."""
        self.done = done
        self._total = self._total if total is None else total
        if self._part is not None and self._total:
            self._part.move(done / self._total)
        if self._drawn is None or self._task is None:
            return
        if not self._drawn.live.is_started:
            self._drawn.start()
        fields = {key: value for key, value in (("note", note), ("description", what)) if value is not None}
        self._drawn.update(self._task, completed=done, total=self._total, **fields)  # type: ignore[arg-type]


@contextlib.contextmanager
def bar(
    what: str,
    total: float | Iterable[object] | None = None,
    *,
    kept: bool = False,
    in_bytes: bool = False,
    steady: bool = False,
) -> Iterator[Bar]:
    """A bar during the block: the work `what`, out of `total` (a number, or an object with a length).

    A bar that is `kept` stays when the block ends, with its last note; in a log, where bars do not move, it prints one
    line. With `in_bytes` the numbers are shown as kB, MB or GB. With `steady` the time left follows from the mean speed
    since the beginning, not from that of the last half minute.
    """
    size = (len(total) if isinstance(total, Sized) else None) if isinstance(total, Iterable) else total
    inside = _part.get()
    if not _shown.get():
        yield Bar(what, size)
        return
    if _busy.get() or inside is not None:
        with contextlib.ExitStack() as stack:
            yield Bar(what, size, part=inside.taken(stack) if inside is not None else None)
        return
    console = _stderr()
    seen = console.is_terminal or console.is_jupyter
    if not (seen or kept):
        yield Bar(what, size)
        return
    from rich.progress import Progress

    columns = _columns(in_bytes, console.width if seen else None)
    period = STEADY if steady else LATELY
    drawn = Progress(*columns, console=console, transient=not kept, speed_estimate_period=period)
    try:
        with _set(_busy, True):
            yield Bar(what, size, drawn)
    finally:
        if drawn.live.is_started:
            drawn.stop()


def _columns(in_bytes: bool, width: int | None) -> "list[ProgressColumn]":
    """What a bar shows, on one line at 80 columns too; the bar itself only on a terminal, of this width."""
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    whole = Column(no_wrap=True)
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", table_column=whole),
        DownloadColumn(table_column=whole) if in_bytes else MofNCompleteColumn(table_column=whole),
        TextColumn("{task.fields[note]}", table_column=whole),
        TimeRemainingColumn(elapsed_when_finished=True, table_column=whole),
    ]
    if width is not None:
        columns.insert(1, BarColumn(bar_width=24 if width >= 110 else 8))
    return columns


class _Share:
    """The share that a part has of a bar. One bar at a time moves it; bars inside that one move nothing."""

    def __init__(self, whole: Bar, size: float) -> None:
        self._whole, self._begun, self._size = whole, whole.done, size
        self._is_taken = False

    def taken(self, stack: contextlib.ExitStack) -> "_Share | None":
        """This part, for the bar that moves it until the stack is left; None if a bar does already."""
        if self._is_taken:
            return None
        self._is_taken = True
        stack.callback(setattr, self, "_is_taken", False)
        return self

    def move(self, share: float) -> None:
        """Move the whole bar to this share of the part, and never back."""
        self._whole.update(max(self._whole.done, self._begun + self._size * min(share, 1.0)))


@contextlib.contextmanager
def part(whole: Bar, size: float) -> Iterator[None]:
    """A part of a bar's work, of `size` of its units: the bars inside are not drawn and move it.

    Of bars inside that follow one another the farthest counts, so that none moves it back.
    """
    inside = _Share(whole, size)
    with _set(_part, inside):
        yield
    inside.move(1.0)


def track(items: Iterable[Item], what: str, total: float | None = None) -> Iterator[Item]:
    """Yield the items with a progress bar; `total` is their number, where they have no length."""
    with bar(what, items if total is None else total) as moved:
        for item in items:
            yield item
            moved.advance()


@contextlib.contextmanager
def stage(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner with a message during the block; yields a function that changes the message."""
    if not _shown.get() or _busy.get() or _part.get() is not None:
        yield lambda following: None
        return
    with _set(_busy, True), _stderr().status(f"{what} …") as status:
        yield lambda following: status.update(f"{following} …")


def note(text: str) -> None:
    """Print one line of information; not a warning."""
    if _shown.get():
        _stderr().print(text, markup=False, highlight=False, soft_wrap=True)


def _stderr() -> "Console":
    from importlib.util import find_spec

    from rich.console import Console

    # In Jupyter rich draws with ipywidgets, and warns in the notebook where they are missing: plain text then.
    return Console(stderr=True, force_jupyter=None if find_spec("ipywidgets") else False)
