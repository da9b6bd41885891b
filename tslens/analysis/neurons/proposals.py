"""Sets of words, and words before, that most of a neuron's top tokens share."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

WORDS = 8
"""Most words of a set; more are a class that has no name here."""
SET_SHARE, BEFORE_SHARE, GROWS = 0.9, 0.5, 0.8
"""Least share of the different top contexts that the set covers, and that follow the same word; and least share of
these that follow one more."""
FEWEST = 5
"""Different top contexts, below which nothing is proposed."""


@dataclass(frozen=True)
class Pattern:
    """What top tokens share."""

    words: tuple[int, ...]
    """Words of the set, or the words before, the nearest first; empty where there is none."""
    share: float
    """Share of the different top contexts that have it."""


NOTHING = Pattern((), np.nan)


def word_set(contexts: Int[np.ndarray, "rank window"]) -> Pattern:
    """Two to `WORDS` words, each in two or more of these contexts (words, -1 where there is none, the token in the
    middle), which together cover nearly all of them."""
    read = _different(contexts)
    times = Counter(read[:, read.shape[1] // 2].tolist())
    chosen = {word: n for word, n in times.items() if n > 1}
    share = sum(chosen.values()) / max(len(read), 1)
    if len(read) < FEWEST or not 2 <= len(chosen) <= WORDS or share < SET_SHARE:
        return NOTHING
    return Pattern(tuple(sorted(chosen, key=lambda word: (-chosen[word], word))), share)


def words_before(contexts: Int[np.ndarray, "rank window"], near: int) -> Pattern:
    """The words before that half of these contexts share, at most `near`, the nearest first.

    The nearest word is the commonest; a run grows by one more word while nearly all that follow the run follow the
    longer one too.
    """
    read = _different(contexts)
    middle, whole = read.shape[1] // 2, len(read)
    found: list[int] = []
    while whole >= FEWEST and len(found) < near:
        column = read[:, middle - 1 - len(found)]
        times = Counter(word for word in column.tolist() if word >= 0)
        word, count = min(times.items(), key=lambda item: (-item[1], item[0]), default=(-1, 0))
        if count < (GROWS if found else BEFORE_SHARE) * len(read):
            break
        read = read[column == word]
        found.append(word)
    return Pattern(tuple(found), len(read) / whole) if found else NOTHING


def _different(contexts: Int[np.ndarray, "rank window"]) -> Int[np.ndarray, "context window"]:
    """Each different context once: one that recurs word for word says nothing new."""
    return np.unique(contexts[contexts[:, contexts.shape[1] // 2] >= 0], axis=0)
