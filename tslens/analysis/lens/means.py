"""Means per token with intervals over stories, from sums by group of stories."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import stats
from tslens.errors import InputError

FEWEST = 4  # groups behind an interval


class Means(NamedTuple):
    """A mean and its 95% interval."""

    mean: Float[Tensor, "*axes"]
    low: Float[Tensor, "*axes"]
    high: Float[Tensor, "*axes"]

    def named(self, name: str) -> dict[str, Tensor]:
        """The three as fields of a Result: `name`, `name_low`, `name_high`."""
        ends = self.within() if name.endswith("agreement") else self
        return {f"{name}{end}": part for end, part in zip(("", "_low", "_high"), ends, strict=True)}

    def within(self) -> "Means":
        """Of a share: its interval ends where the share does, at 0 and at 1."""
        return Means(self.mean, self.low.clamp(0, 1), self.high.clamp(0, 1))


def means(sums: Float[Tensor, "group *axes"], tokens: Float[Tensor, "group *counted"]) -> Means:
    """The means per token over all groups, with the delete-a-group jackknife; `tokens` broadcast against `sums`.

    NaN for a mean of no token, and for the ends of an interval over fewer than four groups, or of what one group alone
    has. InputError if there is no token at all.
    """
    some = tokens.reshape(len(tokens), -1).sum(1) > 0
    if not some.any():
        raise InputError("No story has two tokens: there is nothing to predict. Give stories of at least a word.")
    sums, tokens = sums[some].double(), tokens[some].double()
    whole, counted = sums.sum(0), tokens.sum(0)
    mean = whole / counted
    low = high = torch.full_like(mean, torch.nan)
    if len(sums) >= FEWEST:
        without = (whole - sums) / (counted - tokens)
        interval = stats.jackknife(mean.numpy(), without.numpy())
        low, high = torch.as_tensor(interval.low), torch.as_tensor(interval.high)
    return Means(mean.float(), low.float(), high.float())
