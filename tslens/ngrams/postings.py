"""Posting lists: for each key the stories that have it, on disk."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt

from tslens import files, progress
from tslens.ngrams.layout import mapped

PART = 1 << 22
"""Occurrences that are sorted at once, about."""

Chunks = Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]
"""The keys of some stories and the story of each, in the order of the stories; it may be read twice."""


@dataclass(frozen=True, eq=False)
class Postings:
    """For each key the stories that have it once, then those that have it twice, and so on (an inverted index; Zobel
    and Moffat 2006, doi:10.1145/1132956.1132959). Mapped from disk."""

    keys: Int[np.ndarray, " list"]
    """In ascending order; one that a story has n times occurs n times."""
    ends: Int[np.ndarray, " list"]
    """Where each list ends in `stories`."""
    stories: UInt[np.ndarray, " occurrence"]

    def of(self, key: int, times: int) -> list[UInt[np.ndarray, " story"]]:
        """The stories that have the key once or more, those that have it twice or more, up to so many times."""
        first = int(np.searchsorted(self.keys, key))
        last = min(first + times, int(np.searchsorted(self.keys, key, side="right")))
        return [self.stories[self.ends[at - 1] if at else 0 : self.ends[at]] for at in range(first, last)]

    def occurrences(self, key: int) -> UInt[np.ndarray, " occurrence"]:
        """The stories that have the key, each as often as it has it."""
        first, last = (int(np.searchsorted(self.keys, key, side=side)) for side in ("left", "right"))
        start, end = (int(self.ends[at - 1]) if at else 0 for at in (first, last))
        return self.stories[start:end]


def write_postings(folder: Path, name: str, chunks: Chunks, what: str) -> None:
    """Write the posting lists of all chunks into the folder, with memory for about `PART` occurrences.

    Occurrences are divided by their keys into parts, and each part is sorted in memory; one is larger only if a single
    key has more occurrences.
    """
    borders = _borders(chunks)
    with files.scratch_folder(folder, "parts") as scratch, ExitStack() as stack:
        parts = [scratch / f"{number}" for number in range(len(borders) + 1)]
        opened = [stack.enter_context(path.open("wb")) for path in parts]
        for keys, stories in progress.track(chunks(), f"dividing {what}"):
            which = np.searchsorted(borders, keys, side="right")
            order = np.argsort(which, kind="stable")
            ends = np.searchsorted(which[order], np.arange(len(parts) + 1))
            rows = np.stack([keys, stories], 1)[order]
            for file, a, b in zip(opened, ends, ends[1:], strict=False):
                file.write(rows[a:b].astype(np.int64).tobytes())
        for file in opened:
            file.close()
        _sorted(parts, folder, name, what)


def open_postings(folder: Path, name: str) -> Postings:
    """The posting lists of this name in the folder. InputError if a file is missing or was cut off."""
    ends = mapped(folder / f"{name}-ends.bin", "int64")
    keys = mapped(folder / f"{name}-keys.bin", "int64", len(ends))
    return Postings(keys, ends, mapped(folder / f"{name}-stories.bin", "uint32", int(ends[-1]) if len(ends) else 0))


def _sorted(parts: list[Path], folder: Path, name: str, what: str) -> None:
    """Sort the occurrences of each part by key, and write keys, ends and stories."""
    n = 0
    with ExitStack() as stack:
        out = {
            part: stack.enter_context((folder / f"{name}-{part}.bin").open("wb"))
            for part in ("keys", "ends", "stories")
        }
        for path in progress.track(parts, f"sorting {what}"):
            rows = np.fromfile(path, dtype=np.int64).reshape(-1, 2)
            path.unlink()
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            begins = np.ones(len(rows), dtype=bool)  # whether a story has its key for the first time
            begins[1:] = (rows[1:] != rows[:-1]).any(1)
            place = np.arange(len(rows))
            before = place - np.maximum.accumulate(np.where(begins, place, 0))  # times that it had it already
            order = np.lexsort((before, rows[:, 0]))
            rows, before = rows[order], before[order]
            begins[1:] = (rows[1:, 0] != rows[:-1, 0]) | (before[1:] != before[:-1])
            first = np.flatnonzero(begins)
            out["keys"].write(rows[first, 0].tobytes())
            out["ends"].write((n + np.append(first, len(rows))[1:]).astype(np.int64).tobytes())
            out["stories"].write(rows[:, 1].astype(np.uint32).tobytes())
            n += len(rows)


def _borders(chunks: Chunks) -> Int[np.ndarray, " border"]:
    """Keys that divide all occurrences into parts of about `PART`, by every hundredth occurrence."""
    found, n = [np.zeros(0, dtype=np.int64)], 0
    for keys, _ in chunks():
        found.append(keys[-n % 100 :: 100])
        n += len(keys)
    sample = np.sort(np.concatenate(found))
    n_parts = max(1, -(-n // PART))
    return np.unique(sample[np.arange(1, n_parts) * len(sample) // n_parts]) if len(sample) else sample
