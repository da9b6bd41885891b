"""Word types of a vocabulary, and the class that each has most often."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor


def words(pieces: Sequence[str]) -> Int[Tensor, " vocabulary"]:
    """The number of each token's word: two tokens are the same word if they differ only by space or capitals.

    A model reads tokens, so a part of a word counts as a word: the coarser choice, with fewer trials.
    """
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(p.strip(" ").casefold() or p, len(numbers)) for p in pieces])


def tag_of_words(words: NDArray[np.int64], tags: NDArray[np.int64], n_words: int) -> NDArray[np.int64]:
    """The most frequent tag of each word; -1 for a word that is not among `words`."""
    tag = np.full(n_words, -1)
    known, most = most_frequent(words, tags)
    tag[known] = most
    return tag


def most_frequent(keys: NDArray[np.int64], tags: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys, and the tag that each has most often; of tags as frequent, the first."""
    n_tags = int(tags.max(initial=0)) + 1
    cells, times = np.unique(keys * n_tags + tags, return_counts=True)
    keys, tags = np.divmod(cells, n_tags)
    order = np.lexsort((tags, -times, keys))
    first = order[np.diff(keys[order], prepend=-1) != 0]
    return keys[first], tags[first]
