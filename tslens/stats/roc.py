"""Areas under ROC curves, for thousands of rows at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tslens.stats.intervals import Array, Interval, check_level, scalar

ROWS = 256  # rows of scores that are ranked at a time, so that memory stays flat


@dataclass(frozen=True)
class Auroc(Interval):
    """Areas under the ROC curve with their intervals and p-values."""

    p: Any
    """One-sided p-value of the hypothesis that the area is at most 0.5."""


def auroc(scores: ArrayLike, positive: ArrayLike, level: float = 0.95, *, enough: int = 2) -> Auroc:
    """The probability that a positive scores above a negative, ties counting half, with DeLong's interval, per row.

    A row is the last axis; `positive` marks its positive scores (broadcast with `scores`). The area is NaN if a class
    is empty, interval and p if a class has fewer than `enough`.

    DeLong, DeLong and Clarke-Pearson 1988 (doi:10.2307/2531595), by ranks (Sun and Xu 2014,
    doi:10.1109/LSP.2014.2337313), so n log n and not n^2. The interval is clipped to [0, 1]; where positives and
    negatives do not overlap at all DeLong's variance is 0, and is replaced by that of Hanley and McNeil (1982,
    doi:10.1148/radiology.143.1.7063747) at an area one half-pair below 1.
    """
    from scipy.stats import norm

    check_level(level)
    values, sides = np.broadcast_arrays(np.asarray(scores), np.asarray(positive, dtype=bool))
    shape, flat = values.shape[:-1], (-1, values.shape[-1])
    values, sides = values.reshape(flat), sides.reshape(flat)
    parts = [_delong(values[i : i + ROWS], sides[i : i + ROWS]) for i in range(0, len(values), ROWS)]
    area, variance, m, n = (np.concatenate(column) for column in zip(*parts, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = ~(variance > 0)
        variance = np.where(apart, hanley_mcneil(np.clip(area, 0.5 / (m * n), 1 - 0.5 / (m * n)), m, n), variance)
        error = np.where(np.minimum(m, n) >= enough, np.sqrt(variance), np.nan)
        p = norm.sf((area - 0.5) / error)
    reach = norm.ppf((1 + level) / 2) * error
    low, high = np.maximum(area - reach, 0.0), np.minimum(area + reach, 1.0)
    method = (
        "Hanley-McNeil" if apart.all() else "DeLong; Hanley-McNeil where nothing overlaps" if apart.any() else "DeLong"
    )
    area, low, high, p = (scalar(found.reshape(shape)) for found in (area, low, high, p))
    return Auroc(area, low, high, level, method, p)


def _delong(values: NDArray[Any], positive: NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
    """Area, DeLong's variance, and the numbers of positives and negatives, for each row."""
    count = values.shape[1]
    order = values.argsort(axis=1)
    ordered = np.take_along_axis(values, order, 1)
    hit = np.take_along_axis(positive, order, 1).astype(float)
    fresh, step = np.ones(ordered.shape, dtype=bool), np.arange(count)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(fresh, step, 0), axis=1)  # of the scores that tie with each
    ends = np.roll(fresh, -1, axis=1)
    last = np.minimum.accumulate(np.where(ends, step, count)[:, ::-1], axis=1)[:, ::-1]
    upto = hit.cumsum(1)
    hits_below = (np.take_along_axis(upto - hit, first, 1) + np.take_along_axis(upto, last, 1)) / 2
    m = hit.sum(1)
    n, miss = count - m, 1 - hit
    with np.errstate(divide="ignore", invalid="ignore"):
        over = ((first + last + 1) / 2 - hits_below) / n[:, None]  # for a positive, the share of negatives below it
        under = 1 - hits_below / m[:, None]  # for a negative, the share of positives above it
        area = np.where(n > 0, np.nansum(over * hit, axis=1) / m, np.nan)
        variance = ((over - area[:, None]) ** 2 * hit).sum(1) / (m - 1) / m
        variance += ((under - area[:, None]) ** 2 * miss).sum(1) / (n - 1) / n
    return area, variance, m, n


def hanley_mcneil(area: Array, m: Array, n: Array) -> Array:
    """Variance of an AUROC from its value and the two counts, assuming exponential scores (1982, see `auroc`)."""
    two_positives, two_negatives = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (m - 1) * (two_positives - area**2) + (n - 1) * (two_negatives - area**2)
    return np.asarray((area * (1 - area) + spread) / (m * n))
