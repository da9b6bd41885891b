"""Bootstrap intervals."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tslens.errors import InputError
from tslens.stats.intervals import Array, Interval, check_level, scalar

Statistic = Callable[[NDArray[Any]], ArrayLike]


def _mean_of_rows(rows: NDArray[Any]) -> ArrayLike:
    return np.asarray(rows.mean(0))


def bootstrap(
    values: ArrayLike,
    statistic: Statistic = _mean_of_rows,
    n: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """`statistic(values)` with a bootstrap interval from `n` resamples of the rows.

    `statistic` takes rows and returns a number or an array (by default the mean over rows); bounds are elementwise.

    The interval is BCa (Efron 1987, doi:10.2307/2289144). Where BCa is undefined (nothing varies), or with more than
    5,000 rows, where its jackknife is expensive and corrects nothing, it is the percentile interval. For rows that come
    in clusters use `ratio_of_sums` or `jackknife` over the clusters, and for fewer than some 30 rows `mean_interval` or
    `jackknife`: resamples of a few have too little spread.
    """
    check_level(level)
    x = np.asarray(values)
    if len(x) < 2:
        raise InputError(f"a bootstrap needs at least 2 rows; got {len(x)}")
    rng = np.random.default_rng(seed)
    draws = (rng.integers(0, len(x), len(x)) for _ in range(n))
    estimate = np.asarray(statistic(x), dtype=float)
    resampled = np.stack([np.asarray(statistic(x[rows]), dtype=float) for rows in draws])
    if len(x) <= 5000:
        jackknife = np.stack([np.asarray(statistic(np.delete(x, i, axis=0)), dtype=float) for i in range(len(x))])
        low, high, method = _bca(estimate, resampled, jackknife, level)
    else:
        low, high = np.quantile(resampled, _tails(level), axis=0)
        method = "bootstrap, percentile"
    return Interval(scalar(estimate), scalar(low), scalar(high), level, method)


def _bca(estimate: Array, resampled: Array, jackknife: Array, level: float) -> tuple[Array, Array, str]:
    """The bounds of BCa, elementwise; percentile bounds where bias or acceleration is undefined."""
    from scipy.special import ndtr, ndtri

    deviation = jackknife.mean(0) - jackknife
    spread = (deviation**2).sum(0) ** 1.5
    below = ((resampled < estimate).mean(0) + (resampled <= estimate).mean(0)) / 2
    defined = (spread > 0) & (below > 0) & (below < 1)
    acceleration = (deviation**3).sum(0) / (6 * np.where(defined, spread, 1.0))
    bias = ndtri(np.where(defined, below, 0.5))
    bounds = []
    for tail in _tails(level):
        shifted = bias + ndtri(tail)
        wanted = np.where(defined, ndtr(bias + shifted / (1 - acceleration * shifted)), tail)
        columns = zip(resampled.reshape(len(resampled), -1).T, wanted.ravel(), strict=True)
        bounds.append(np.reshape([np.quantile(column, q) for column, q in columns], estimate.shape))
    method = "bootstrap, BCa" if defined.all() else "bootstrap, percentile where BCa is undefined"
    return bounds[0], bounds[1], method


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2
