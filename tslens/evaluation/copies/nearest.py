"""The training story nearest to each text, of all of them: by the word pairs that both have, and by rare words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tslens import progress
from tslens.evaluation.rouge import words as rouge_words
from tslens.ngrams import Index, words

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STORIES = 1024  # training stories that are compared with all texts at a time


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


def closest(texts: Sequence[str], index: Index) -> list[Closest]:
    """Compare every text with every story of the index.

    The stories are read once for all texts, 1,024 at a time. Memory: about 50 kB for each text.
    """
    pairs, rare = _Pairs.of(texts, index), _RareWords.of(texts, index)
    best, where = np.zeros((3, len(texts))), np.full((3, len(texts)), -1)
    for start in progress.track(range(0, index.n_stories, STORIES), "comparing with training stories"):
        edges = index.starts[start : start + STORIES + 1]
        n = len(edges) - 1
        stories = index.tokens[edges[0] : edges[-1]], np.repeat(np.arange(n), np.diff(edges)), n
        for i, values in enumerate((*pairs.rouge_2(*stories), rare.cosines(*stories))):
            at = values.argmax(1)
            value = values[np.arange(len(texts)), at]
            better = value > best[i]
            best[i, better], where[i, better] = value[better], start + at[better]
    found = best[0], where[0], best[1], best[2], where[2]
    return [Closest(*values) for values in zip(*(one.tolist() for one in found), strict=True)]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The word pairs of texts, to be counted in stories. Words are those of ROUGE, numbered from 1."""

    parts: Int[np.ndarray, " part"]
    """The words of ROUGE in each word of the index, one after the other; 0 for a word that no text has."""
    sizes: Int[np.ndarray, " word"]
    """How many these are for each word of the index: none in a mark, two in `don't`."""
    known: Int[np.ndarray, " pair"]
    """The different pairs of all texts, in ascending order."""
    have: "csr_array"
    """[text pair]: how often each text has each pair"""
    totals: Int[np.ndarray, " text"]
    """How many pairs each text has."""

    @classmethod
    def of(cls, texts: Sequence[str], index: Index) -> "_Pairs":
        split = [rouge_words(text) for text in texts]
        number = {word: i for i, word in enumerate(dict.fromkeys(chain(*split)), 1)}
        parts = [[number.get(part, 0) for part in rouge_words(word)] for word in ("", *index.vocabulary)]
        flat, row = _flat(split, number)
        known = np.unique(np.append(_pairs(flat, row)[0], 0))
        sizes, totals = (
            np.array([len(part) for part in parts]),
            np.maximum(np.bincount(row, minlength=len(split)) - 1, 0),
        )
        return cls(np.fromiter(chain(*parts), np.int64), sizes, known, _counted(flat, row, known, len(texts)), totals)

    def rouge_2(
        self, tokens: np.ndarray, row: np.ndarray, n: int
    ) -> tuple[Float[np.ndarray, "text story"], Float[np.ndarray, "text story"]]:
        """ROUGE-2 precision and F of each text to each of n stories: of the words `tokens`, in the stories `row`."""
        sizes = self.sizes[tokens]
        begins = np.cumsum(self.sizes)[tokens] - np.cumsum(sizes)
        flat = self.parts[np.arange(sizes.sum()) + np.repeat(begins, sizes)]
        of = _counted(flat, np.repeat(row, sizes), self.known, n)
        shared = np.zeros((len(self.totals), n))
        often = min(counts.data.max(initial=0) for counts in (self.have, of))
        for times in range(1, int(often) + 1):  # a pair counts with the smaller of its two counts
            shared += ((self.have >= times).astype(np.float32) @ (of >= times).astype(np.float32).T).toarray()
        own, others = np.maximum(self.totals, 1)[:, None], np.maximum(np.bincount(row, sizes, n) - 1, 0)
        return shared / own, 2 * shared / (own + others)


@dataclass(frozen=True, eq=False)
class _RareWords:
    """The words of texts, each weighted by the logarithm of its rarity; marks and unknown words are none."""

    weights: Float[np.ndarray, " word"]
    have: "csr_array"
    """[text word]: the weighted counts of each text"""

    @classmethod
    def of(cls, texts: Sequence[str], index: Index) -> "_RareWords":
        total = index.record.words
        rarity = [math.log(total / n) if word[0].isalpha() else 0.0 for word, n in index.vocabulary.items()]
        weights = np.array([0.0, *rarity])
        number = {word: i for i, word in enumerate(index.vocabulary, 1)}
        return cls(weights, _weighted(*_flat([words(text) for text in texts], number), weights, len(texts)))

    def cosines(self, tokens: np.ndarray, row: np.ndarray, n: int) -> Float[np.ndarray, "text story"]:
        """The cosine of each text with each of n stories: of the words `tokens`, in the stories `row`."""
        of = _weighted(tokens, row, self.weights, n)
        return np.asarray(np.minimum((self.have @ of.T).toarray(), 1.0))  # of equal texts it may be rounded above 1


def _flat(split: Sequence[Sequence[str]], number: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all words of the texts, 0 for one without, and the text of each."""
    sizes = [len(found) for found in split]
    flat = np.fromiter((number.get(word, 0) for word in chain(*split)), np.int64, sum(sizes))
    return flat, np.repeat(np.arange(len(split)), sizes)


def _pairs(flat: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each pair of known words that follow each other in a row, as one number above 0, and its row."""
    at = np.flatnonzero((flat[:-1] > 0) & (flat[1:] > 0) & (row[:-1] == row[1:]))
    return flat[at] << 32 | flat[at + 1], row[at]


def _counted(flat: np.ndarray, row: np.ndarray, known: np.ndarray, rows: int) -> "csr_array":
    """How often each row has each known pair."""
    pairs, of = _pairs(flat, row)
    at = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    there = known[at] == pairs
    return _sums(np.ones(int(there.sum()), dtype=np.float32), of[there], at[there], (rows, len(known)))


def _weighted(flat: np.ndarray, row: np.ndarray, weights: np.ndarray, rows: int) -> "csr_array":
    """The weighted counts of the words of each row, divided by the root of the sum of their squares."""
    from scipy.sparse import diags_array

    there = weights[flat] > 0
    found = _sums(weights[flat[there]], row[there], flat[there], (rows, len(weights)))
    size = np.sqrt(found.power(2).sum(1))
    return diags_array(1 / np.where(size > 0, size, 1)) @ found


def _sums(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> "csr_array":
    """The sum of the values at each place of a sparse matrix."""
    from scipy.sparse import csr_array

    return csr_array((values, (rows, columns)), shape)
