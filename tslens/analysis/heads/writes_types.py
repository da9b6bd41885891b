"""Does a head write a class of words, or single words that are of it?

All tokens of a word come together, so the unit is the word. What a head writes where a word follows, towards
another word, is a product of two vectors: one of the word that follows, the mean of the head's output before it less
that of the story, and one of the other word, which is its weights'. So a head writes a class if the products of two
different words of the class exceed those of a word of it and a word of none. Classes are permuted among words of like
frequency, so that p is uniform for a head that writes some words better than others, whatever their class.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.kinds_words import CLASSES
from tslens.analysis.heads.sums import AddedSums
from tslens.models import Spec
from tslens.pos.types import words


@dataclass
class FollowingSums(AddedSums):
    """Sums by the token that begins the word that follows."""

    output: Float[Tensor, "token layer head d_head"]
    """What the head read before it, over the final norm's scale, less the mean of the story."""
    classes: Float[Tensor, "token class"]
    """How often it is a word of each class, of none last."""

    @classmethod
    def empty(cls, spec: Spec, tokens: int) -> "FollowingSums":
        """No sums yet."""
        return cls(torch.zeros(tokens, spec.n_layers, spec.n_heads, spec.d_head), torch.zeros(tokens, len(CLASSES) + 1))

    def add(self, layer: int, z: Float[Tensor, "place head d_head"], tokens: Int[Tensor, " place"]) -> None:
        """Add one story's output of one layer, at places that words follow."""
        self.output[:, layer].index_add_(0, tokens, (z - z.mean(0)).cpu())

    def read(self, tokens: Int[Tensor, " place"], classes: Int[Tensor, " place"]) -> None:
        """Count the words of a story."""
        flat = tokens * self.classes.shape[1] + classes
        self.classes += torch.bincount(flat, minlength=self.classes.numel()).view_as(self.classes)

    def p(
        self,
        asked: Bool[Tensor, "class layer head"],
        output: Sequence[Float[Tensor, "head d_head d_model"]],
        reading: Float[Tensor, "token d_model"],
        pieces: Sequence[str],
    ) -> Float[Tensor, "class layer head"]:
        """One-sided p-values that a head writes each class, where classes are permuted among words of like frequency;
        NaN where it is not asked, and for a class of one word."""
        found, word = torch.full(asked.shape, torch.nan), words(pieces)
        often = self.classes.sum(1)
        n = int(word.max()) + 1
        classes = torch.zeros(n, self.classes.shape[1]).index_add_(0, word, self.classes)
        there = classes.sum(1) > 0
        times = classes[there].sum(1)
        like = stats.like_classes(times.long().numpy())
        of_word = classes[there].argmax(1).numpy()

        def mean_of(values: Float[Tensor, "token width"]) -> Float[Tensor, "word width"]:
            summed = torch.zeros(n, values.shape[1]).index_add_(0, word, values)[there] / times[:, None]
            centred: Tensor = summed - summed.mean(0)
            return centred

        read = mean_of(reading.cpu() * often[:, None])
        heads = asked.any(0).nonzero().tolist()
        if heads:
            before = np.stack([mean_of(self.output[:, layer, head]) for layer, head in heads], axis=1)
            written = np.stack([read @ output[layer][head].cpu().T for layer, head in heads], axis=1)
            layers, places = torch.tensor(heads).T
            p = torch.from_numpy(
                _p_of_products(before, written, of_word, like, asked[:, layers, places].numpy())
            ).float()
            found[:, layers, places] = torch.where(asked[:, layers, places], p, torch.nan)
        return found


def _p_of_products(
    before: Float[np.ndarray, "word head d_head"],
    written: Float[np.ndarray, "word head d_head"],
    of_word: Int[np.ndarray, " word"],
    like: Int[np.ndarray, " word"],
    asked: Bool[np.ndarray, "class head"],
) -> Float[np.ndarray, "class head"]:
    """For each class the p-value that products of two of its words exceed those of a word of it and one of none, less
    the same of the others. All vectors have the mean 0 over words."""
    size = np.bincount(of_word, minlength=len(CLASSES) + 1)[: len(CLASSES)].astype(float)
    rest = len(of_word) - size
    pairs, others = np.maximum(size * (size - 1), 1), np.maximum(rest * (rest - 1), 1)  # p of one word is NaN
    inside, outside = 1 / pairs, 1 / others
    across = inside + outside + 2 / np.maximum(size * rest, 1)
    order, width = np.argsort(like, kind="stable"), before.shape[2]
    own = (before * written).sum(2)
    both = np.concatenate([before, written, own[:, :, None]], axis=2)[order]
    total, of = own.sum(0), np.eye(len(CLASSES) + 1, dtype=both.dtype)[of_word[order], : len(CLASSES)].T

    def products(
        asked: Bool[np.ndarray, "head class"],
    ) -> Callable[[Int[np.ndarray, "draw word"]], Float[np.ndarray, "draw head class"]]:
        of_heads = [both[:, heads].reshape(len(order), -1) for heads in asked.T]

        def statistic(permuted: Int[np.ndarray, "draw word"]) -> Float[np.ndarray, "draw head class"]:
            values = np.zeros((len(permuted), *asked.shape))
            for i, heads in enumerate(asked.T):
                if heads.any():
                    sums = (of[i][permuted] @ of_heads[i]).reshape(len(permuted), -1, 2 * width + 1)
                    inner, own = np.einsum("phd,phd->ph", sums[:, :, :width], sums[:, :, width:-1]), sums[:, :, -1]
                    values[:, heads, i] = inner * across[i] - own * inside[i] - (total[heads] - own) * outside[i]
            return values

        return statistic

    found = products(np.ones(asked.T.shape, dtype=bool))(np.arange(len(order))[None])[0]
    return np.where(size > 1, stats.p_by_permuting(found, products, like[order], asked.T), np.nan).T
