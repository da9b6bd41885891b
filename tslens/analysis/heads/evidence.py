"""Measures of every head with intervals and p-values, from sums per group of stories."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.sums import Sums

ROUNDING = 1e-6  # the sums come from float32: what varies by less is not known to vary at all
MIN_GROUPS = 4  # with fewer groups of stories an interval says nothing, and is NaN


@dataclass(frozen=True)
class GroupEstimate:
    """A number for every head, and the same number with each group of stories left out."""

    value: Tensor
    without: Float[Tensor, "group *axes"]

    @cached_property
    def interval(self) -> tuple[Tensor, Tensor]:
        """Both ends of the 95% interval."""
        if len(self.without) < MIN_GROUPS:
            nothing = torch.full_like(self.value, torch.nan)
            return nothing, nothing
        interval = stats.jackknife(self.value.numpy(), self.without.numpy())
        return torch.as_tensor(interval.low), torch.as_tensor(interval.high)

    def p_above(self, null: float) -> np.ndarray:
        """One-sided p-values that the number is no greater than `null`."""
        if len(self.without) < MIN_GROUPS:
            return np.full(self.value.shape, np.nan)
        return np.asarray(stats.jackknife_p(self.value.numpy(), self.without.numpy(), null, least_error=ROUNDING))

    def p_other(self, null: float) -> np.ndarray:
        """Two-sided p-values that the number is `null`."""
        below = GroupEstimate(-self.value, -self.without).p_above(-null)
        return np.asarray((2 * np.minimum(self.p_above(null), below)).clip(max=1))

    @property
    def bias(self) -> Tensor:
        """Bias from the finite number of stories, to first order (Quenouille 1956)."""
        return (len(self.without) - 1) * (self.without.mean(0) - self.value)

    def __sub__(self, other: "GroupEstimate") -> "GroupEstimate":
        return GroupEstimate(self.value - other.value, self.without - other.without)


def ratio(over: Float[Tensor, "group ..."], under: Float[Tensor, "group ..."]) -> GroupEstimate:
    """The sum of `over` divided by the sum of `under`; NaN where the latter is 0."""

    def divide(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(b > 0, a / b, torch.nan)

    return GroupEstimate(divide(over.sum(0), under.sum(0)), divide(over.sum(0) - over, under.sum(0) - under))


def positional_fraction(sums: Sums, visible: Float[Tensor, "layer query key"]) -> GroupEstimate:
    """1 - E[KL(P || mean pattern over other stories)] / E[KL(P || uniform over what the query sees)], by head.

    Split-half: the even groups are scored against the mean pattern of the odd groups and vice versa, so no story is
    compared with a mean that includes it. One story's worth of uniform attention is added to each mean; otherwise a
    key that one half never attends to would make the divergence infinite. 1: the same pattern in every story.
    0 or less: the mean over other stories predicts a story no better than uniform attention does.
    """
    halves = [torch.arange(len(sums.stories)) % 2 == h for h in (0, 1)]
    at_position = [sums.at_position[half].sum(0) for half in halves]
    compared = torch.stack(at_position).amin(0) > 0
    uniform = (visible / visible.sum(-1, keepdim=True))[:, None]  # [layer, 1, query, key]
    to_uniform = sums.at_position[:, None] * visible.sum(-1).log()  # [group, layer, query]
    pattern = [sums.pattern[half].sum(0) for half in halves]

    def cross(scored: Tensor, mean_of: Tensor, count: Tensor) -> Tensor:
        mean = (mean_of + uniform) / (count + 1)[:, None]
        return -(torch.xlogy(scored, mean.clamp(min=1e-12)) * compared[:, None]).sum((-2, -1)).double()

    both = [cross(pattern[h], pattern[1 - h], at_position[1 - h]) for h in (0, 1)]
    entropy = (sums.pattern_entropy * compared).sum(-1)
    log_n = (to_uniform * compared).sum(-1)[..., None]

    def fraction(crossed: Tensor, entropy: Tensor, log_n: Tensor) -> Tensor:
        from_uniform = log_n - entropy
        return torch.where(from_uniform > 0, 1 - (crossed - entropy) / from_uniform, torch.nan)

    value = fraction(both[0] + both[1], entropy.sum(0), log_n.sum(0))
    without = []
    for g in range(len(sums.stories)):
        own, other = g % 2, 1 - g % 2
        less, fewer = pattern[own] - sums.pattern[g], at_position[own] - sums.at_position[g]
        crossed = cross(less, pattern[other], at_position[other]) + cross(pattern[other], less, fewer)
        without.append(fraction(crossed, entropy.sum(0) - entropy[g], log_n.sum(0) - log_n[g]))
    return GroupEstimate(value, torch.stack(without))


def offset_mass(sums: Sums) -> Float[Tensor, "layer head offset"]:
    """Mean attention to the key `offset` tokens back, BOS excluded, over the queries that have such a key."""
    total, count = sums.pattern.sum(0).double(), sums.at_position.sum(0)
    n = total.shape[-1]
    rows = []
    for offset in range(n - 1):
        mass = torch.diagonal(total, -offset, -2, -1)[..., 1:].sum(-1)  # the first is on BOS
        rows.append(mass / count[offset + 1 :].sum().clamp(min=1))
    return torch.stack(rows, dim=-1)
