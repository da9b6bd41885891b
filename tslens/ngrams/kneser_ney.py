"""A word 5-gram model with modified Kneser-Ney smoothing (Chen and Goodman 1999, doi:10.1006/csla.1999.0128).

Interpolated, with three discounts for each order. Every sentence stands between four begin marks and an end mark. The
highest order counts n-grams; a lower one counts the different words before an n-gram. An order below the first gives
every word of the vocabulary, the end mark and an unknown word the same probability.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from tslens import progress
from tslens.errors import InputError
from tslens.ngrams.index import Index
from tslens.ngrams.words import sentences_of

ORDER = 5
BEGIN, END = 1, 2  # numbers of the marks; words follow from 3 on, and 0 is an unknown word
BATCH = 20_000  # stories whose n-grams are counted at once
AT_ONCE = 1_000  # texts whose n-grams are looked up together
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], dtype=np.uint64)


@dataclasses.dataclass(frozen=True, eq=False)
class Order:
    """The n-grams of one order. N-grams and contexts are told apart by 64-bit hashes: two of 100 million share one
    with probability 3 in 10,000."""

    ngrams: np.ndarray
    """sorted hashes"""
    counts: np.ndarray
    """of the highest order, how often; of a lower one, after how many different words"""
    contexts: np.ndarray
    """sorted hashes of the n-grams without their last word"""
    totals: np.ndarray
    """sum of the counts in each context"""
    left: np.ndarray
    """share of each context's probability that the discounts leave to the lower order"""
    discounts: np.ndarray
    """of counts 0, 1, 2, and 3 or more"""


@dataclasses.dataclass(frozen=True, eq=False)
class KneserNey:
    """A word n-gram model; `five_gram` makes it."""

    counts: Mapping[str, int]
    """How often each word occurs in the training stories."""
    orders: Sequence[Order]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_number", {word: number for number, word in enumerate(self.counts, 3)})

    def log_probability(self, text: str) -> float:
        """The log-probability in nats of the text's words and of the end of each of its sentences.

        Every sentence starts anew. An unknown word has the probability that the smoothing gives to one of them; it is
        followed as a word that no n-gram has. -0.0 for a text without words.
        """
        return float(sum(self.word_log_probabilities(sentence).sum() for sentence in sentences_of(text)))

    def log_probabilities(self, texts: Sequence[str]) -> list[float]:
        """The `log_probability` of each text; the words of `AT_ONCE` texts are looked up together."""
        found: list[float] = []
        for start in progress.track(range(0, len(texts), AT_ONCE), "texts under the n-gram model"):
            rows = [[self.windows(one) for one in sentences_of(text)] for text in texts[start : start + AT_ONCE]]
            flat = [np.zeros((0, len(self.orders)), dtype=np.uint64), *(grams for of in rows for grams in of)]
            ends = np.cumsum([len(grams) for grams in flat])
            each = iter(np.split(self.of_last_words(np.concatenate(flat)), ends)[1:])
            found += (float(sum(next(each).sum() for _ in of)) for of in rows)
        return found

    def word_log_probabilities(self, sentence: Sequence[str]) -> np.ndarray:
        """The log-probability in nats of each word given those before it, and last of the end mark."""
        return self.of_last_words(self.windows(sentence))

    def windows(self, sentence: Sequence[str]) -> np.ndarray:
        """The numbers of each word, and of the end mark, behind those of the words before it: a row for each."""
        number: Mapping[str, int] = self._number  # type: ignore[attr-defined]
        row = [BEGIN] * (len(self.orders) - 1) + [number.get(word, 0) for word in sentence] + [END]
        return np.lib.stride_tricks.sliding_window_view(np.array(row, dtype=np.uint64), len(self.orders))

    def of_last_words(self, grams: np.ndarray) -> np.ndarray:
        """The log-probability in nats of the last word of each row of `windows` given those before it."""
        probability = np.full(len(grams), 1 / (len(self.counts) + 2))
        for n, order in enumerate(self.orders, 1):
            context, whole = _hashes(grams[:, -n:-1]), _hashes(grams[:, -n:])
            at, known = _found(order.contexts, context)
            place, seen = _found(order.ngrams, whole)
            count = np.where(seen, order.counts[place], 0)
            own = np.maximum(count - order.discounts[np.minimum(count, 3)], 0) / order.totals[at]
            probability = np.where(known, own + order.left[at] * probability, probability)
        return np.asarray(np.log(probability))


def five_gram(stories: Iterable[str] | Index, *, order: int = ORDER, discount: float | None = None) -> KneserNey:
    """The word 5-gram model of some stories, or of those of an index.

    Memory: about 100 bytes per different 5-gram. With `discount` every count loses the same (Kneser and Ney 1995,
    interpolated); else the three discounts of each order follow from how many n-grams occur 1, 2, 3 and 4 times.

    Raises:
        InputError: no word in the stories, or `order` below 1.
    """
    if order < 1:
        raise InputError(f"an n-gram model has an order of at least 1; got {order}.")
    vocabulary: dict[str, int] = {}
    total = None
    if not isinstance(stories, Index):
        batches = _batches(stories, vocabulary)
    else:
        vocabulary, total = stories.vocabulary, len(stories.sentences)
        batches = ((flat + np.uint32(BEGIN + 1), sizes) for flat, sizes in stories.sentence_words())
    rows, counts = np.zeros((0, order), dtype=np.uint32), np.zeros(0, dtype=np.int64)
    with progress.bar("counting n-grams of sentences", total) as bar:
        for flat, sizes in batches:
            rows, counts = _merged(rows, counts, _ngrams(flat, sizes, order))
            bar.advance(len(sizes))
    if not len(rows):
        raise InputError("the stories have no words to count; give at least one sentence.")
    orders = []
    for n in range(order, 0, -1):
        orders.append(_order(rows[:, -n:], counts, discount))
        rows, counts = _unique(rows[:, -n + 1 :], np.ones(len(rows), dtype=np.int64)) if n > 1 else (rows, counts)
    return KneserNey(dict(vocabulary), orders[::-1])


def _batches(stories: Iterable[str], vocabulary: dict[str, int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The words of the stories as numbers and the length of each sentence; counts the words."""
    number: dict[str, int] = {}
    stream = iter(stories)
    while batch := list(islice(stream, BATCH)):
        found = [sentence for text in batch for sentence in sentences_of(text)]
        flat = np.array([number.setdefault(word, len(number) + 3) for words in found for word in words], dtype=np.int64)
        for word, count in zip(number, np.bincount(flat, minlength=len(number) + 3)[3:].tolist(), strict=True):
            vocabulary[word] = vocabulary.get(word, 0) + count
        yield flat, np.array([len(words) for words in found], dtype=np.int64)


def _ngrams(flat: np.ndarray, sizes: np.ndarray, order: int) -> np.ndarray:
    """All n-grams of the sentences with their marks, `[place order]`."""
    marked = np.full(int(sizes.sum()) + len(sizes) * order, BEGIN, dtype=np.uint32)
    ends = np.cumsum(sizes + order) - 1
    marked[ends] = END
    inside = np.arange(len(flat)) + np.repeat(np.arange(1, len(sizes) + 1) * order - 1, sizes)
    marked[inside] = flat
    if not len(marked):
        return np.zeros((0, order), dtype=np.uint32)
    grams = np.lib.stride_tricks.sliding_window_view(marked, order)
    return grams[np.flatnonzero(marked[order - 1 :] != BEGIN)]


def _merged(rows: np.ndarray, counts: np.ndarray, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    fresh, fresh_counts = _unique(more, np.ones(len(more), dtype=np.int64))
    return (
        _unique(np.concatenate([rows, fresh]), np.concatenate([counts, fresh_counts]))
        if len(rows)
        else (fresh, fresh_counts)
    )


def _unique(rows: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows, by their hash, and the sum of the counts of each."""
    _, first, which = np.unique(_hashes(rows), return_index=True, return_inverse=True)
    return rows[first], np.bincount(which, weights=counts, minlength=len(first)).astype(np.int64)


def _order(rows: np.ndarray, counts: np.ndarray, discount: float | None) -> Order:
    """One order of the model, from its different n-grams and their counts."""
    sizes = [int((counts == k).sum()) for k in range(1, 5)]
    discounts = np.array([0.0, *([discount] * 3 if discount is not None else _discounts(sizes))])
    contexts, which = np.unique(_hashes(rows[:, :-1]), return_inverse=True)
    totals = np.bincount(which, weights=counts)
    left = np.bincount(which, weights=discounts[np.minimum(counts, 3)]) / totals
    hashes = _hashes(rows)
    sort = np.argsort(hashes)
    return Order(hashes[sort], counts[sort], contexts, totals, left, discounts)


def _discounts(sizes: Sequence[int]) -> list[float]:
    """The discounts of counts 1, 2 and 3 or more, from how many n-grams occur 1, 2, 3 and 4 times.

    Chen and Goodman's equation 26; where an order is too small for it, as in KenLM, 0.5, 1 and 1.5.
    """
    if min(sizes) == 0:
        return [0.5, 1.0, 1.5]
    y = sizes[0] / (sizes[0] + 2 * sizes[1])
    found = [k - (k + 1) * y * sizes[k] / sizes[k - 1] for k in (1, 2, 3)]
    return found if all(0 <= d <= k for k, d in enumerate(found, 1)) else [0.5, 1.0, 1.5]


def _hashes(rows: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row."""
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found = (found ^ (column.astype(np.uint64) + np.uint64(1))) * _MULTIPLIERS[0]
        found = (found ^ (found >> np.uint64(29))) * _MULTIPLIERS[1]
        found ^= found >> np.uint64(32)
    return found


def _found(sorted_: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each wanted hash among sorted ones, and whether it is there."""
    at = np.minimum(np.searchsorted(sorted_, wanted), len(sorted_) - 1)
    return at, sorted_[at] == wanted
