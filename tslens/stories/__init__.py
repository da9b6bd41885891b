"""Stories by the name of their source, such as ``stories("tales.csv")`` or ``stories("owner/name")``."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import ModuleType

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
    """Stories of one or several sources, cleaned, of one split, up to a limit; read again at each ``iter``."""

    sources: tuple[Source | str, ...]
    """``"made"`` or ``"made:instruct"``, or where to read"""
    splits: tuple[Split | None, ...]
    """the split read of each source; None for all of it"""
    limit: int | None
    clean: bool
    seed: int
    keep: Callable[[str], bool] | None = None
    """keeps the texts for which it is true; the limit counts these"""

    @property
    def name(self) -> str:
        """Name in the record of a run."""
        places = [part if isinstance(part, str) else part.place for part in self.sources]
        if len(set(self.splits)) == 1:
            return ",".join(places) + (f" ({self.splits[0]})" if self.splits[0] else "")
        return ",".join(
            f"{place}@{split}" if split else place for place, split in zip(places, self.splits, strict=True)
        )

    @property
    def description(self) -> str:
        """The corpus, as a Result names it."""
        return self.name

    @property
    def n_bytes(self) -> int | None:
        """The size on disk of all that will be read, if known beforehand."""
        sizes = [part.n_bytes if isinstance(part, Source) else None for part in self.sources]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) and self.limit is None else None

    def __iter__(self) -> Iterator[str]:
        return self.counted(Cleaner())

    def counted(self, cleaner: Cleaner) -> Iterator[str]:
        """The stories; ``cleaner.report`` counts those repaired and dropped.

        Raises:
            InputError: a source cannot be read (see :class:`Source`), or no story is left of it.
        """
        found: Iterator[str] = chain.from_iterable(
            self._read(part, split, cleaner) for part, split in zip(self.sources, self.splits, strict=True)
        )
        if self.keep is not None:
            found = filter(self.keep, found)
        found = islice(found, None if self.limit is None else min(self.limit, sys.maxsize))
        first = next(found, None)
        if first is None:
            counts = f" (cleaning: {cleaner.report})" if self.clean else ""
            raise InputError(f"no story is left of {self.name}{counts}; give more stories, or another split")
        return chain([first], found)

    def _read(self, part: Source | str, split: Split | None, cleaner: Cleaner) -> Iterator[str]:
        found: Iterable[str] = part if isinstance(part, Source) else self._made(part)
        cleaned = cleaner(found) if self.clean else iter(found)
        return cleaned if split is None else (story for story in cleaned if split_of(parse(story).story) == split)

    def _made(self, name: str) -> Iterator[str]:
        from tslens.stories.generator import generate

        count = MADE_COUNT if self.limit is None else _ENDLESS
        if name == MADE_INSTRUCT:
            return (instructed.format() for instructed in made_instruct(count, self.seed))
        return (made.text for made in generate(count, self.seed))


def stories(
    source: str = MADE, *, split: str | None = None, limit: int | None = None, clean: bool = True, seed: int = 0
) -> Stories:
    """Stories by name, read lazily, any number of times. Those of a model: `tslens.model_stories`.

    Args:
        source: ``made`` (the embedded generator), ``made:instruct`` (made, behind blocks of instructions), a ``.txt``,
            ``.jsonl``, ``.csv`` or ``.parquet`` file, a folder in the hub's layout, or a hub id. ``PLACE:COLUMN`` names
            the column. ``PLACE@SPLIT``: for ``made`` or a file, the split ``train`` or ``validation`` by
            :func:`split_of`; for a dataset, its own split (``train`` if not given; ``PLACE@CONFIG/SPLIT`` for one of
            its configurations). Several sources are joined by commas.
        split: only the stories that :func:`split_of` puts there, ignoring instructions before them. Not a dataset's
            own split: evaluate models trained on ``owner/name`` on ``owner/name@validation``.
        limit: largest number of stories. Without it the generator makes 10,000 (of which the split takes its share).
        clean: repair stories and drop unsuitable ones (see :class:`Cleaner`).
        seed: of the generator.

    Raises:
        InputError: an unknown split, two that contradict each other, a split without a source, a limit below 1, an
            unknown kind of file.
        FileNotFoundError: no such file; the nearest names are given.
    """
    chosen = next((known for known in SPLITS if known == split), None)
    if chosen != split:
        raise InputError(f"there is no split {split!r}; give {' or '.join(SPLITS)}, or none for all stories")
    if limit is not None and not (isinstance(limit, int) and limit >= 1):
        raise InputError(f"limit={limit!r} leaves no story; give a whole number of 1 or more")
    if not isinstance(source, str):
        raise InputError(f"source is a {type(source).__name__}; give a name: 'made', a file or a hub id")
    found = [_source_and_split(name, chosen) for name in names_in(source)]
    return Stories(tuple(part for part, _ in found), tuple(own for _, own in found), limit, clean, seed)


def names_in(source: str) -> list[str]:
    """The sources that a text names, joined by commas; a file with a comma in its name is one. InputError for none."""
    names = [source] if Path(source).is_file() else [name.strip() for name in source.split(",") if name.strip()]
    if not names:
        raise InputError("no source of stories is named; give 'made', a file, a dataset folder or a hub id")
    return names


def _source_and_split(name: str, split: Split | None) -> tuple[Source | str, Split | None]:
    """The source of a name, and its split: the one in the name, or else the one given."""
    if name in SPLITS:
        raise InputError(
            f"{name!r} is a split; name its source too: 'made@{name}' for the generator's stories, or "
            f'model_stories(model, "{name}") for those of a model'
        )
    place, own = name, None
    with_split = None if Path(name).exists() else re.fullmatch(r"([^@]+)@([^@:]*)(:.*)?", name)
    if with_split and (with_split[1] in MADE_SOURCES or Path(with_split[1]).is_file()):
        place, own = with_split[1] + (with_split[3] or ""), _known_split(with_split[1], with_split[2])
    if own and split and own != split:
        raise InputError(f"the source {name!r} and split={split!r} contradict each other; give one of them")
    return (place if place in MADE_SOURCES else find_source(place)), own or split


def _known_split(place: str, name: str) -> Split:
    for split in SPLITS:
        if name == split:
            return split
    raise InputError(f"{place} has no split {name!r}: it has {' and '.join(SPLITS)}, by a hash of each story")


class _Callable(ModuleType):
    """``tslens.stories`` is this package and can be called: ``from tslens import stories; stories("made")``."""

    def __call__(
        self,
        source: str = MADE,
        *,
        split: str | None = None,
        limit: int | None = None,
        clean: bool = True,
        seed: int = 0,
    ) -> Stories:
        return stories(source, split=split, limit=limit, clean=clean, seed=seed)


sys.modules[__name__].__class__ = _Callable
