"""The training story nearest to each text, of all of them: by the word pairs that both have, and by rare words."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tslens import progress
from tslens.evaluation.copies.neighbours import Neighbours
from tslens.evaluation.rouge import words as rouge_words
from tslens.ngrams import words

FIRST = 64  # stories whose plots are compared first
ROUNDING = 1e-9  # of a cosine, relative


class Closest(NamedTuple):
    """The largest values of a text's comparisons with all training stories, and the first stories that have them.

    A story is a number in the index. Where no story shares anything with the text the value is 0 and the story -1.
    """

    nearest: float
    """ROUGE-2 precision: the share of the text's word pairs that the story has."""
    nearest_story: int
    nearest_f: float
    """ROUGE-2 F, which may be the largest for another story."""
    plot: float
    """Cosine of word counts weighted by rarity, whatever the order of words."""
    plot_story: int


def closest(texts: Sequence[str], known: Neighbours) -> list[Closest]:
    """Compare every text with every story. Memory: about 40 bytes a story."""
    return [_closest(text, known) for text in progress.track(texts, "comparing with training stories")]


def _closest(text: str, known: Neighbours) -> Closest:
    precision, f = _rouge_2(text, known)
    return Closest(*_largest(precision), _largest(f)[0], *_plot(text, known))


def _largest(values: Float[np.ndarray, " story"]) -> tuple[float, int]:
    """The largest value and the first story that has it; -1 if it is 0."""
    at = int(values.argmax())
    return float(values[at]), at if values[at] > 0 else -1


def _rouge_2(text: str, known: Neighbours) -> tuple[Float[np.ndarray, " story"], Float[np.ndarray, " story"]]:
    """ROUGE-2 precision and F of the text to each story; a pair counts with the smaller of its two counts."""
    given = [known.words.rouge.get(word, 0) for word in rouge_words(text)]
    asked = Counter(a << 32 | b for a, b in pairwise(given) if a and b)
    found = [stories for key, times in asked.items() for stories in known.pairs.of(key, times)]
    shared = np.bincount(np.concatenate([known.pairs.stories[:0], *found]), minlength=len(known.n_pairs))
    own = max(len(given) - 1, 0)
    return shared / max(own, 1), 2 * shared / np.maximum(own + known.n_pairs, 1)


def _plot(text: str, known: Neighbours) -> tuple[float, int]:
    """The largest cosine to a story, and the first story that has it.

    Posting lists give the part that rare words have in every cosine. The part of frequent words is at most the product
    of the sizes of their counts (Cauchy and Schwarz), so only stories that reach the largest cosine by this bound are
    read for it.
    """
    weights, is_frequent = known.words.weights, known.words.frequent
    numbers, times = np.unique(known.index.numbers(words(text)), return_counts=True)
    there = weights[numbers] > 0
    numbers, values = numbers[there], (times * weights[numbers])[there]
    if not len(numbers):
        return 0.0, -1
    frequent = is_frequent[numbers]
    lists = [known.rare.occurrences(number) for number in numbers[~frequent].tolist()]
    products = np.repeat((values * weights[numbers])[~frequent], [len(found) for found in lists])
    sums = np.bincount(np.concatenate([known.rare.stories[:0], *lists]), products, minlength=len(known.n_pairs))
    table = np.zeros(len(weights))
    table[numbers[frequent]] = (values * weights[numbers])[frequent]
    sizes = math.hypot(*values) * np.where(known.sizes[0] > 0, known.sizes[0], np.inf)
    bounds = (sums + math.hypot(*values[frequent]) * known.sizes[1]) / sizes

    def cosines(stories: Int[np.ndarray, " story"]) -> Float[np.ndarray, " story"]:
        """Of equal texts it may be rounded above 1."""
        parts = [table[known.index.tokens[a:b]].sum() for a, b in known.index.starts[stories[:, None] + [0, 1]]]
        found: np.ndarray = np.minimum((sums[stories] + parts) / sizes[stories], 1.0)
        return found

    first = np.argpartition(-bounds, min(FIRST, len(bounds)) - 1)[:FIRST]
    near = np.flatnonzero(bounds >= cosines(first).max() * (1 - ROUNDING))
    value, at = _largest(cosines(near))
    return value, int(near[at]) if at >= 0 else -1
