"""Does a model copy what it has read twice? Its losses over rows of repeated text."""

import math
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tslens import stats


@dataclass(frozen=True)
class Copying:
    """Whether a model copies: its loss over rows of text that is read twice, nats per token.

    A model that has learnt no copying does as badly in the second half as in the first, or worse. What its heads do
    there is then no evidence of what they are for.
    """

    first: float
    """Mean loss of the first half, which nothing repeated predicts."""
    second: float
    """Mean loss of the second half, from its second token on: the first cannot be known to repeat."""
    chance: float
    """Loss of a uniform guess, ln of the vocabulary's size."""
    copies: bool
    """Whether the second half is below the first and below chance: the upper ends of both 95% intervals over rows."""

    def __str__(self) -> str:
        does = "the model copies" if self.copies else "the model does not copy, so they are no evidence"
        halves = f"loss {self.second:.2f} in the second half, {self.first:.2f} in the first"
        return f"{does}: {halves}, chance {self.chance:.2f}"


def copying(losses: Float[Tensor, "row pos_minus_1"], d_vocab: int) -> Copying:
    """Whether a model copies, from the loss of every token but BOS of rows `BOS r1 ... rL r1 ... rL` (two or more)."""
    length = losses.shape[1] // 2
    first, second = (of.double().mean(1).cpu().numpy() for of in (losses[:, :length], losses[:, length + 1 :]))
    gain, below, chance = stats.paired_difference(second, first), stats.mean_interval(second), math.log(d_vocab)
    return Copying(float(first.mean()), float(second.mean()), chance, bool(gain.high < 0 and below.high < chance))
