"""ROUGE-1, ROUGE-2 and ROUGE-L of two texts: the words, word pairs and the longest subsequence that they share.

Equal to the `rouge-score` package (without stemming); all pairs of texts of two sets take one sparse matrix product. A
word is a run of ASCII letters and digits in lower case. All else is dropped: punctuation, and letters beyond ASCII, at
which a word is cut in two (naïve becomes na, ve; a text in another script has no words).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from tslens.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WORD = re.compile("[a-z0-9]+")
MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")
ROWS = 256  # texts whose overlaps with all the others exist at a time


class Rouge(NamedTuple):
    """Shares of words, word pairs or a subsequence, from 0 to 1."""

    precision: float
    """Share of the candidate's that the reference has."""
    recall: float
    """Share of the reference's that the candidate has."""
    f: float
    """The harmonic mean of the two."""


def words(text: str) -> list[str]:
    """The text's runs of ASCII letters and digits in lower case, as `rouge-score` finds them."""
    return WORD.findall(text.lower())


def rouge(reference: str, candidate: str) -> tuple[Rouge, Rouge, Rouge]:
    """ROUGE-1, ROUGE-2 and ROUGE-L of two texts (Lin 2004, aclanthology.org/W04-1013)."""
    a, b = words(reference), words(candidate)
    return _rouge_n(a, b, 1), _rouge_n(a, b, 2), _of(_common_subsequence(a, b), len(a), len(b))


def rouge_2(reference: str, candidate: str) -> Rouge:
    """ROUGE-2 of two texts: 0 if either has fewer than two words.

    A repeated pair counts with the smaller of its two counts. Exchanging the texts exchanges precision and recall and
    leaves F unchanged.
    """
    return _rouge_n(words(reference), words(candidate), 2)


def _rouge_n(reference: Sequence[str], candidate: Sequence[str], n: int) -> Rouge:
    a, b = (Counter(zip(*(found[i:] for i in range(n)), strict=False)) for found in (reference, candidate))
    return _of((a & b).total(), a.total(), b.total())


def _of(shared: int, of_reference: int, of_candidate: int) -> Rouge:
    precision, recall = shared / max(of_candidate, 1), shared / max(of_reference, 1)
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall) if shared else 0.0)


def _common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, a row of the table at a time in the bits of one number (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for i, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << i
    everything = row = (1 << len(a)) - 1
    for word in b:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & everything
    return len(a) - row.bit_count()


def nearest(texts: Sequence[str], others: Sequence[str] | None = None) -> Float[np.ndarray, " texts"]:
    """The largest ROUGE-2 F of each text to any of the others; without `others`, to any other of `texts` themselves.

    A text that occurs twice in `texts` has 1: only itself is left out, not its copies. InputError if there is nothing
    to compare with.
    """
    found = np.zeros(len(texts))
    for rows, f in f_rows(texts, others):
        found[rows] = f.max(1)
    return found


def f_rows(
    texts: Sequence[str], others: Sequence[str] | None = None
) -> Iterator[tuple[slice, Float[np.ndarray, "row other"]]]:
    """The ROUGE-2 F of some texts to each of the others, some rows at a time; without `others` to each of `texts`, and
    0 of a text to itself. InputError if there is nothing to compare with."""
    alone = others is None
    against = texts if others is None else others
    if len(against) < (2 if alone else 1):
        raise InputError(f"{len(against)} texts leave none to compare with; give at least 2 texts, or others")
    columns: dict[tuple[str, str, int], int] = {}
    have, of = _occurrences(texts, columns), _occurrences(against, columns)
    have.resize(len(texts), len(columns))
    of.resize(len(against), len(columns))
    lengths, other_lengths = have.sum(1), of.sum(1)
    for start in range(0, len(texts), ROWS):
        rows = slice(start, start + ROWS)
        shared = (have[rows] @ of.T).toarray()
        if alone:
            shared[np.arange(len(shared)), start + np.arange(len(shared))] = 0
        yield rows, 2 * shared / np.maximum(lengths[rows, None] + other_lengths, 1)


def _occurrences(texts: Sequence[str], columns: dict[tuple[str, str, int], int]) -> "csr_array":
    """Matrix of texts by word pairs, 1 where a text has the pair an n-th time; adds new pairs to `columns`.

    With one column per occurrence the dot product of two rows is the sum of the smaller counts, as ROUGE needs.
    """
    from scipy.sparse import csr_array

    indices: list[int] = []
    ends = [0]
    for text in texts:
        seen: Counter[tuple[str, str]] = Counter()
        for pair in pairwise(words(text)):
            seen[pair] += 1
            indices.append(columns.setdefault((*pair, seen[pair]), len(columns)))
        ends.append(len(indices))
    ones = np.ones(len(indices), dtype=np.float32)
    return csr_array((ones, indices, ends), shape=(len(texts), max(len(columns), 1)))
