"""The null of a neuron's label: tags permuted among words of like frequency."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from tslens import stats
from tslens.analysis.neurons.words import each_word_once
from tslens.pos.types import tag_of_words


@dataclass(frozen=True)
class Null:
    """The tags of all words that were tagged, and how frequent these words are.

    A neuron that ignores parts of speech may still prefer frequent words, or rare ones, and parts of speech differ in
    frequency. The unit is the word, since all tokens of a word come together. So tags are permuted among words that are
    about equally frequent (`stats.like_classes`). The distribution of a count under all permutations is a sum of
    hypergeometric ones, one for each class of frequency.
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
        like[known] = stats.like_classes(frequency[known])
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
        return stats.p_of_counts(counts, drawn, self.in_class)

    def p_of_sample(
        self,
        ranks: Float[np.ndarray, "neuron sample"],
        words: Int[np.ndarray, " sample"],
        frequency: Int[np.ndarray, " word"],
        asked: Int[np.ndarray, " neuron"] | None = None,
    ) -> Float[np.ndarray, "neuron tag"]:
        """One-sided p-values that words of a tag rank so high in the sample, under permuted tags; as exact as they get
        for the tag of each neuron that is `asked`, by default for all.

        `ranks` are those of each neuron's activations. The statistic is the sum over the tag's words of the mean rank
        of a word's tokens, so that no frequent word decides alone.
        """
        from scipy.sparse import csr_array

        kinds, number = np.unique(words, return_inverse=True)
        of_word = csr_array((1 / np.bincount(number)[number], (number, np.arange(len(words)))))  # [word, token]
        ranks = (of_word @ (ranks / ranks.shape[1] - 0.5).T).T  # [neuron, word]
        tagged = np.eye(self.in_class.shape[1], dtype=bool)[self.tag[kinds]]
        wanted = None if asked is None else np.eye(tagged.shape[1], dtype=bool)[asked]
        return stats.p_of_sums(ranks, tagged, stats.like_classes(frequency[kinds]), wanted)
