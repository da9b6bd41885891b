"""What the training stories have, kept beside their n-gram index: word pairs, and words but the most frequent."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from tslens import files, lock
from tslens.evaluation.rouge import words as rouge_words
from tslens.ngrams import Index
from tslens.ngrams.hashes import check_hashes, write_hashes
from tslens.ngrams.layout import mapped
from tslens.ngrams.postings import Postings, open_postings, write_postings

VERSION = 1
"""Of the files."""
STORIES = 4096  # that are read at a time
FREQUENT = 64  # words that are counted in every story, because most stories have them
PAIRS, RARE, N_PAIRS, COUNTS, SIZES = "pairs", "rare", "n-pairs.bin", "frequent.bin", "sizes.bin"


class WordTables:
    """The words of an index as the comparisons read them."""

    def __init__(self, index: Index) -> None:
        self.split = [rouge_words(word) for word in ("", *index.vocabulary)]
        """ROUGE's words in each word of the index, by its number: none in a mark, two in `don't`."""
        self.rouge = {word: number for number, word in enumerate(dict.fromkeys(chain(*self.split)), 1)}
        """The number of each of ROUGE's words, from 1."""
        total = index.record.words
        rarity = [math.log(total / n) if word[0].isalpha() else 0.0 for word, n in index.vocabulary.items()]
        self.weights = np.array([0.0, *rarity])
        """The logarithm of each word's rarity, by its number; 0 of marks."""
        counts = np.where(self.weights > 0, [0, *index.vocabulary.values()], 0)
        order = np.argsort(-counts, kind="stable")[:FREQUENT]
        self.column = np.full(len(counts), -1)
        """The row of a frequent word in `Neighbours.frequent`; -1 of others."""
        self.column[order[counts[order] > 0]] = np.arange((counts[order] > 0).sum())


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The stories of an index by what they have. Mapped from disk."""

    index: Index
    pairs: Postings
    """By pairs of ROUGE's words: the first one's number times 2^32, and the second one's."""
    n_pairs: Int[np.ndarray, " story"]
    rare: Postings
    """By the numbers of the index's words, but for the most frequent."""
    frequent: Int[np.ndarray, "word story"]
    """How often each story has each of the most frequent words."""
    sizes: Float[np.ndarray, " story"]
    """Root of the sum of squares of a story's counts of words times their weights."""

    folder: Path

    @property
    def n_bytes(self) -> int:
        """Bytes on disk, without those of the index."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    @cached_property
    def words(self) -> WordTables:
        """The words of the index as the comparisons read them."""
        return WordTables(self.index)


def neighbours(index: Index) -> Neighbours:
    """The stories of an index by what they have, kept in a folder beside it; made if that is not there.

    Disk: 4 bytes for each word pair and each word but the most frequent, 16 for each different one, and 272 a story.
    Memory while they are made: that of `write_postings`, and 272 bytes a story.
    """
    folder = index.folder.with_name(f"{index.folder.name}-nearest-{VERSION}")
    lock.sweep(folder)
    if not folder.is_dir():
        with lock.held(folder, otherwise=""):
            if not folder.is_dir():  # nor made by another process in the meantime
                with files.atomic_folder(folder) as scratch:
                    _make(index, scratch)
                    write_hashes(scratch)
    check_hashes(folder)
    n = index.n_stories
    counts = mapped(folder / COUNTS, "int32")
    return Neighbours(
        index,
        open_postings(folder, PAIRS),
        mapped(folder / N_PAIRS, "int64", n),
        open_postings(folder, RARE),
        counts.reshape(-1, n),
        mapped(folder / SIZES, "float64", n),
        folder,
    )


def _make(index: Index, folder: Path) -> None:
    known = WordTables(index)
    parts = np.array([known.rouge[part] for part in chain(*known.split)], dtype=np.int64)
    sizes = np.array([len(found) for found in known.split])
    begins = np.cumsum(sizes) - sizes

    def pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for tokens, story in _read(index):
            n = sizes[tokens]
            flat = parts[np.arange(n.sum()) + np.repeat(begins[tokens] - np.cumsum(n) + n, n)]
            of = np.repeat(story, n)
            same = of[:-1] == of[1:]
            yield (flat[:-1] << 32 | flat[1:])[same], of[:-1][same]

    def rare() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        wanted = (known.weights > 0) & (known.column < 0)
        for tokens, story in _read(index):
            there = wanted[tokens]
            yield tokens[there], story[there]

    write_postings(folder, PAIRS, pairs, "word pairs")
    write_postings(folder, RARE, rare, "words")
    n_pairs, squares = np.zeros(index.n_stories, dtype=np.int64), np.zeros(index.n_stories)
    frequent = np.zeros((known.column.max(initial=-1) + 1, index.n_stories), dtype=np.int32)
    for (_, of), (tokens, story) in zip(pairs(), _read(index), strict=True):
        first, n = int(story[0]), int(story[-1] - story[0]) + 1
        n_pairs[first : first + n] += np.bincount(of - first, minlength=n)
        keys, times = np.unique(story << 32 | tokens, return_counts=True)
        found, word = keys >> 32, keys & 0xFFFFFFFF
        squares[first : first + n] += np.bincount(found - first, (times * known.weights[word]) ** 2, minlength=n)
        there = known.column[word] >= 0
        frequent[known.column[word[there]], found[there]] = times[there]
    n_pairs.tofile(folder / N_PAIRS)
    frequent.tofile(folder / COUNTS)
    np.sqrt(squares).tofile(folder / SIZES)


def _read(index: Index) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The words of the stories, and the story of each, some stories at a time."""
    for start in range(0, index.n_stories, STORIES):
        edges = index.starts[start : start + STORIES + 1].astype(np.int64)
        yield (
            index.tokens[edges[0] : edges[-1]].astype(np.int64),
            np.repeat(np.arange(start, start + len(edges) - 1), np.diff(edges)),
        )
