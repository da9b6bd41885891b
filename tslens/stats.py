"""How sure are we? Intervals, nulls and effect sizes for numbers read off models.

Every function takes NumPy arrays and is exact about one thing. An `Interval` is an estimate with its bounds. Heads
and neurons come by the thousand, so what can be vectorised is: arrays in, arrays out, of the same shape.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tslens.errors import InputError

Array = NDArray[np.floating[Any]]
ROWS = 256  # rows of scores that are ranked at a time, so that memory stays flat
Statistic = Callable[[NDArray[Any]], ArrayLike]


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval, in the units of what was estimated.

    The fields are floats, or arrays of one shape where many things were estimated at once.
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

    def __contains__(self, value: float) -> bool:
        """Whether the interval covers `value` (scalar intervals)."""
        return bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        """`0.52 [0.48, 0.56]`, for one estimate."""
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


def _mean_of_rows(rows: NDArray[Any]) -> ArrayLike:
    return np.asarray(rows.mean(0))


def mean_interval(values: ArrayLike, level: float = 0.95, axis: int = 0) -> Interval:
    """The mean along `axis` with Student's t interval (Student 1908); needs two values.

    Right where the values are independent and either many or about normal. For tokens of the same story, which
    are neither, use `bootstrap` with the stories as clusters.
    """
    from scipy import stats

    _check_level(level)
    x = np.asarray(values, dtype=float)
    n = x.shape[axis]
    if n < 2:
        raise InputError(f"a mean's interval needs at least 2 values; got {n}")
    mean = x.mean(axis)
    reach = stats.t.ppf((1 + level) / 2, n - 1) * x.std(axis, ddof=1) / np.sqrt(n)
    return Interval(_scalar(mean), _scalar(mean - reach), _scalar(mean + reach), level, "Student t")


def bootstrap(
    values: ArrayLike,
    statistic: Statistic = _mean_of_rows,
    n: int = 2000,
    seed: int = 0,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Interval:
    """`statistic(values)` with a bootstrap interval from `n` resamples of the rows.

    `statistic` takes rows and returns a number or an array (by default the mean over rows); bounds are elementwise.

    Without `clusters` single rows are drawn and the interval is BCa (Efron 1987, doi:10.2307/2289144). Where BCa is
    undefined (nothing varies), or with more than 5,000 rows, where its jackknife costs much and corrects nothing, it
    is the percentile interval. With `clusters`, one label per row, whole clusters are drawn (Davison and Hinkley
    1997, section 3.8) and the interval is the percentile one: the right choice for tokens, which hang together
    within a story.
    """
    _check_level(level)
    x = np.asarray(values)
    if len(x) < 2:
        raise InputError(f"a bootstrap needs at least 2 rows; got {len(x)}")
    rng = np.random.default_rng(seed)
    if clusters is None:
        draws = (rng.integers(0, len(x), len(x)) for _ in range(n))
    else:
        members = _members(np.asarray(clusters), len(x))
        picks = rng.integers(0, len(members), (n, len(members)))
        draws = (np.concatenate([members[i] for i in pick]) for pick in picks)
    estimate = np.asarray(statistic(x), dtype=float)
    resampled = np.stack([np.asarray(statistic(x[rows]), dtype=float) for rows in draws])
    if clusters is None and len(x) <= 5000:
        jackknife = np.stack([np.asarray(statistic(np.delete(x, i, axis=0)), dtype=float) for i in range(len(x))])
        low, high, method = _bca(estimate, resampled, jackknife, level)
    else:
        low, high = np.quantile(resampled, _tails(level), axis=0)
        method = "bootstrap, percentile" if clusters is None else "cluster bootstrap, percentile"
    return Interval(_scalar(estimate), _scalar(low), _scalar(high), level, method)


def wilson(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """A share `successes / n` with Wilson's score interval (Wilson 1927, doi:10.2307/2276774).

    Honest at 0 and at n, where the textbook interval has no width. Where n is 0 the share is NaN and the interval
    is [0, 1]. Elementwise over arrays.
    """
    from scipy import stats

    _check_level(level)
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(n, dtype=float))
    if (k < 0).any() or (k > total).any():
        raise InputError("successes must lie between 0 and n")
    z2 = stats.norm.ppf((1 + level) / 2) ** 2
    share = np.divide(k, total, out=np.full(k.shape, np.nan), where=total > 0)
    p = np.where(total > 0, share, 0.5)
    middle = (p * total + z2 / 2) / (total + z2)
    reach = np.sqrt(z2) * np.sqrt(p * (1 - p) * total + z2 / 4) / (total + z2)
    low = np.where(k == 0, 0.0, middle - reach)  # exact there; without this, rounding leaves 1e-17
    high = np.where(k == total, 1.0, middle + reach)
    return Interval(_scalar(share), _scalar(low), _scalar(high), level, "Wilson score")


def ratio_of_sums(over: ArrayLike, under: ArrayLike, level: float = 0.95) -> Interval:
    """`sum(over) / sum(under)`, one pair per cluster, with the linearised interval; NaN bounds for one cluster.

    For a mean over tokens that are drawn by the story (Cochran 1977, section 6.3; Miller 2024, arXiv 2411.00640,
    section 3): the two sums are each story's, and the stories may be of any lengths. Student's t with one degree of
    freedom fewer than clusters, because there may be few.
    """
    from scipy import stats

    _check_level(level)
    x, y = np.asarray(over, dtype=float), np.asarray(under, dtype=float)
    n, ratio = len(x), x.sum() / y.sum()
    error = np.sqrt(n / (n - 1) * ((x - ratio * y) ** 2).sum()) / y.sum() if n > 1 else np.nan
    reach = stats.t.ppf((1 + level) / 2, n - 1) * error
    return Interval(float(ratio), float(ratio - reach), float(ratio + reach), level, "linearised ratio")


def jackknife(estimate: ArrayLike, without: ArrayLike, level: float = 0.95) -> Interval:
    """An interval for any smooth statistic of sums over groups, from the statistic with each group left out.

    The delete-a-group jackknife (Quenouille 1956, doi:10.1093/biomet/43.3-4.353; Kott 2001, Journal of Official
    Statistics 17): `without` has the groups along its first axis and the shape of `estimate` after it. Student's t
    with one degree of freedom fewer than groups. For a corpus read in one pass: only sums per group are kept.
    """
    from scipy import stats

    _check_level(level)
    centre, error, freedom = _jackknife_error(estimate, without)
    reach = stats.t.ppf((1 + level) / 2, freedom) * error
    return Interval(
        _scalar(centre), _scalar(centre - reach), _scalar(centre + reach), level, "delete-a-group jackknife"
    )


def jackknife_p(estimate: ArrayLike, without: ArrayLike, null: ArrayLike = 0.0) -> Any:
    """One-sided p-values that the statistic is no greater than `null`, by the error and the t of `jackknife`.

    Where the statistic does not vary at all it is 0 above the null and 1 elsewhere.
    """
    from scipy import stats

    centre, error, freedom = _jackknife_error(estimate, without)
    distance = centre - np.asarray(null, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stats.t.sf(distance / error, freedom)
    p = np.where(error == 0, np.where(distance > 0, 0.0, 1.0), p)
    return _scalar(np.where(np.isnan(distance) | np.isnan(error), np.nan, p))


def _jackknife_error(estimate: ArrayLike, without: ArrayLike) -> tuple[Array, Array, int]:
    """The estimate, its standard error and the degrees of freedom."""
    centre, left = np.asarray(estimate, dtype=float), np.asarray(without, dtype=float)
    if left.shape[1:] != centre.shape:
        raise InputError(f"without must be groups x {centre.shape}; got {left.shape}")
    n = len(left)
    if n < 2:
        raise InputError(f"a jackknife needs at least 2 groups; got {n}")
    error = np.sqrt((n - 1) / n * ((left - left.mean(0)) ** 2).sum(0))
    return centre, np.where(error < 1e-12 * np.maximum(np.abs(centre), 1), 0.0, error), n - 1


def benjamini_hochberg(p: ArrayLike) -> Array:
    """q-values, one per p-value and in the same shape: the false discovery rate at which each would be called.

    Benjamini and Hochberg 1995 (doi:10.1111/j.2517-6161.1995.tb02031.x). NaN marks a test that was not made: it
    stays NaN and is not counted.
    """
    from scipy.stats import false_discovery_control

    values = np.asarray(p, dtype=float)
    made = ~np.isnan(values)
    tested = values[made]
    if ((tested < 0) | (tested > 1)).any():
        raise InputError("p-values must lie between 0 and 1")
    q = np.full(values.shape, np.nan)
    q[made] = false_discovery_control(tested)
    return q


def paired_difference(after: ArrayLike, before: ArrayLike, level: float = 0.95, axis: int = 0) -> Interval:
    """The mean of `after - before` with Student's t interval over the pairs, in the units of the two."""
    x, y = np.asarray(after, dtype=float), np.asarray(before, dtype=float)
    if x.shape != y.shape:
        raise InputError(f"pairs need two arrays of one shape; got {x.shape} and {y.shape}")
    interval = mean_interval(x - y, level, axis)
    return Interval(interval.estimate, interval.low, interval.high, level, "paired Student t")


@dataclass(frozen=True)
class Auroc(Interval):
    """Areas under the ROC curve with their intervals and p-values."""

    p: Any
    """One-sided p-value that the area is no greater than 0.5."""


def auroc(scores: ArrayLike, positive: ArrayLike, level: float = 0.95, *, enough: int = 2) -> Auroc:
    """The chance that a positive scores above a negative, ties counting half, with DeLong's interval, for each row.

    A row is the last axis; `positive` says which of its scores are positives (broadcast with `scores`). The area is NaN
    where a side is empty, interval and p where a side has fewer than `enough`.

    DeLong, DeLong and Clarke-Pearson 1988 (doi:10.2307/2531595), by ranks (Sun and Xu 2014,
    doi:10.1109/LSP.2014.2337313), so n log n and not n^2. The interval is clipped to [0, 1]; where positives and
    negatives do not overlap at all DeLong's variance is 0, and Hanley and McNeil's (1982,
    doi:10.1148/radiology.143.1.7063747) taken one half-pair short of perfect stands in for it.
    """
    from scipy.stats import norm

    _check_level(level)
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
    area, low, high, p = (_scalar(found.reshape(shape)) for found in (area, low, high, p))
    return Auroc(area, low, high, level, method, p)


def _delong(values: NDArray[Any], positive: NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
    """Area, DeLong's variance, and how many are positive and negative, for each row."""
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
    """Variance of an AUROC from its value and the two counts alone, scores taken as exponential (1982, see `auroc`)."""
    two_positives, two_negatives = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (m - 1) * (two_positives - area**2) + (n - 1) * (two_negatives - area**2)
    return np.asarray((area * (1 - area) + spread) / (m * n))


def _members(labels: NDArray[Any], rows: int) -> list[NDArray[np.intp]]:
    """The rows of each cluster."""
    if len(labels) != rows:
        raise InputError(f"clusters must label each row: {len(labels)} labels for {rows} rows")
    _, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise InputError("a cluster bootstrap needs at least 2 clusters; all rows have the same label")
    return np.split(np.argsort(cluster, kind="stable"), np.cumsum(sizes)[:-1])


def _bca(estimate: Array, resampled: Array, jackknife: Array, level: float) -> tuple[Array, Array, str]:
    """The bounds of BCa, elementwise; those of the percentile where bias or acceleration is undefined."""
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


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"a confidence level lies between 0 and 1, for instance 0.95; got {level}")


def _scalar(value: Any) -> Any:
    """A float for what has no axes, else the array."""
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array
