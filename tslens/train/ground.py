"""What training does when its folder is removed, or may no longer be written."""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tslens import runs
from tslens.errors import InputError

PATIENCE, PAUSE = 2.0, 0.02
"""Seconds in which a removal under way comes to its end, and between two looks at it."""
RECENT = 60.0
"""Seconds within which a file was written that a removal under way may have missed."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
DENIED = {errno.EROFS, errno.EACCES, errno.EPERM}


def refuse_gone(folder: Path, wait: float = 0.0) -> None:
    """InputError if a run's folder was removed or moved since the run began, or is within `wait` seconds: nothing is
    written in its place."""
    if not _ends(lambda: (folder / runs.RECIPE).is_file(), wait):
        return
    if _cleared(folder):
        raise InputError(
            f"{folder} was removed or moved while it was trained: nothing more is kept. Put it "
            f"back, if you moved it, and go on with: tslens train --resume {folder.name}; else train it anew."
        )
    raise InputError(
        f"{folder} lost its {runs.RECIPE} while it was trained: nothing more is kept. Put that back and go on with: "
        f"tslens train --resume {folder.name}; else remove what is left of the folder and train it anew."
    )


def _cleared(folder: Path) -> bool:
    """Remove what was written while the folder was removed; whether nothing is left. Nothing is removed while there is
    an older file, which a removal takes away by itself."""
    before = time.time() - RECENT
    kept = [folder / runs.TOKENIZER, folder / "data"]
    if not _ends(lambda: any(place.exists() for place in kept) or _older(folder, before), PATIENCE):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _older(folder: Path, than: float) -> bool:
    """Whether the folder has a file that was last written before a time; files that vanish meanwhile are none."""
    for home, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                if (Path(home) / name).stat().st_mtime < than:
                    return True
    return False


def _ends(lasts: Callable[[], bool], wait: float) -> bool:
    """Whether something ends within so many seconds."""
    end = time.monotonic() + wait
    while lasts():
        if time.monotonic() >= end:
            return False
        time.sleep(PAUSE)
    return True


@contextlib.contextmanager
def explain_unwritable(folder: Path) -> Iterator[None]:
    """Say of an OSError in the block what is kept and how to resume, or that the run's folder is gone."""
    try:
        yield
    except OSError as error:
        refuse_gone(folder, 0.0 if error.errno in FULL | DENIED else PATIENCE)  # a removal may be under way
        if error.errno not in FULL | DENIED:
            raise
        kept = runs.steps(folder / "checkpoints")
        raise OSError(
            error.errno,
            f"cannot write {folder} ({error.strerror}); "
            f"{'its last good checkpoint is kept' if kept else 'it has no checkpoint yet'}. "
            f"Make {'room' if error.errno in FULL else 'it writable'} and {'resume' if kept else 'start again'} with: "
            f"tslens train --resume {folder.name}",
        ) from error
