"""How does a folder get its files: whole, to be gone on with, or not at all?"""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

SCRATCH = ".new"


@contextlib.contextmanager
def placed(folder: Path, names: Sequence[str], *, anew: bool) -> Iterator[Path]:
    """Where to write the files of these names; they are in `folder` when the block is left.

    With `anew` it is a folder inside, and until the end the files that were there before are left as they are; the
    last name must be that of the file without which the others do not count. Otherwise it is `folder` itself: what an
    error or a kill leaves is there to be gone on with, unless the error (ValueError) would only come again: then what
    was made goes, and what was there before stays.
    """
    target = folder / SCRATCH if anew else folder
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)  # a kill cut an earlier one short
    before = {name for name in names if (target / name).exists()}
    missing = [place for place in (target, *target.parents) if not place.exists()]
    try:
        target.mkdir(parents=True, exist_ok=True)
        yield target
    except BaseException as error:
        if anew or isinstance(error, ValueError):
            for name in names:
                if name not in before:
                    (target / name).unlink(missing_ok=True)
            for place in missing:
                with contextlib.suppress(OSError):  # it holds something by now
                    place.rmdir()
        raise
    if anew:
        (folder / names[-1]).unlink(missing_ok=True)  # so that at no moment new files count by the old record
        for name in names:
            if (target / name).exists():
                (target / name).replace(folder / name)
        shutil.rmtree(target)
