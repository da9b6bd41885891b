"""Lock a file or folder, so that one process at a time writes it."""

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from tslens.errors import InputError
from tslens.paths import writing

WAIT, PAUSE = 0.1, 0.02  # seconds: `holder` takes the lock briefly to see whether it is free


@contextlib.contextmanager
def held(place: Path, otherwise: str = "give another run's name with --name", *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of this file or folder inside the block; re-entrant within a thread.

    The lock is the system's own on a file beside it, `.NAME.lock`, so it ends with its process, however that ends.
    Folders created for it are removed again if nothing was written to them. Raises InputError if another process or
    thread still holds it after `wait` seconds; `otherwise` is the remedy named besides waiting, if there
    is one.
    """
    path = _path(place)
    lock = FileLock(path, is_singleton=True)
    if lock.is_locked:
        yield
        return
    missing = [folder for folder in path.parents if not folder.exists()]
    _acquire(lock, path, place, otherwise, wait)
    try:
        with contextlib.suppress(PermissionError), writing(place):  # Windows locks the file against writing too
            path.write_text(
                f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}",
                encoding="utf-8",
            )
        yield
    finally:
        with contextlib.suppress(PermissionError):  # Windows keeps an open file
            path.unlink(missing_ok=True)  # while it is locked: a process that waits for this file then finds it missing
        lock.release()
        for folder in missing:
            with contextlib.suppress(OSError):  # not empty any more
                folder.rmdir()


def sweep(place: Path) -> None:
    """Remove the lock file of this file or folder that a killed process left."""
    if (path := _path(place)).exists():
        with contextlib.suppress(Timeout, OSError), FileLock(path).acquire(timeout=0):
            path.unlink(missing_ok=True)


def holder(place: Path) -> str | None:
    """Who holds the lock of this file or folder, such as `process 12 on host since ...`; None if nobody does."""
    path = _path(place)
    if not path.exists():
        return None
    lock = FileLock(path)
    try:
        with lock.acquire(timeout=WAIT, poll_interval=PAUSE):
            return None
    except Timeout:
        with contextlib.suppress(OSError), path.open(encoding="utf-8") as file:
            return file.read(500) or "another process"
        return "another process"
    except FileNotFoundError:  # the folder was removed meanwhile
        return None


def _path(place: Path) -> Path:
    return place.absolute().with_name(f".{place.name}.lock")


def _acquire(lock: FileLock, path: Path, place: Path, otherwise: str, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=max(0.0, deadline - time.monotonic()), poll_interval=PAUSE)
            return
        except FileNotFoundError:  # the folder was removed meanwhile, with another's lock
            if time.monotonic() > deadline:
                raise
        except Timeout:
            raise InputError(
                f"{place} is being written by {holder(place) or 'another process'}. "
                f"Wait for it or stop it{otherwise and f'; or {otherwise}'}."
            ) from None
