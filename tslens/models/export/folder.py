"""The folder that an export writes: new, and whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tslens.errors import InputError
from tslens.files import atomic_folder
from tslens.paths import refuse_no_text, refuse_unnamed


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """A scratch folder that takes this name at the end. InputError for one that has files, which are not touched."""
    folder = Path(folder)
    refuse_unnamed(folder)
    refuse_no_text(folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder} is there already: remove it, or write to another folder.")
    with atomic_folder(folder) as scratch:
        yield scratch
