"""Which stories? Every source has a name: ``stories("made")``, ``stories("tales.csv")``, ``stories("owner/name")``."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from types import ModuleType
from typing import Any

from tslens.errors import InputError
from tslens.stories.clean import Cleaner, CleaningReport
from tslens.stories.instruct import made as made_instruct
from tslens.stories.instruct import parse
from tslens.stories.sources import Source, find_source
from tslens.stories.split import SPLITS, Split, split_of

__all__ = ["Cleaner", "CleaningReport", "Source", "Split", "Stories", "find_source", "split_of", "stories"]

MADE, MADE_INSTRUCT = MADE_SOURCES = "made", "made:instruct"
MADE_COUNT = 10_000  # how many the generator makes where no limit is given
_ENDLESS = 10**9


@dataclass(frozen=True)
class Stories:
    """Stories of one or several sources, cleaned, of one split, at most so many; read anew at each ``iter``."""

    sources: tuple[Source | str, ...]
    """``"made"`` or ``"made:instruct"``, or where to read"""
    split: str | None
    limit: int | None
    clean: bool
    seed: int
    keep: Callable[[str], bool] | None = None
    """only the texts for which it is true; the limit counts these"""

    @property
    def name(self) -> str:
        """What they are called in a record of a run."""
        places = [part if isinstance(part, str) else part.place for part in self.sources]
        return ",".join(places) + (f" ({self.split})" if self.split else "")

    @property
    def n_bytes(self) -> int | None:
        """The size on disk of all that will be read, where it is known beforehand."""
        sizes = [part.n_bytes if isinstance(part, Source) else None for part in self.sources]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) and self.limit is None else None

    def __iter__(self) -> Iterator[str]:
        return self.counted(Cleaner())

    def counted(self, cleaner: Cleaner) -> Iterator[str]:
        """The stories, with what was mended and dropped counted in ``cleaner.report``.

        Raises:
            ValueError: a source cannot be read (see :class:`Source`), or no story is left of it.
        """
        found: Iterator[str] = chain.from_iterable(self._read(part, cleaner) for part in self.sources)
        if self.split is not None:
            found = (story for story in found if split_of(parse(story).story) == self.split)
        if self.keep is not None:
            found = filter(self.keep, found)
        found = islice(found, self.limit)
        first = next(found, None)
        if first is None:
            counts = f" (cleaning: {cleaner.report})" if self.clean else ""
            raise InputError(f"no story is left of {self.name}{counts}; give more stories, or another split")
        return chain([first], found)

    def _read(self, part: Source | str, cleaner: Cleaner) -> Iterator[str]:
        found: Iterable[str] = part if isinstance(part, Source) else self._made(part)
        return cleaner(found) if self.clean else iter(found)

    def _made(self, name: str) -> Iterator[str]:
        from tslens.stories.generator import generate

        count = MADE_COUNT if self.limit is None else _ENDLESS
        if name == MADE_INSTRUCT:
            return (instructed.format() for instructed in made_instruct(count, self.seed))
        return (made.text for made in generate(count, self.seed))


def stories(
    source: str = MADE, *, split: str | None = None, limit: int | None = None, clean: bool = True, seed: int = 0
) -> Stories:
    """Stories by name, read lazily, as often as one likes.

    Args:
        source: ``made`` (the embedded generator), ``train`` or ``validation`` (that split of ``made``),
            ``made:instruct`` (made, behind blocks of instructions), a ``.txt``, ``.jsonl``, ``.csv`` or ``.parquet``
            file, a folder in the hub's layout, or a hub id; ``PLACE:COLUMN`` names the column, ``PLACE@SPLIT`` a
            dataset's own split (``train`` if not given), ``PLACE@CONFIG/SPLIT`` that of one of its configurations.
            Several, joined by commas.
        split: only the stories that :func:`split_of` puts there, instructions before them left aside. A dataset's own
            splits are another matter: models trained on ``owner/name`` are to be judged on ``owner/name@validation``.
        limit: at most so many stories. Without it the generator makes 10,000 (of which the split takes its share).
        clean: mend and drop (see :class:`Cleaner`).
        seed: of the generator.

    Raises:
        ValueError: an unknown split, a limit below 1, an unknown kind of file.
        FileNotFoundError: no such file; the nearest names are given.
    """
    if split not in (None, *SPLITS):
        raise InputError(f"there is no split {split!r}; give {' or '.join(SPLITS)}, or none for all stories")
    if limit is not None and limit < 1:
        raise InputError(f"limit={limit} leaves no story; give 1 or more")
    if source in SPLITS:
        if split not in (None, source):
            raise InputError(f"the source {source!r} and split={split!r} contradict each other; give one of them")
        source, split = MADE, "train" if source == "train" else "validation"
    names = [name.strip() for name in source.split(",") if name.strip()]
    if not names:
        raise InputError("no source of stories is named; give 'made', a file, a dataset folder or a hub id")
    parts = tuple(name if name in MADE_SOURCES else find_source(name) for name in names)
    return Stories(parts, split, limit, clean, seed)


class _Callable(ModuleType):
    """``tslens.stories`` is this package and can be called: ``from tslens import stories; stories("made")``."""

    def __call__(self, *args: Any, **options: Any) -> Stories:
        return stories(*args, **options)


sys.modules[__name__].__class__ = _Callable
