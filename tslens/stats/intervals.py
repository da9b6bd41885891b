"""Confidence intervals of means, shares and ratios, and of any statistic by the jackknife over groups."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tslens.errors import InputError

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval, in the units of the estimate.

    The fields are floats, or arrays of one shape for many estimates at once.
    """

    estimate: Any
    low: Any
    high: Any
    level: float
    method: str

    @property
    def halfwidth(self) -> Any:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def within(self, least: float, most: float) -> "Interval":
        """The part of the interval in which the value can lie."""
        low, high = np.clip(self.low, least, most), np.clip(self.high, least, most)
        return replace(self, low=scalar(low), high=scalar(high))

    def said(self, form: str = ".2f") -> str:
        """The estimate and its bounds in words, each in this format; that there are none where they are NaN."""
        bound = form.lstrip("+")
        bounds = "no interval" if np.isnan(self.low) else f"{self.low:{bound}} to {self.high:{bound}}"
        return f"{self.estimate:{form}} ({bounds})"

    def __contains__(self, value: float) -> bool:
        """Whether the interval covers `value` (scalar intervals)."""
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        """`0.52 [0.48, 0.56]`, for one estimate."""
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


def mean_interval(
    values: ArrayLike, level: float = 0.95, axis: int = 0, *, least_error: float = 0.0, where: ArrayLike = True
) -> Interval:
    """The mean along `axis` of the values `where` they count, with Student's t interval (Student 1908); needs two.

    Valid if the values are independent and either many or roughly normal. For tokens of the same story, which are
    dependent, use `ratio_of_sums`. A standard error below `least_error` is raised to it: rounded values that happen to
    be equal do not decide.
    """
    from scipy import stats

    check_level(level)
    x = np.asarray(values, dtype=float)
    counted = np.broadcast_to(np.asarray(where, dtype=bool), x.shape)
    n = counted.sum(axis)
    if (fewest := int(n.min(initial=x.shape[axis]))) < 2:
        raise InputError(f"a mean's interval needs at least 2 values; got {fewest}")
    mean = x.mean(axis, where=counted)
    error = np.maximum(x.std(axis, ddof=1, where=counted) / np.sqrt(n), least_error)
    reach = stats.t.ppf((1 + level) / 2, n - 1) * error
    return Interval(scalar(mean), scalar(mean - reach), scalar(mean + reach), level, "Student t")


def paired_difference(after: ArrayLike, before: ArrayLike, level: float = 0.95, axis: int = 0) -> Interval:
    """The mean of `after - before` with Student's t interval over the pairs, in the units of the two."""
    x, y = np.asarray(after, dtype=float), np.asarray(before, dtype=float)
    if x.shape != y.shape:
        raise ValueError(f"pairs need two arrays of one shape; got {x.shape} and {y.shape}")
    interval = mean_interval(x - y, level, axis)
    return Interval(interval.estimate, interval.low, interval.high, level, "paired Student t")


def welch(x: ArrayLike, y: ArrayLike, level: float = 0.95, *, least_error: float = 0.0) -> Interval:
    """The mean of `x` less that of `y`, independent of it, with Welch's interval (Welch 1947, doi:10.2307/2332510).

    Needs two values of each. Where neither varies, the interval has no width, unless there is a `least_error`, which is
    that of `mean_interval`.
    """
    from scipy import stats

    check_level(level)
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if min(len(a), len(b)) < 2:
        raise InputError(f"a difference of means needs at least 2 values of each; got {len(a)} and {len(b)}")
    difference = float(a.mean() - b.mean())
    of_a, of_b = (float(one.var(ddof=1)) / len(one) for one in (a, b))
    freedom = len(a) + len(b) - 2.0
    if (both := of_a + of_b) > 0:
        freedom = both**2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    reach = float(stats.t.ppf((1 + level) / 2, freedom)) * max(both**0.5, least_error)
    return Interval(difference, difference - reach, difference + reach, level, "Welch t")


def calibrated_mean(values: ArrayLike, error: float, n: int, level: float = 0.95) -> Interval:
    """The mean of values on a scale whose zero was itself estimated from `n` others, with this standard error.

    As Welch's interval, with the error of the scale in the place of the second mean's.
    """
    from scipy import stats

    check_level(level)
    x = np.asarray(values, dtype=float)
    if min(len(x), n) < 2:
        raise InputError(f"a mean on an estimated scale needs at least 2 values and 2 others; got {len(x)} and {n}")
    own, scale, freedom = float(x.var(ddof=1)) / len(x), error**2, len(x) + n - 2.0
    if (both := own + scale) > 0:
        freedom = both**2 / (own**2 / (len(x) - 1) + scale**2 / (n - 1))
    mean, reach = float(x.mean()), float(stats.t.ppf((1 + level) / 2, freedom)) * both**0.5
    return Interval(mean, mean - reach, mean + reach, level, "Welch t, with the error of the scale")


def wilson(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """A share `successes / n` with Wilson's score interval (Wilson 1927, doi:10.2307/2276774).

    Valid at 0 and at n, where the Wald interval has no width. For n = 0 the share is NaN and the interval is [0, 1].
    Elementwise over arrays.
    """
    from scipy import stats

    check_level(level)
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(n, dtype=float))
    if (k < 0).any() or (k > total).any():
        raise ValueError("successes must lie between 0 and n")
    z2 = stats.norm.ppf((1 + level) / 2) ** 2
    share = np.divide(k, total, out=np.full(k.shape, np.nan), where=total > 0)
    p = np.where(total > 0, share, 0.5)
    middle = (p * total + z2 / 2) / (total + z2)
    reach = np.sqrt(z2) * np.sqrt(p * (1 - p) * total + z2 / 4) / (total + z2)
    low = np.where(k == 0, 0.0, middle - reach)  # exact there; without this, rounding leaves 1e-17
    high = np.where(k == total, 1.0, middle + reach)
    return Interval(scalar(share), scalar(low), scalar(high), level, "Wilson score")


def ratio_of_sums(over: ArrayLike, under: ArrayLike, level: float = 0.95, *, least_error: float = 0.0) -> Interval:
    """`sum(over) / sum(under)`, one pair per cluster, with the linearised interval; NaN bounds for one cluster.

    For a mean over tokens sampled by story (Cochran 1977, section 6.3; Miller 2024, arXiv 2411.00640, section 3): one
    pair of sums per story; stories may have any length. Few stories of unequal length need a larger variance and fewer
    degrees of freedom than stories less one (see `clustered_variance`). `least_error` is that of `mean_interval`.
    """
    from scipy import stats

    check_level(level)
    x, y = np.asarray(over, dtype=float), np.asarray(under, dtype=float)
    ratio = x.sum() / y.sum()
    variance, freedom = clustered_variance((x - ratio * y) / y.sum(), y / y.sum())
    reach = stats.t.ppf((1 + level) / 2, freedom) * np.maximum(np.sqrt(variance), least_error)
    return Interval(float(ratio), float(ratio - reach), float(ratio + reach), level, "linearised ratio")


def clustered_variance(residuals: Array, shares: Array) -> tuple[Array, Array]:
    """Variance of a ratio of sums, and the degrees of freedom of Student's t for it; NaN for one cluster.

    Clusters are the last axis: `residuals` are `(over - ratio * under) / sum(under)`, `shares` are
    `under / sum(under)`. A cluster that has a large share draws the ratio towards itself, so its residual is too small:
    it is divided by what is left of its variance, and Satterthwaite's degrees of freedom count clusters by their share
    (bias-reduced linearisation; Bell and McCaffrey 2002, Survey Methodology 28:169; Imbens and Kolesár 2016,
    doi:10.1162/REST_a_00552). The variance is unbiased where the clusters' own ratios vary alike. With equal shares
    these are the usual variance and the number of clusters less one.
    """
    total = (shares**2).sum(-1, keepdims=True)
    left = 1 - 2 * shares + total  # of the variance of a cluster's own ratio
    left = np.where(left > 1e-12, left, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (residuals**2 / left).sum(-1)
        # The variance is a quadratic form in the clusters' ratios, with the matrix M'DM, where M takes off the ratio.
        weight = shares**2 / left
        d0, d1, d2 = ((weight * shares**k).sum(-1) for k in range(3))
        s = total[..., 0]
        square = (weight**2 * (1 + 2 * (total - 2 * shares))).sum(-1)
        square += s**2 * d0**2 + 2 * d0 * d2 + 2 * d1**2 - 4 * s * d0 * d1
        return np.asarray(variance), np.asarray(s**2 / square)


def jackknife(estimate: ArrayLike, without: ArrayLike, level: float = 0.95) -> Interval:
    """An interval for any smooth statistic of sums over groups, from the statistic with each group left out.

    The delete-a-group jackknife (Quenouille 1956, doi:10.1093/biomet/43.3-4.353; Kott 2001, Journal of Official
    Statistics 17): `without` has the groups along its first axis and the shape of `estimate` after it. Student's t
    with one degree of freedom fewer than groups. For a corpus read in one pass: only sums per group are kept.
    """
    from scipy.special import stdtrit  # the quantiles of `scipy.stats.t`, which takes ten times as long for one

    check_level(level)
    centre, error, freedom = _jackknife_error(estimate, without)
    reach = stdtrit(freedom, (1 + level) / 2) * error
    return Interval(scalar(centre), scalar(centre - reach), scalar(centre + reach), level, "delete-a-group jackknife")


def jackknife_p(estimate: ArrayLike, without: ArrayLike, null: ArrayLike = 0.0, *, least_error: float = 0.0) -> Any:
    """One-sided p-values that the statistic is at most `null`, by the standard error and the t of `jackknife`.

    If the statistic does not vary at all, p is 0 above the null and 1 elsewhere. A standard error below `least_error`
    is raised to it, so that rounding does not decide.
    """
    from scipy.special import stdtr

    centre, error, freedom = _jackknife_error(estimate, without)
    error = np.maximum(error, least_error)
    distance = centre - np.asarray(null, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(freedom, -distance / error)
    p = np.where(error == 0, np.where(distance > 0, 0.0, 1.0), p)
    return scalar(np.where(np.isnan(distance) | np.isnan(error), np.nan, p))


def _jackknife_error(estimate: ArrayLike, without: ArrayLike) -> tuple[Array, Array, int]:
    """The estimate, its standard error and the degrees of freedom."""
    centre, left = np.asarray(estimate, dtype=float), np.asarray(without, dtype=float)
    if left.shape[1:] != centre.shape:
        raise ValueError(f"without must be groups x {centre.shape}; got {left.shape}")
    n = len(left)
    if n < 2:
        raise InputError(f"a jackknife needs at least 2 groups; got {n}")
    error = np.sqrt((n - 1) / n * ((left - left.mean(0)) ** 2).sum(0))
    return centre, np.where(error < 1e-12 * np.maximum(np.abs(centre), 1), 0.0, error), n - 1


def check_level(level: float) -> None:
    """InputError for a confidence level outside 0 to 1."""
    if not 0 < level < 1:
        raise InputError(f"a confidence level lies between 0 and 1, for instance 0.95; got {level}")


def scalar(value: Any) -> Any:
    """A float for an array without axes, else the array."""
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array
