"""How well does each neuron's activation tell some tokens of the random sample from the rest?"""

import dataclasses

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from tslens import stats

ENOUGH = 10  # tokens on either side, below which the normal approximation says too much
CHUNK = 256  # neurons at a time, so that memory stays flat


@dataclasses.dataclass(frozen=True)
class Separation:
    """AUROC of each neuron with its 95% interval, and the one-sided p-value that it is no greater than 0.5.

    The AUROC is NaN where a side is empty, interval and p where a side has fewer than `ENOUGH` tokens.
    """

    auroc: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]


def separation(values: Float[Tensor, "neurons sample"], inside: Bool[Tensor, "neurons sample"]) -> Separation:
    """The chance that a token inside excites the neuron more than one outside, ties counting half.

    DeLong's interval as in `stats.auroc` (one pair of samples there, thousands here), the tokens being independent
    draws from the corpus; n log n a neuron.
    """
    from scipy.stats import norm

    parts = zip(values.split(CHUNK), inside.split(CHUNK), strict=True)
    area, variance, m, k = (np.concatenate(column) for column in zip(*(_delong(*part) for part in parts), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.clip(area, 0.5 / (m * k), 1 - 0.5 / (m * k))  # half a pair short of perfect
        variance = np.where(variance > 0, variance, stats.hanley_mcneil(short, m, k))
        error = np.where(np.minimum(m, k) >= ENOUGH, np.sqrt(variance), np.nan)
        reach = norm.ppf(0.975) * error
        p = norm.sf((area - 0.5) / error)
    return Separation(area, np.maximum(area - reach, 0), np.minimum(area + reach, 1), p)


def _delong(values: Tensor, inside: Tensor) -> tuple[NDArray[np.float64], ...]:
    """Area, DeLong's variance, and how many tokens are inside and outside, for each row."""
    n = values.shape[1]
    ordered, order = values.sort(dim=1)
    hit = inside.gather(1, order).double()
    step = torch.arange(n).expand_as(order)
    fresh = torch.ones_like(ordered, dtype=torch.bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = torch.where(fresh, step, 0).cummax(1).values  # of the tokens that tie with each
    ends = torch.ones_like(fresh)
    ends[:, :-1] = fresh[:, 1:]
    last = torch.where(ends, step, n).flip(1).cummin(1).values.flip(1)
    upto = hit.cumsum(1)
    hits_below = ((upto - hit).gather(1, first) + upto.gather(1, last)) / 2
    below = (first + last + 1) / 2 - hits_below
    m = hit.sum(1)
    k, miss = n - m, 1 - hit
    over, under = below / k[:, None], 1 - hits_below / m[:, None]
    area = (over * hit).nansum(1) / m
    area[k == 0] = torch.nan
    apart = ((over - area[:, None]).square() * hit).sum(1) / (m - 1) / m
    apart += ((under - area[:, None]).square() * miss).sum(1) / (k - 1) / k
    return area.numpy(), apart.numpy(), m.numpy(), k.numpy()
