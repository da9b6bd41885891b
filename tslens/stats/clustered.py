"""Shares, their differences and their means, over items that may come in clusters."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from tslens.stats.intervals import Array, Interval, check_level, clustered_variance, mean_interval, welch, wilson


def clustered_share(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of values between 0 and 1 with Wilson's interval, at the number of values that the clusters are worth.

    Values of one cluster are correlated: n values count as n / (the variance over clusters by that of independent
    values), Kish's design effect, at least 1; and as many clusters as there are where nothing varies. Few clusters
    count less, by the squares of the normal and of Student's quantile (Korn and Graubard 1998, Survey Methodology
    24:193; Dean and Pagano 2015, doi:10.1093/jssam/smv024).
    """
    from scipy import stats

    check_level(level)
    x, (_, cluster) = np.asarray(values, dtype=float), np.unique(np.asarray(clusters), return_inverse=True)
    sizes, n, share = np.bincount(cluster), len(x), float(x.mean())
    alone, worth = share * (1 - share) / n, float(len(sizes))
    if alone > 0 and len(sizes) > 1:
        variance, freedom = clustered_variance(_sums(x - share, clusters) / n, sizes / n)
        few = (stats.norm.ppf((1 + level) / 2) / stats.t.ppf((1 + level) / 2, freedom)) ** 2
        worth = float(n / max(1.0, float(variance) / alone) * few)
    return dataclasses.replace(wilson(share * worth, worth, level), estimate=share, method="Wilson score, clustered")


def mean_share(values: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of independent values between 0 and 1, as `macro_share` of one stratum; needs two."""
    n = len(np.asarray(values))
    return macro_share(values, np.zeros(n), np.arange(n), level)


PSEUDO = (-(0.5**0.5), 0.5**0.5)
"""Two more differences, of the same sum and sum of squares as half a one, half a minus one and a zero."""


def share_difference(differences: ArrayLike, less: ArrayLike | None = None, level: float = 0.95) -> Interval:
    """The mean of differences of two paired shares, or that mean `less` the mean of other, independent differences.

    Two pseudo-observations keep the interval from having no width where all are equal (Agresti and Min 2005,
    doi:10.1002/sim.1781; in each of two samples as Agresti and Caffo 2000, doi:10.2307/2685779). Student's t, or
    Welch's; each difference lies between -1 and 1. Needs a value of each.
    """
    x = np.asarray(differences, dtype=float)
    if less is None:
        found, estimate = mean_interval([*x, *PSEUDO], level), x.mean()
    else:
        y = np.asarray(less, dtype=float)
        found, estimate = welch([*x, *PSEUDO], [*y, *PSEUDO], level), x.mean() - y.mean()
    return dataclasses.replace(found, estimate=float(estimate), method=f"{found.method}, two pseudo-observations")


def macro_mean(values: ArrayLike, strata: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """The mean over strata of their means, with Student's t interval: the strata are fixed, and clusters are drawn in
    each.

    A stratum of one cluster does not tell its variance: it has the largest that values between the least and the
    largest of all can have (Popoviciu 1935), so the interval is too long rather than too short. NaN bounds for a single
    value.
    """
    from scipy import stats

    check_level(level)
    mean, error, freedom, _ = _macro(values, strata, clusters)
    reach = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    return Interval(mean, mean - reach, mean + reach, level, "mean of strata, clustered, Student t")


def macro_share(values: ArrayLike, strata: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """`macro_mean` of values between 0 and 1, with Wilson's interval at the number of values that its variance is worth
    (see `clustered_share`), so that a mean near 0 or 1 has its width; NaN bounds where that has them."""
    from scipy import stats

    check_level(level)
    mean, error, freedom, n = _macro(values, strata, clusters)
    if not np.isfinite(error):
        return Interval(mean, np.nan, np.nan, level, "Wilson score of strata")
    share, tail = min(max(mean, 0.0), 1.0), (1 + level) / 2
    few = (float(stats.norm.ppf(tail)) / float(stats.t.ppf(tail, freedom))) ** 2
    worth = few * (share * (1 - share) / error**2 if error > 0 else n)
    return dataclasses.replace(wilson(share * worth, worth, level), estimate=share, method="Wilson score of strata")


def _macro(values: ArrayLike, strata: ArrayLike, clusters: ArrayLike) -> tuple[float, float, int, int]:
    """The mean over strata, its standard error, the degrees of freedom, and the number of clusters of all strata."""
    x, of, groups = np.asarray(values, dtype=float), np.asarray(strata), np.asarray(clusters)
    means, variance, alone, n = [], 0.0, 0, 0
    for stratum in np.unique(of):
        here = of == stratum
        means.append(float(x[here].mean()))
        sums = _sums(x[here] - means[-1], groups[here])
        n += len(sums)
        if len(sums) > 1:
            variance += float((sums**2).sum()) / int(here.sum()) ** 2 * len(sums) / (len(sums) - 1)
        else:
            alone += 1
    if alone:
        variance += alone * float(np.ptp(x)) ** 2 / 4 if len(x) > 1 else np.nan
    return float(np.mean(means)), variance**0.5 / len(means), max(n - len(means), alone - 1, 1), n


def _sums(values: Array, clusters: ArrayLike) -> Array:
    """The sum of the values of each cluster."""
    _, of = np.unique(np.asarray(clusters), return_inverse=True)
    return np.bincount(of, weights=values).astype(float)
