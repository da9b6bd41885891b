"""The null of a neuron's label: the parts of speech of a random sample of tokens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tslens.analysis.neurons.words import each_word_once


@dataclass(frozen=True)
class Null:
    """How common each part of speech is in the sample.

    A neuron that ignores parts of speech may respond to words uniformly or in proportion to their frequency. So there
    are two counts, and a part of speech must be more common than under both.
    """

    by_token: NDArray[np.int64]
    """Tokens of the sample with each tag."""
    by_word: NDArray[np.int64]
    """Distinct words of the sample with each tag."""

    @classmethod
    def of(cls, tags: NDArray[np.int64], words: NDArray[np.int64], n_tags: int) -> "Null":
        """Build the null from the tag and the word of each sampled token."""
        by_word = each_word_once(np.zeros_like(tags), words, tags, 1, n_tags)[0]
        return cls(np.bincount(tags, minlength=n_tags), by_word)

    @property
    def base(self) -> NDArray[np.float64]:
        """Base rate of each tag: its share of the tokens or of the words, whichever is larger."""
        return np.asarray(np.maximum(self.by_token / self.by_token.sum(), self.by_word / self.by_word.sum()))

    def p(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.float64]:
        """`[neuron, tag]`: the larger of two one-sided p-values that a tag has `counts` of `n` words, by Fisher's
        exact test against the words of the sample and against its tokens."""
        return np.asarray(np.maximum(fisher(counts, n, self.by_token), fisher(counts, n, self.by_word)))


def fisher(counts: NDArray[np.int64], n: NDArray[np.int64], base: NDArray[np.int64]) -> NDArray[np.float64]:
    """One-sided p-values of Fisher's test of `counts` among `n` against `base` in the sample, `[neurons, tag]`."""
    from scipy.stats import hypergeom

    wide = np.broadcast_to(n[:, None], counts.shape)
    tag = np.broadcast_to(np.arange(len(base)), counts.shape)
    cases, where = np.unique(np.stack([counts, wide, tag], -1).reshape(-1, 3), axis=0, return_inverse=True)
    c, m, t = cases.T  # a few thousand different ones among neurons x tags
    p = hypergeom.sf(c - 1, m + base.sum(), base[t] + c, m)
    return np.asarray(p[where.ravel()].reshape(counts.shape), dtype=np.float64)
