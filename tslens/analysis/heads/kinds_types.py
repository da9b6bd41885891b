"""Does a head prefer a class of words, or single words that are of it?

All tokens of a word come together, so the unit is the word. How a head likes it is the mean logarithm of the attention
to its tokens, less that to all tokens that the same query sees as far away: of the attention itself, neighbours of a
word that is liked would have less. Classes are permuted among words of like frequency, so that p is uniform for a head
that likes some words better than others, whatever their class.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.kinds_weights import StoryWeights
from tslens.analysis.heads.kinds_words import CLASSES, TokenMarks
from tslens.analysis.heads.sums import AddedSums
from tslens.models import Spec
from tslens.pos.types import words

LEAST = 1e-9  # attention, below which its logarithm counts as that of this


@dataclass
class TypeSums(AddedSums):
    """Sums by the token of the key."""

    excess: Float64[Tensor, "layer head token"]
    """Sum of the logarithm of the attention to its keys, less that of all keys of the same query as far away."""
    pairs: Float64[Tensor, "layer token"]
    """Its keys, by query."""
    classes: Float64[Tensor, "token class"]
    """How often it is a word of each class, of none last."""

    @classmethod
    def empty(cls, spec: Spec, tokens: int) -> "TypeSums":
        """No sums yet."""
        shapes = ((spec.n_layers, spec.n_heads, tokens), (spec.n_layers, tokens), (tokens, len(CLASSES) + 1))
        return cls(*(torch.zeros(shape, dtype=torch.float64) for shape in shapes))

    def read(self, tokens: Int[Tensor, " pos"], marks: TokenMarks) -> None:
        """Count the words of a story."""
        known = marks.classes >= 0
        flat = tokens[known] * self.classes.shape[1] + marks.classes[known]
        self.classes += torch.bincount(flat, minlength=self.classes.numel()).view_as(self.classes)

    def add(
        self,
        layer: int,
        pattern: Float[Tensor, "head query key"],
        weights: StoryWeights,
        tokens: Int[Tensor, " pos"],
    ) -> None:
        """Add one story's attention in one layer."""
        liking, cell = pattern.flatten(1)[:, weights.free].clamp(min=LEAST).log(), weights.cell
        if not len(cell):
            return
        count = torch.bincount(cell)
        mean = torch.zeros(len(liking), len(count)).index_add_(1, cell, liking) / count
        key = weights.free % len(tokens)
        of_key = torch.zeros(len(liking), len(tokens)).index_add_(1, key, liking - mean[:, cell])
        self.excess[layer].index_add_(1, tokens, of_key.double())
        self.pairs[layer].index_add_(0, tokens, torch.bincount(key, minlength=len(tokens)).double())

    def p(self, pieces: Sequence[str], asked: Bool[Tensor, "class layer head"]) -> Float[Tensor, "class layer head"]:
        """One-sided p-values that a head prefers words of each class, where classes are permuted among words of like
        frequency. NaN where it is not asked, and for a class of one word, which is this word; 1 where no word was
        read."""
        word, layers = words(pieces), len(self.excess)
        n = int(word.max()) + 1
        classes = torch.zeros(n, self.classes.shape[1], dtype=torch.float64).index_add_(0, word, self.classes)
        total = torch.zeros(n, *self.excess.shape[:2], dtype=torch.float64).index_add_(
            0, word, self.excess.movedim(-1, 0)
        )
        pairs = torch.zeros(n, layers, dtype=torch.float64).index_add_(0, word, self.pairs.T)
        there = (pairs > 0).all(1) & (classes.sum(1) > 0)
        if not there.any():
            return torch.ones(len(CLASSES), *self.excess.shape[:2])
        values = (total[there] / pairs[there][:, :, None]).flatten(1).T.float().numpy()
        like, ranks = stats.like_classes(classes[there].sum(1).long().numpy()), np.zeros(values.shape)
        for one in range(like.max() + 1):
            of_class = np.ascontiguousarray(values[:, like == one])
            ranks[:, like == one] = stats.mean_ranks(of_class) / of_class.shape[1]
        of_word = classes[there].argmax(1)
        p = stats.p_of_permuted(ranks, of_word.numpy(), like, len(CLASSES), asked.flatten(1).T.numpy())
        p[:, np.bincount(of_word, minlength=len(CLASSES))[: len(CLASSES)] == 1] = np.nan
        found: Tensor = torch.from_numpy(p.T).float()
        return found.reshape(asked.shape).where(asked, torch.nan)
