"""Does another process write this run?

The lock is the kernel's own (`flock`) on a file beside the run's folder, `runs/.NAME.lock`: it dies with its process,
however that dies, so what a killed run leaves behind blocks nobody.
"""

import contextlib
import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tslens.errors import InputError

TRIES, PAUSE = 5, 0.02  # somebody who only asks holds the lock for a moment

_held: set[tuple[int, int, Path]] = set()


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Within, no other process can write the run in this folder; ValueError if one does. A caller that already holds
    the lock holds it on."""
    key, path = (os.getpid(), threading.get_ident(), folder.absolute()), _path(folder)
    if key in _held:
        yield
        return
    made = not path.parent.is_dir()
    file = _acquire(folder, path)
    _held.add(key)
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        file.flush()
        yield
    finally:
        _held.discard(key)
        path.unlink(missing_ok=True)  # while it is locked: whoever waits for this file finds that it is gone
        file.close()
        if made:
            with contextlib.suppress(OSError):
                path.parent.rmdir()  # a run was made there, or nothing is


def holder(folder: Path) -> str | None:
    """Who writes the run in this folder, such as `process 12 on host since ...`; None where nobody does."""
    try:
        file = _path(folder).open(encoding="utf-8")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read() or "another process"
    return None


def _path(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _acquire(folder: Path, path: Path) -> IO[str]:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a+", encoding="utf-8")
        except FileNotFoundError:  # the folder of runs went in this moment, with another's lock
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()  # locked after its holder removed it
    raise InputError(
        f"{folder} is being written by {holder(folder) or 'another process'}. "
        "Wait for it or stop it; or give another run's name with --name."
    )
