"""Sources of stories: files, dataset folders and hub ids, by name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from tslens.errors import InputError, MissingInputError
from tslens.paths import absent
from tslens.stories.hub import read_dataset
from tslens.stories.readers import READERS

EXTENSIONS = tuple(READERS)
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Source:
    """Stories that can be read again and again: one file, one dataset folder or one hub id."""

    place: str
    """path or hub id"""
    column: str | None = None
    """the column with the stories; ``text`` or ``story`` if not given"""
    part: str = "train"
    """the split of a dataset folder or hub id, by its own name"""
    config: str | None = None
    """the configuration, where a dataset folder or hub id has several"""

    @property
    def path(self) -> Path:
        return Path(self.place)

    @property
    def n_bytes(self) -> int | None:
        """The size on disk, if one file is the whole source."""
        return self.path.stat().st_size if self.path.is_file() else None

    def __iter__(self) -> Iterator[str]:
        """The stories, unaltered.

        Raises:
            InputError: bytes that are not UTF-8 (with their offset), a broken row (with its line), a column that is
                not there (with those that are), or no story at all.
        """
        if self.path.is_file():
            found = READERS[self.path.suffix.lower()](self.path, self.column)
        else:
            found = read_dataset(self.place, self.column, self.part, self.config)
        first = next(found, None)
        if first is None:
            raise InputError(f"{self.place} is empty; give a source that holds at least one story")
        return chain([first], found)


def find_source(spec: str) -> Source:
    """The source that a specification names: ``PLACE``, ``PLACE:COLUMN``, and for datasets ``PLACE@SPLIT:COLUMN``.

    A dataset of several configurations is named ``PLACE@CONFIG/SPLIT``.

    Raises:
        FileNotFoundError: no such file; the nearest names in its folder are given.
        InputError: an extension or a name that no source can have.
    """
    place, column, part, config = spec, None, "train", None
    if not Path(place).exists():
        place, _, named = spec.partition(":")
        place, _, within = place.partition("@")
        before, _, split = within.rpartition("/")
        column, part, config = named or None, split or part, before or None
    if not place.strip():
        raise InputError(f"{spec!r} names no stories: give a file, a dataset folder or a hub id, then the split")
    path = Path(place)
    if path.is_file():
        if part != "train" or config is not None:
            raise InputError(f"{spec} names a split of a file, and a file has none; tslens.stories.stories splits it")
        if path.suffix.lower() not in EXTENSIONS:
            known = ", ".join(EXTENSIONS)
            raise InputError(f"{place} has the extension {path.suffix or '(none)'!r}; stories are read from {known}")
    elif not path.is_dir():
        looks_local = path.suffix.lower() in EXTENSIONS or path.is_absolute() or path.parent.is_dir()
        if looks_local or not HUB_ID.fullmatch(place):
            raise MissingInputError(_not_there(path))
    return Source(place, column, part, config)


def _not_there(path: Path) -> str:
    """The message for a missing file: the nearest names in its folder, if that exists."""
    folder = path.parent
    if not folder.is_dir():
        return f"{absent(path)}, nor a folder {folder}; give a file, a dataset folder or a hub id (owner/name)"
    names = [child.name for child in folder.iterdir() if child.name[0] != "." and child.name != path.name]
    near = get_close_matches(path.name, names, n=3, cutoff=0.5)
    near = near or sorted(name for name in names if name.lower().endswith(EXTENSIONS))[:5]
    there = (
        f"the nearest there: {', '.join(near)}" if near else "give a file, a dataset folder or a hub id (owner/name)"
    )
    return f"{absent(path)}; {there}"
