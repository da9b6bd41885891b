"""Areas under ROC curves, for thousands of rows at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tslens.stats.intervals import Array, Interval, check_level, scalar

ROWS = 256  # rows of scores that are ranked at a time, so that memory stays flat
PRIOR = 2
"""Degrees of freedom that the variance of normal or exponential scores counts for, beside that of the scores."""


@dataclass(frozen=True)
class Auroc(Interval):
    """Areas under the ROC curve with their intervals and p-values."""

    p: Any
    """One-sided p-value of the hypothesis that the area is at most 0.5."""


def auroc(
    scores: ArrayLike,
    positive: ArrayLike,
    level: float = 0.95,
    *,
    clusters: ArrayLike | None = None,
    enough: int = 2,
) -> Auroc:
    """The probability that a positive scores above a negative, ties counting half, with its interval, per row.

    A row is the last axis; `positive` marks its positive scores (broadcast with `scores`). `clusters` labels the scores
    of all rows: those of one story are alike. The area is NaN if a class is empty, interval and p if a class has fewer
    than `enough` scores, or all of them in one cluster.

    The error is that of DeLong, DeLong and Clarke-Pearson (1988, doi:10.2307/2531595), by ranks (Sun and Xu 2014,
    doi:10.1109/LSP.2014.2337313), so n log n and not n^2; clusters are the units as in Obuchowski (1997,
    doi:10.2307/2533958). Few positives near 1 vary less than others would: the variance is drawn towards that of
    Newcombe's method 5 (2006, doi:10.1002/sim.2324), which counts as `PRIOR` degrees of freedom (as in Smyth 2004,
    doi:10.2202/1544-6115.1027). The interval is symmetric in the area's logit, with Student's t and the degrees of
    freedom of the rarer class. From 10 normal positives it covers 95 to 96%, where DeLong's own covers 88%; where one
    positive in six does not differ from a negative, 10 positives are too few (85%) and 30 nearly enough (92%).
    """
    check_level(level)
    values, sides = np.broadcast_arrays(np.asarray(scores), np.asarray(positive, dtype=bool))
    shape, flat = values.shape[:-1], (-1, values.shape[-1])
    values, sides = values.reshape(flat), sides.reshape(flat)
    of = None if clusters is None else _grouped(np.asarray(clusters), values.shape[1])
    found = [_delong(values[i : i + ROWS], sides[i : i + ROWS], of) for i in range(0, len(values), ROWS)]
    area, variance, freedom, m, n = (np.concatenate(column) for column in zip(*found, strict=True))
    low, high, p = _by_logit(area, variance, freedom, m, n, level)
    few = np.minimum(m, n) < enough
    low, high, p = (np.where(few, np.nan, found) for found in (low, high, p))
    area, low, high, p = (scalar(found.reshape(shape)) for found in (area, low, high, p))
    return Auroc(area, low, high, level, "DeLong, moderated, by logit and t", p)


def _by_logit(
    area: Array, variance: Array, freedom: Array, m: Array, n: Array, level: float
) -> tuple[Array, Array, Array]:
    """Both ends of the interval, and the p-value."""
    from scipy.special import expit, logit
    from scipy.stats import t

    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.clip(area, 0.5 / (m * n), 1 - 0.5 / (m * n))
        error, centre = np.sqrt(variance) / (inside * (1 - inside)), logit(inside)
        reach = t.ppf((1 + level) / 2, freedom) * error
        low, high = expit(centre - reach), expit(centre + reach)
        p = t.sf(centre / error, freedom)
    known = ~np.isnan(low)
    return np.where(known & (area == 0), 0.0, low), np.where(known & (area == 1), 1.0, high), p


def _grouped(clusters: NDArray[Any], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """An order that brings the scores of a cluster together, and where each cluster begins in it."""
    if clusters.shape != (count,):
        raise ValueError(f"clusters must label each score: {clusters.shape} labels for {count} scores")
    _, cluster, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    return np.argsort(cluster, kind="stable"), np.cumsum(sizes) - sizes


def _delong(
    values: NDArray[Any], positive: NDArray[np.bool_], of: tuple[NDArray[np.intp], NDArray[np.intp]] | None
) -> tuple[Array, Array, Array, Array, Array]:
    """Area, its variance and degrees of freedom, and the numbers of positives and negatives, for each row."""
    order = values.argsort(axis=1)
    hit = np.take_along_axis(positive, order, 1).astype(float)
    m, miss = hit.sum(1), 1 - hit
    n = miss.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        over, under = _placements(np.take_along_axis(values, order, 1), hit, m, n)
        area = np.where(n > 0, np.nansum(over * hit, axis=1) / m, np.nan)
        over = np.where(hit > 0, over - area[:, None], 0.0) / m[:, None]
        under = np.where(miss > 0, under - area[:, None], 0.0) / n[:, None]
        variance = of_scores = sum((r**2).sum(1) * k / (k - 1) for r, k in ((over, m), (under, n)))
        fewest = np.minimum(m, n)
        if of is not None:
            variance, fewest = _of_clusters((over, under), (hit, miss), order, *of)
        alike = np.where(of_scores > 0, variance / of_scores, 1)  # effect of the design
        prior = alike * newcombe(np.clip(area, 0.5 / (m * n), 1 - 0.5 / (m * n)), m, n)
        variance = ((fewest - 1) * variance + PRIOR * prior) / (fewest - 1 + PRIOR)
    return area, variance, fewest - 1 + PRIOR, m, n


def _placements(ordered: NDArray[Any], hit: Array, m: Array, n: Array) -> tuple[Array, Array]:
    """Of ordered scores: for a positive the share of negatives below it, for a negative that of positives above it."""
    count = ordered.shape[1]
    fresh, step = np.ones(ordered.shape, dtype=bool), np.arange(count)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(fresh, step, 0), axis=1)  # of the scores that tie with each
    ends = np.roll(fresh, -1, axis=1)
    last = np.minimum.accumulate(np.where(ends, step, count)[:, ::-1], axis=1)[:, ::-1]
    upto = hit.cumsum(1)
    hits_below = (np.take_along_axis(upto - hit, first, 1) + np.take_along_axis(upto, last, 1)) / 2
    return ((first + last + 1) / 2 - hits_below) / n[:, None], 1 - hits_below / m[:, None]


def _of_clusters(
    residuals: tuple[Array, Array],
    having: tuple[Array, Array],
    order: NDArray[np.intp],
    together: NDArray[np.intp],
    begins: NDArray[np.intp],
) -> tuple[Array, Array]:
    """The variance where clusters are the units, and in how many there are scores of the class that is in fewer."""

    def by_cluster(ordered: Array) -> Array:
        back = np.empty_like(ordered)
        np.put_along_axis(back, order, ordered, 1)
        return np.asarray(np.add.reduceat(back[:, together], begins, axis=1))

    numbers = [(by_cluster(has) > 0).sum(1).astype(float) for has in having]
    factors = [np.sqrt(k / np.where(k > 1, k - 1, np.nan))[:, None] for k in numbers]
    whole = sum(by_cluster(r) * f for r, f in zip(residuals, factors, strict=True))
    return np.asarray(whole**2).sum(1), np.minimum(*numbers)


def hanley_mcneil(area: Array, m: Array, n: Array) -> Array:
    """Variance of an AUROC from its value and the two counts, assuming exponential scores (1982, see `auroc`)."""
    two_positives, two_negatives = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (m - 1) * (two_positives - area**2) + (n - 1) * (two_negatives - area**2)
    return np.asarray((area * (1 - area) + spread) / (m * n))


def newcombe(area: Array, m: Array, n: Array) -> Array:
    """Variance of an AUROC by Newcombe's method 5: Hanley and McNeil's, with the mean count for each of the two."""
    each = (m + n) / 2
    return np.asarray(hanley_mcneil(area, each, each) * each**2 / (m * n))
