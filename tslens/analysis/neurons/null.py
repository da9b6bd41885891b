"""The null of a neuron's label: tags permuted among words of like frequency."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from tslens.analysis.neurons.words import each_word_once, tag_of_words

LIKE = 20  # words of like frequency, at least: fewer would hardly be permuted


@dataclass(frozen=True)
class Null:
    """The tags of all words that were tagged, and how frequent these words are.

    A neuron that ignores parts of speech may still prefer frequent words, or rare ones, and parts of speech differ in
    frequency. The unit is the word, since all tokens of a word come together. So tags are permuted among words whose
    frequencies share a power of two, `LIKE` words at least. The distribution of a count under all permutations is a sum
    of hypergeometric ones, one for each class of frequency.
    """

    base: NDArray[np.float64]
    """Base rate of each tag: its share of the sample's tokens or of its words, whichever is larger."""
    tag: NDArray[np.int64]
    """The most frequent tag of each word; -1 where it was not tagged."""
    like: NDArray[np.int64]
    """The class of frequency of each word."""
    in_class: NDArray[np.int64]
    """Words of each class with each tag, `[class, tag]`."""

    @classmethod
    def of(
        cls,
        words: Int[np.ndarray, " place"],
        tags: Int[np.ndarray, " place"],
        sample_words: Int[np.ndarray, " sample"],
        sample_tags: Int[np.ndarray, " sample"],
        frequency: Int[np.ndarray, " word"],
        n_tags: int,
    ) -> "Null":
        """The null from all tagged places, from those of the random sample, and from each word's number of tokens."""
        by_token = np.bincount(sample_tags, minlength=n_tags)
        by_word = each_word_once(np.zeros_like(sample_tags), sample_words, sample_tags, 1, n_tags)[0]
        tag = tag_of_words(words, tags, len(frequency))
        known = tag >= 0
        like = np.zeros(len(frequency), dtype=np.int64)
        like[known] = classes(frequency[known])
        in_class = np.zeros((like.max(initial=0) + 1, n_tags), dtype=np.int64)
        np.add.at(in_class, (like[known], tag[known]), 1)
        return cls(np.maximum(by_token / by_token.sum(), by_word / by_word.sum()), tag, like, in_class)

    def p(
        self, row: Int[np.ndarray, " place"], words: Int[np.ndarray, " place"], rows: int
    ) -> Float[np.ndarray, "neuron tag"]:
        """One-sided p-values that so many of a neuron's distinct words have a tag, under permuted tags."""
        neuron, word = np.divmod(np.unique(row * len(self.tag) + words), len(self.tag))
        drawn = np.zeros((rows, len(self.in_class)), dtype=np.int64)
        np.add.at(drawn, (neuron, self.like[word]), 1)
        counts = np.zeros((rows, self.in_class.shape[1]), dtype=np.int64)
        np.add.at(counts, (neuron, self.tag[word]), 1)
        return upper_tail(counts, drawn, self.in_class)

    def p_of_sample(
        self,
        ranks: Float[np.ndarray, "neuron sample"],
        words: Int[np.ndarray, " sample"],
        frequency: Int[np.ndarray, " word"],
    ) -> Float[np.ndarray, "neuron tag"]:
        """One-sided p-values that words of a tag rank so high in the sample, under permuted tags.

        `ranks` are those of each neuron's activations. The statistic is the sum over the tag's words of the mean rank
        of a word's tokens, so that no frequent word decides alone. Its mean and variance under permutation are exact,
        its distribution normal (Hoeffding 1951, doi:10.1214/aoms/1177729545).
        """
        from scipy.sparse import csr_array
        from scipy.stats import norm

        kinds, number = np.unique(words, return_inverse=True)
        of_word = csr_array((1 / np.bincount(number)[number], (number, np.arange(len(words)))))  # [word, token]
        ranks = (of_word @ (ranks / ranks.shape[1] - 0.5).T).T  # [neuron, word]
        like = np.eye(len(kinds))[classes(frequency[kinds])]
        like = like[:, like.any(0)]
        tagged = np.eye(self.in_class.shape[1])[self.tag[kinds]]
        size, having = like.sum(0), like.T @ tagged  # words of each class; of each class with each tag
        mean = ranks @ like / size
        variance = ((ranks**2) @ like - size * mean**2).clip(0) / np.maximum(size - 1, 1)
        spread = variance @ (having * (size[:, None] - having) / size[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (ranks @ tagged - mean @ having) / np.sqrt(spread)
        return np.asarray(norm.sf(np.nan_to_num(z, nan=-np.inf)))


def classes(frequency: Int[np.ndarray, " word"]) -> Int[np.ndarray, " word"]:
    """Classes of frequency by powers of two, from the most frequent; neighbours are joined until each has `LIKE`."""
    power = np.log2(np.maximum(frequency, 1)).astype(np.int64)
    held, at = 0, 0
    of_power = np.zeros(power.max(initial=0) + 1, dtype=np.int64)
    for i, n in reversed(list(enumerate(np.bincount(power)))):
        of_power[i] = at
        held += n
        if held >= LIKE:
            held, at = 0, at + 1
    of_power[of_power == at] = max(at - 1, 0) if held else at  # too few are left for a class of their own
    return np.asarray(of_power[power])


def upper_tail(
    counts: Int[np.ndarray, "neuron tag"],
    drawn: Int[np.ndarray, "neuron class"],
    in_class: Int[np.ndarray, "class tag"],
) -> Float[np.ndarray, "neuron tag"]:
    """P(X >= counts), where X sums hypergeometric counts: of each class's words, `drawn` without replacement, those
    with the tag. The distributions are convolved by their Fourier transforms."""
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.stats import hypergeom

    most = int(drawn.sum(1).max(initial=0))
    size, support = next_fast_len(most + 1, real=True), np.arange(most + 1)
    sizes = [np.unique(column, return_inverse=True) for column in drawn.T]
    p = np.ones(counts.shape)
    for tag in np.flatnonzero(counts.any(0)):
        spectrum = np.ones((len(counts), size // 2 + 1), dtype=np.complex128)
        for words, (n, where) in zip(in_class, sizes, strict=True):
            spectrum *= rfft(hypergeom.pmf(support, words.sum(), words[tag], n[:, None]), size)[where.ravel()]
        tail = irfft(spectrum, size)[:, most::-1].cumsum(1)[:, ::-1]
        p[:, tag] = np.take_along_axis(tail, counts[:, [tag]], 1)[:, 0]
    return np.asarray(p.clip(np.finfo(np.float64).tiny, 1))
