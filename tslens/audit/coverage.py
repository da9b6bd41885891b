"""Does a simulated interval cover the truth, and is a simulated p-value uniform?

Intervals are of two sorts. Those of one sort cover 95%, and fail if they cover less or more. Those of the other are
conservative (counts, kinds of keys, areas and shares near 1, the positional fraction of few stories, and how rarely p
over words is small): they may cover more, and fail only if they cover less.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tslens.stats import Interval

LEVEL = 0.95
EXACT, AT_LEAST, UNIFORM = "covers 95%", "covers 95% or more", "uniform p"
"""The two sorts of intervals, and p-values."""
CONSERVATIVE = "counts, kinds of keys, areas and shares near 1, fractions of few stories, p over words"
REJECTED = 0.001
POWER = 0.8
"""With which the least detectable effect is detected."""


@dataclass(frozen=True)
class Simulated:
    """An interval or p-value over simulated corpora."""

    name: str
    kind: str
    """One of `EXACT`, `AT_LEAST` and `UNIFORM`."""
    value: float
    """The share of corpora whose interval covers the truth; of p-values the largest distance from uniform."""
    runs: int
    """Corpora."""
    p: float
    """That the coverage is 95% (of `AT_LEAST`: 95% or more), or the p-values uniform."""

    @property
    def passes(self) -> bool:
        """Whether the test does not reject it."""
        return self.p >= REJECTED

    @property
    def detectable(self) -> float:
        """The distance from 95%, or from uniform, that so many corpora show with a probability of `POWER`."""
        return _distance(self.runs) if self.kind == UNIFORM else _missed_coverage(self.runs, self.kind == AT_LEAST)


def passed(kind: str, value: float, p: float, runs: int) -> str:
    """`no`, `yes`, or of intervals that surely cover more than 95%, as they may, `conservative`."""
    from scipy.stats import binom

    if p < REJECTED:
        return "no"
    surely_more = kind == AT_LEAST and binom.sf(round(value * runs) - 1, runs, LEVEL) < REJECTED
    return "conservative" if surely_more else "yes"


def wrong_intervals(
    names: Sequence[str], kinds: Sequence[str], values: Sequence[float], p: Sequence[float]
) -> list[str]:
    """What is wrong with intervals and p-values, one phrase each."""
    rows = zip(names, kinds, values, p, strict=True)
    return [
        f"{name} is not uniform (distance {value:.3f})" if kind == UNIFORM else f"{name}: coverage {value:.3f}"
        for name, kind, value, p_ in rows
        if p_ < REJECTED
    ]


def sorts(kinds: Sequence[str]) -> str:
    """How many intervals of each sort there are, where none is rejected."""
    exact, more = (list(kinds).count(kind) for kind in (EXACT, AT_LEAST))
    return (
        f"{exact} simulated intervals cover 95% and {more} cover 95% or more, which fail only below it ({CONSERVATIVE})"
    )


def one_sided(names: Sequence[str], kinds: Sequence[str], values: Sequence[float], runs: int) -> str:
    """How many intervals are tested on one side only, and which of them surely cover more than 95%."""
    found = list(zip(names, kinds, values, strict=True))
    wide = [f"{name} ({value:.3f})" for name, kind, value in found if passed(kind, value, 1.0, runs) == "conservative"]
    less, intervals = list(kinds).count(AT_LEAST), len(found) - list(kinds).count(UNIFORM)
    return (
        f"{less} of {intervals} intervals ({CONSERVATIVE}) fail only where they cover less than 95%: one that is too "
        f"wide passes. Surely more than 95% cover: {', '.join(wide) or 'none'}."
    )


def sort_of(kinds: Iterable[str]) -> str:
    """The sort of the intervals that a label rests on; where both are among them, those near 1 may cover more."""
    found = set(kinds)
    return found.pop() if len(found) == 1 else f"{EXACT}, near 1 or more"


def _missed_coverage(runs: int, least: bool) -> float:
    """How far below 95% a coverage is that is rejected with a probability of `POWER`."""
    from scipy.stats import binom

    hits = np.arange(runs + 1)
    p, likely = binom.cdf(hits, runs, LEVEL), binom.pmf(hits, runs, LEVEL)
    if not least:
        order = np.argsort(likely, kind="stable")
        p[order] = likely[order].cumsum()  # exact, two-sided: all numbers of hits that are as unlikely
    lowest = int(hits[p >= REJECTED].min())
    missed = np.arange(0, LEVEL, 0.001)
    found = missed[binom.cdf(lowest - 1, runs, LEVEL - missed) >= POWER]
    return float(found[0]) if len(found) else LEVEL


def _distance(runs: int) -> float:
    """The largest distance between two distribution functions that is rejected with a probability of `POWER`, at the
    least: where they differ most, the share of p-values below is binomial."""
    from scipy.stats import kstwo, norm

    return float(min(kstwo.isf(REJECTED, runs) + norm.ppf(POWER) * 0.5 / math.sqrt(runs), 1.0))


def covered(name: str, interval: Interval, truth: float | NDArray[np.float64], *, least: bool = False) -> Simulated:
    """How often intervals, one for each simulated corpus, hold the truth: 95% of them, or that at the `least`."""
    from scipy.stats import binomtest

    hits = (np.asarray(interval.low) <= truth) & (truth <= np.asarray(interval.high))
    test = binomtest(int(hits.sum()), int(hits.size), LEVEL, alternative="less" if least else "two-sided")
    return Simulated(name, AT_LEAST if least else EXACT, float(hits.mean()), int(hits.size), float(test.pvalue))


def uniform(name: str, p: NDArray[np.float64]) -> Simulated:
    """Whether p-values under the null are uniform."""
    from scipy.stats import kstest

    test = kstest(p, "uniform")
    return Simulated(name, UNIFORM, float(test.statistic), int(p.size), float(test.pvalue))
