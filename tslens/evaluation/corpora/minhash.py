"""Near-duplicates of a corpus, by MinHash and locality-sensitive hashing.

MinHash: Broder 1997 (doi:10.1109/SEQUEN.1997.666900); bands: Leskovec, Rajaraman and Ullman 2014, section 3.4; for
corpora of language models: Lee et al. 2022 (arXiv 2107.06499). A story is the set of its runs of three words.
"""

import zlib

import numpy as np
from jaxtyping import Bool, Float, Int, UInt32, UInt64
from numpy.typing import NDArray

from tslens.evaluation.rouge import words

RUN = 3  # words of a shingle
BANDS, ROWS = 54, 3
HASHES = BANDS * ROWS
THRESHOLD = 0.35
"""Estimated Jaccard similarity from which two stories count as near-duplicates: unrelated stories have about 0.02. With
15% of its words changed at random a story keeps about 0.44, with 5% 0.75."""
BYTES = HASHES * 4 + BANDS * 8
"""Memory of a story in an index."""

_rng = np.random.default_rng(20260101)
_FACTOR = _rng.integers(0, 2**63, HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_SHIFT = _rng.integers(0, 2**63, HASHES, dtype=np.uint64)
_PLACE = _rng.integers(0, 2**63, RUN, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_BAND = _rng.integers(0, 2**63, ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def signature(text: str) -> UInt32[np.ndarray, " hash"]:
    """The MinHash signature of a text; that of a text with fewer than three words is of all of them."""
    found = words(text)
    codes = np.array([zlib.crc32(word.encode()) for word in found] or [0], dtype=np.uint64)
    runs = max(len(codes) - RUN + 1, 1)
    mixed = np.zeros(runs, dtype=np.uint64)
    for place in range(min(RUN, len(codes))):
        mixed = (mixed ^ codes[place : place + runs]) * _PLACE[place]
        mixed ^= mixed >> np.uint64(29)
    hashed = mixed[:, None] * _FACTOR + _SHIFT  # multiply-shift, modulo 2^64
    least: NDArray[np.uint64] = hashed.min(0) >> np.uint64(32)
    return least.astype(np.uint32)


def similarity(
    one: UInt32[np.ndarray, "*pair hash"], other: UInt32[np.ndarray, "*pair hash"]
) -> Float[np.ndarray, "*pair"]:
    """The estimated Jaccard similarity of two texts: the share of equal hashes."""
    return np.asarray((one == other).mean(-1))


def near(
    signatures: UInt32[np.ndarray, "story hash"], others: UInt32[np.ndarray, "other hash"] | None = None
) -> tuple[Bool[np.ndarray, " story"], Int[np.ndarray, " story"]]:
    """Whether each story has a near-duplicate, and the most similar one found (-1 for none).

    With `others`, one among these; without, another one among the stories themselves.
    """
    n, size = len(signatures), 0 if others is None else len(others)
    everything = signatures if others is None else np.concatenate([others, signatures])
    best, which = np.zeros(n), np.full(n, -1)
    for band in range(BANDS):
        left, right = _candidates(_keys(everything, band))
        if others is not None:  # others stand first in a bucket, so the first of a bucket is one of them if any is
            keep = (left < size) & (right >= size)
            left, right = left[keep], right[keep]
        found = similarity(everything[left], everything[right])
        for of, match in ((right, left), (left, right)) if others is None else ((right, left),):
            for i in np.flatnonzero(found >= THRESHOLD):
                if found[i] > best[of[i] - size]:
                    best[of[i] - size], which[of[i] - size] = found[i], match[i]
    return which >= 0, which


def _keys(signatures: UInt32[np.ndarray, "story hash"], band: int) -> UInt64[np.ndarray, " story"]:
    rows = signatures[:, band * ROWS : (band + 1) * ROWS].astype(np.uint64)
    key = np.zeros(len(rows), dtype=np.uint64)
    for place in range(ROWS):
        key = (key ^ rows[:, place]) * _BAND[place]
        key ^= key >> np.uint64(31)
    return key


def _candidates(keys: UInt64[np.ndarray, " story"]) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
    """Pairs of stories in one bucket: each with the bucket's first, and with the one before it."""
    order = np.argsort(keys, kind="stable")
    placed = keys[order]
    begins = np.flatnonzero(np.append(True, placed[1:] != placed[:-1]))
    first = np.repeat(order[begins], np.diff(np.append(begins, len(order))))
    again = np.flatnonzero(np.append(False, placed[1:] == placed[:-1]))
    pairs = {
        (int(a), int(b)) for left in (first[again], order[again - 1]) for a, b in zip(left, order[again], strict=True)
    }
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
