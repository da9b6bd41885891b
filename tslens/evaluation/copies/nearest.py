"""The training story nearest to each text, of all of them: by the word pairs that both have, and by rare words."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tslens import progress
from tslens.evaluation.copies.neighbours import Neighbours
from tslens.evaluation.rouge import words as rouge_words
from tslens.ngrams import words


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
    """Compare every text with every story, one text at a time. Memory: some numbers for each story, and for each place
    in the stories of a text's words and word pairs."""
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
    """The largest cosine to a story, and the first story that has it."""
    weights = known.words.weights
    numbers, times = np.unique(known.index.numbers(words(text)), return_counts=True)
    there = weights[numbers] > 0
    numbers, values = numbers[there], (times * weights[numbers])[there]
    if not len(numbers):
        return 0.0, -1
    column = known.words.column[numbers]
    products = values * weights[numbers]
    lists = [known.rare.occurrences(number) for number in numbers[column < 0].tolist()]
    adds = np.repeat(products[column < 0], [len(found) for found in lists])
    places = np.concatenate([known.rare.stories[:0], *lists])
    sums = np.bincount(places, adds, minlength=len(known.n_pairs)).astype(np.float64, copy=False)  # of none it is int
    for row, product in zip(column[column >= 0].tolist(), products[column >= 0].tolist(), strict=True):
        sums += product * known.frequent[row]
    found = sums / (math.hypot(*values) * np.where(known.sizes > 0, known.sizes, np.inf))
    return _largest(np.minimum(found, 1.0))  # of equal texts it may be rounded above 1
