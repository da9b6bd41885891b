"""The n-gram index of a corpus: which n-grams it has, how often and in which stories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tslens.errors import InputError
from tslens.ngrams.hashes import check_hashes
from tslens.ngrams.layout import (
    DEPTH,
    PADDING,
    PLACES,
    SENTENCES,
    STARTS,
    TEXT_STARTS,
    TEXTS,
    VOCABULARY,
    WORDS,
    IndexRecord,
    mapped,
    read_counts,
)
from tslens.ngrams.words import words


class Copy(NamedTuple):
    """The longest span of a text that a story has word by word."""

    words: int
    start: int
    """The span's first word within the text."""
    span: str
    """The words, lower case, joined by spaces."""
    story: int
    """The first story that has it; -1 for a text without any word of the corpus."""


@dataclass(frozen=True, eq=False)
class Index:
    """An n-gram index, mapped from disk. A word is what `words` finds; no n-gram goes from one story to the next."""

    folder: Path
    record: IndexRecord
    vocabulary: dict[str, int]
    """How often each word occurs."""
    tokens: np.ndarray
    """shape (words + padding,): the number of each word, from 1 in the order of `vocabulary`; 0 after each story"""
    places: np.ndarray
    """shape (words without separators,): places in `tokens`, sorted by the words from each on"""
    starts: np.ndarray
    """shape (stories + 1,): where each story begins in `tokens`"""
    sentences: np.ndarray
    """shape (sentences,): where each sentence begins in `tokens`"""
    text_starts: np.ndarray
    """shape (stories + 1,): where each story begins in the file of texts, in bytes"""

    @property
    def n_stories(self) -> int:
        """The number of stories."""
        return self.record.stories

    @property
    def n_bytes(self) -> int:
        """Bytes of the index on disk, with the stories' texts."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def story(self, number: int) -> str:
        """The text of a story."""
        start, end = self.text_starts[number], self.text_starts[number + 1]
        with (self.folder / TEXTS).open("rb") as file:
            file.seek(int(start))
            return file.read(int(end - start)).decode("utf-8", "surrogatepass")

    def count(self, ngram: str | Sequence[str]) -> int:
        """How often the n-gram occurs, for any n; a string is split by `words`. 0 for no words at all."""
        given = self.numbers(words(ngram) if isinstance(ngram, str) else ngram)
        if not given.all() or not len(given):  # an unknown word has the number of what separates stories
            return 0
        low, high = self._ranges(given[:DEPTH], min(len(given), DEPTH))
        places = self.places[low[-1, 0] : high[-1, 0]].astype(np.int64)
        for ahead in range(DEPTH, len(given)):
            places = places[places + ahead < len(self.tokens)]
            places = places[self.tokens[places + ahead] == given[ahead]]
        return len(places)

    def copied(self, text: str) -> Int[np.ndarray, " word"]:
        """For each word of the text, the length in words of the longest span from there on that a story has."""
        return self._copied(self.numbers(words(text)))[0]

    def longest_copy(self, text: str) -> Copy:
        """The longest span of the text, in words, that a story has; the first of equally long ones."""
        found = words(text)
        lengths, first = self._copied(self.numbers(found))
        if not len(lengths) or not lengths.max():
            return Copy(0, 0, "", -1)
        start = int(lengths.argmax())
        length = int(lengths[start])
        return Copy(
            length, start, " ".join(found[start : start + length]), int(self._story_of(first[start : start + 1])[0])
        )

    def new_share(self, text: str, n: int) -> float:
        """The share of the text's n-grams, for any n, that no story has; NaN for a text of fewer words than n."""
        return float(self.new_shares(text, (n,))[0])

    def new_shares(self, text: str, orders: Sequence[int] = tuple(range(1, 11))) -> Float[np.ndarray, " order"]:
        """`new_share` for several n at once."""
        if min(orders) < 1:
            raise InputError(f"n-grams have at least 1 word; got n={min(orders)}.")
        lengths = self.copied(text)
        there = [lengths[: max(0, len(lengths) - n + 1)] for n in orders]
        return np.array([(found < n).mean() if len(found) else np.nan for n, found in zip(orders, there, strict=True)])

    def sentence_words(self, at_once: int = 1 << 22) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The numbers of the corpus's words, about `at_once` at a time: flat, without separators, and the length of
        each sentence."""
        edges = np.append(self.sentences, self.record.words)
        start = 0
        while start < len(self.sentences):
            end = max(start + 1, int(np.searchsorted(edges, edges[start] + at_once, side="right")) - 1)
            flat = self.tokens[edges[start] : edges[end]]
            sentence = np.repeat(np.arange(end - start), np.diff(edges[start : end + 1]))
            kept = flat > 0
            yield flat[kept], np.bincount(sentence[kept], minlength=end - start)
            start = end

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary, 1)}

    @cached_property
    def _first(self) -> np.ndarray:
        """Where in `places` those of each word begin, by its number."""
        return np.concatenate([[0, 0], np.cumsum(list(self.vocabulary.values()), dtype=np.int64)])

    def numbers(self, given: Sequence[str]) -> np.ndarray:
        """The words' numbers; 0 for one that the corpus does not have."""
        return np.array([self._number.get(word, 0) for word in given], dtype=np.int64)

    def _story_of(self, places: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.starts, places, side="right") - 1

    def _ranges(self, given: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """The range in `places` of the n-gram at each word, `[depth word]` for n = 1 to depth; it may be empty."""
        low, high = np.zeros((2, depth, len(given)), dtype=np.int64)
        low[0], high[0] = self._first[given], self._first[given + (given > 0)]
        for n in range(1, depth):
            at = np.flatnonzero(high[n - 1, : max(0, len(given) - n)] > low[n - 1, : max(0, len(given) - n)])
            at = at[given[at + n] > 0]
            if not len(at):
                break
            for found, ahead in ((low, 0), (high, 1)):
                found[n, at] = self._bisect(low[n - 1, at], high[n - 1, at], n, given[at + n] + ahead)
        return low, high

    def _bisect(self, low: np.ndarray, high: np.ndarray, ahead: int, word: np.ndarray) -> np.ndarray:
        """In each range the first place whose word `ahead` is not below `word`."""
        low, high = low.copy(), high.copy()
        at = np.arange(len(low))
        while len(at := at[low[at] < high[at]]):
            middle = (low[at] + high[at]) // 2
            below = self.tokens[self.places[middle].astype(np.int64) + ahead] < word[at]
            low[at] = np.where(below, middle + 1, low[at])
            high[at] = np.where(below, high[at], middle)
        return low

    def _copied(self, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each word the longest span from there on that a story has, and a place that has it."""
        if not len(given) or not len(self.places):
            return np.zeros(len(given), dtype=np.int64), np.zeros(len(given), dtype=np.int64)
        low, high = self._ranges(given, DEPTH)
        lengths = (high > low).sum(0)
        shown = np.maximum(lengths - 1, 0)
        each = np.arange(len(given))
        places = self.places[np.minimum(low[shown, each], len(self.places) - 1)].astype(np.int64)
        after, after_lengths = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        for i in np.flatnonzero(lengths == DEPTH)[::-1]:  # beyond the sorted depth: place by place, from the end on
            here = np.sort(self.places[low[-1, i] : high[-1, i]].astype(np.int64))
            found = np.full(len(here), DEPTH)
            if i + 1 < len(given) and lengths[i + 1] >= DEPTH and len(after):
                next_to = np.minimum(np.searchsorted(after, here + 1), len(after) - 1)
                found = np.where(after[next_to] == here + 1, after_lengths[next_to] + 1, DEPTH)
            best = int(found.argmax())
            lengths[i], places[i] = found[best], here[best]
            after, after_lengths = here, found
        return lengths, places


def open_index(folder: str | Path) -> Index:
    """The index in a folder, mapped from disk.

    Raises:
        FileNotFoundError: the folder holds no index.
        InputError: an index of another version, or one that was altered or cut off.
    """
    folder = Path(folder)
    record = IndexRecord.read(folder)
    check_hashes(folder)
    counts = read_counts(folder / VOCABULARY)
    return Index(
        folder,
        record,
        counts,
        mapped(folder / WORDS, "uint32", record.words + PADDING),
        mapped(folder / PLACES, record.dtype, sum(counts.values())),
        mapped(folder / STARTS, "int64", record.stories + 1),
        mapped(folder / SENTENCES, "int64"),
        mapped(folder / TEXT_STARTS, "int64", record.stories + 1),
    )
