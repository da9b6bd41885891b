"""Measures of every head with intervals and p-values, from sums per group of stories."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.sums import Sums
from tslens.halves import FEWEST, GROUPS, halves

ROUNDING = 1e-6  # the sums come from float32: what varies by less is not known to vary at all
MIN_GROUPS = 4  # with fewer groups of stories an interval says nothing, and is NaN


Answer = TypeVar("Answer")
GROUPED = ("stories", "queries", "excess")


@runtime_checkable
class GroupSums(Protocol):
    """A dataclass of sums by group of stories: how many stories there are, queries, and what heads have in excess."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    stories: Tensor
    queries: Tensor
    excess: Tensor


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
    def unbiased(self) -> "GroupEstimate":
        """The same without its bias from the finite number of stories, to first order (Quenouille 1956); unchanged with
        too few groups for an interval."""
        if len(self.without) < MIN_GROUPS:
            return self
        bias = (len(self.without) - 1) * (self.without.mean(0) - self.value)
        return GroupEstimate(self.value - bias, self.without - bias)

    def __sub__(self, other: "GroupEstimate") -> "GroupEstimate":
        return GroupEstimate(self.value - other.value, self.without - other.without)


def on_halves(state: GroupSums, answer: Callable[[Any], Answer]) -> list[Answer]:
    """The answers on balanced halves of the stories (`tslens.halves`), given what they are for sums of some of their
    groups; none of too few stories."""
    group, found = torch.arange(len(state.stories)), []
    for half in halves() if int(state.stories.sum()) >= FEWEST else ():
        rows = torch.isin(group % GROUPS, torch.tensor(half))
        found.append(answer(replace(state, **{name: getattr(state, name)[rows] for name in GROUPED})))
    return found


def ratio(over: Float[Tensor, "group ..."], under: Float[Tensor, "group ..."]) -> GroupEstimate:
    """The sum of `over` divided by the sum of `under`; NaN where the latter is 0."""

    def divide(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(b > 0, a / b, torch.nan)

    return GroupEstimate(divide(over.sum(0), under.sum(0)), divide(over.sum(0) - over, under.sum(0) - under))


def positional_fraction(sums: Sums, visible: Float[Tensor, "layer query key"]) -> GroupEstimate:
    """1 - E[KL(P || mean pattern over other stories)] / E[KL(P || uniform over what the query sees)], by head.

    Every group is scored against the mean pattern of the other groups, so no story is compared with a mean that
    includes it. One story's worth of uniform attention is added to each mean; otherwise a key that the others never
    attend to would make the divergence infinite. A mean over few stories is noisy, and its noise looks like what
    depends on the story: this bias, of the order of one over their number, is removed (`GroupEstimate.unbiased`).
    1: the same pattern in every story. 0 or less: the mean over other stories predicts a story no better than uniform
    attention does. Positions that only one group reaches are left out.
    """
    compared = (sums.at_position > 0).sum(0) > 1
    to_uniform = sums.at_position[:, None] * visible.sum(-1).log()  # [group, layer, query]
    log_n = (to_uniform * compared).sum(-1)[..., None]
    entropy = (sums.pattern_entropy * compared).sum(-1)
    seen = visible * compared[:, None] > 0
    layers = [_cross_entropies(sums, layer, seen[layer]) for layer in range(len(visible))]
    crossed, without = (torch.stack(part, -2) for part in zip(*layers, strict=True))

    def fraction(crossed: Tensor, entropy: Tensor, log_n: Tensor) -> Tensor:
        from_uniform = log_n - entropy
        return torch.where(from_uniform > 0, 1 - (crossed - entropy) / from_uniform, torch.nan)

    value = fraction(crossed, entropy.sum(0), log_n.sum(0))
    return GroupEstimate(value, fraction(without, entropy.sum(0) - entropy, log_n.sum(0) - log_n)).unbiased


def _cross_entropies(
    sums: Sums, layer: int, seen: Bool[Tensor, "query key"]
) -> tuple[Float[Tensor, " head"], Float[Tensor, "group head"]]:
    """The cross-entropy of every group's attention with the mean over the other groups, summed over groups; and the
    same with each group left out."""
    query = seen.nonzero()[:, 0]
    pattern = sums.pattern[:, layer][:, :, seen].double()  # [group, head, cell]
    count, uniform = sums.at_position[:, None, query], 1 / seen.sum(-1)[query]
    total, of_all = pattern.sum(0), count.sum(0)
    crossed, without = pattern.new_zeros(pattern.shape[1]), pattern.new_zeros(pattern.shape[:2])
    for g in range(len(pattern)):  # each group alone, then in pairs with those after it
        rest, number = total - pattern[g], of_all - count[g]
        crossed -= torch.linalg.vecdot(pattern[g], _log_mean(rest, uniform, number))
        log_mean = _log_mean(rest - pattern[g + 1 :], uniform, number - count[g + 1 :])
        without[g] -= torch.linalg.vecdot(pattern[g + 1 :], log_mean).sum(0)
        without[g + 1 :] -= torch.linalg.vecdot(pattern[g], log_mean)
    return crossed, without


def _log_mean(summed: Tensor, uniform: Float[Tensor, " cell"], stories: Tensor) -> Tensor:
    """The logarithm of a mean pattern, uniform attention of one story included."""
    return ((summed.clamp(min=0) + uniform) / (stories + 1)).log()


def offset_mass(sums: Sums) -> Float[Tensor, "layer head offset"]:
    """Mean attention to the key `offset` tokens back, BOS excluded, over the queries that have such a key."""
    total, count = sums.pattern.sum(0).double(), sums.at_position.sum(0)
    n = total.shape[-1]
    rows = []
    for offset in range(n - 1):
        mass = torch.diagonal(total, -offset, -2, -1)[..., 1:].sum(-1)  # the first is on BOS
        rows.append(mass / count[offset + 1 :].sum().clamp(min=1))
    return torch.stack(rows, dim=-1)
