"""Sets of minimal pairs: our own, and those of a file; and the choice of those whose words a corpus knows."""

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tslens.errors import InputError
from tslens.parsing import csv_rows, lines, objects
from tslens.stories.pairs.phenomena import MinimalPair, minimal_pairs, phenomena

WORD = re.compile(r"[a-z']+")
GOOD, BAD = "sentence_good", "sentence_bad"
PARADIGMS = ("UID", "paradigm", "phenomenon")
"""Columns that may hold a pair's paradigm, the first that is there."""
_TABLES = {".jsonl": objects, ".json": objects, ".ndjson": objects, ".csv": csv_rows}


@dataclasses.dataclass(frozen=True)
class PairSet:
    """Minimal pairs, and how many were left out."""

    name: str
    pairs: tuple[MinimalPair, ...]
    axes: dict[str, str] = dataclasses.field(default_factory=dict)
    """What a paradigm is about (`phenomena.AXES`), for our own."""
    identical: int = 0
    """Pairs left out because their texts are the same."""
    unknown: int = 0
    """Pairs left out because the corpus lacks one of their words."""


def own_pairs(n: int = 500, *, names: Sequence[str] | None = None, seed: int = 0) -> PairSet:
    """Our own pairs: `n` of every phenomenon, or of those named."""
    known_ones = phenomena()
    chosen = list(known_ones) if names is None else list(names)
    pairs = tuple(pair for name in chosen for pair in minimal_pairs(name, n, seed=seed))
    return PairSet("ours", pairs, {name: known_ones[name].axis for name in chosen})


def read_pairs(path: str | Path, *, limit: int | None = None, least: int = 1) -> PairSet:
    """The pairs of a file: JSON lines or CSV with `sentence_good` and `sentence_bad`, and perhaps a column of paradigms
    (`UID` of BLiMP; Warstadt et al. 2020, arXiv 1912.00582); or text, a good line and then a bad one.

    Paradigms with fewer pairs than `least` are left out, and of each the first `limit` are read. Identical pairs are
    dropped and counted. InputError names the line that is wrong.
    """
    path = Path(path)
    table = _TABLES.get(path.suffix.lower())
    rows = _records(path, table(path)) if table else _two_lines(path, lines(path))
    of_paradigm: dict[str, list[MinimalPair]] = defaultdict(list)
    for item, (good, bad, paradigm) in enumerate(rows):
        of_paradigm[paradigm].append(MinimalPair(good, bad, paradigm, item))
    large = [pairs[:limit] for pairs in of_paradigm.values() if len(pairs) >= least]
    found = [pair for pairs in large for pair in pairs]
    different = tuple(pair for pair in found if pair.good != pair.bad)
    if not different:
        raise InputError(f"{path} has no paradigm with {least} pairs of two different texts; give another file.")
    return PairSet(path.stem.strip(".") or "pairs", different, identical=len(found) - len(different))


def _records(path: Path, records: Iterable[tuple[int, dict[str, Any]]]) -> list[tuple[str, str, str]]:
    """Good text, bad text and paradigm of every row."""
    found = []
    for number, record in records:
        for column in (GOOD, BAD):
            if not isinstance(text := record.get(column), str) or not text.strip():
                has = f"its columns are {', '.join(map(str, record))}" if record else "it has no columns"
                raise InputError(f"{path}, line {number} has no text {column!r}: {has}. A pair needs {GOOD} and {BAD}.")
        paradigm = next((str(record[column]) for column in PARADIGMS if column in record), path.stem)
        found.append((record[GOOD], record[BAD], paradigm))
    return found


def _two_lines(path: Path, read: Iterable[str]) -> list[tuple[str, str, str]]:
    """Pairs of lines; empty lines may stand between pairs."""
    found, group = [], list[str]()
    for number, line in enumerate([*read, ""], 1):
        if line.strip():
            group.append(line.strip())
        elif group:
            if len(group) % 2:
                raise InputError(
                    f"{path} has {len(group)} {'line' if len(group) == 1 else 'lines'} in a row before line {number}: "
                    "one is without its partner. Write each pair as two lines, the good text and then the bad one."
                )
            found += [(good, bad, path.stem) for good, bad in zip(group[::2], group[1::2], strict=True)]
            group = []
    return found


def known(pairs: PairSet, stories: Iterable[str], at_least: int = 5) -> PairSet:
    """The pairs whose every word (`[a-z']+`, in lower case) the stories have so many times; the others are counted.

    InputError if none is left.
    """
    counts = Counter[str]()
    for story in stories:
        counts.update(WORD.findall(story.lower()))
    kept = tuple(
        pair
        for pair in pairs.pairs
        if all(counts[word] >= at_least for text in (pair.good, pair.bad) for word in WORD.findall(text.lower()))
    )
    if not kept:
        raise InputError(f"no pair of {pairs.name} has only words that occur {at_least} times in the stories.")
    return dataclasses.replace(pairs, pairs=kept, unknown=pairs.unknown + len(pairs.pairs) - len(kept))
