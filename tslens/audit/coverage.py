"""Does a simulated interval cover the truth, and is a simulated p-value uniform?"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tslens.stats import Interval

LEVEL = 0.95
REJECTED = 0.001
POWER = 0.8
"""With which the least detectable effect is detected."""


@dataclass(frozen=True)
class Simulated:
    """An interval or p-value over simulated corpora."""

    name: str
    kind: str
    """`coverage`, or `uniform p`."""
    value: float
    """The share of corpora whose interval covers the truth; of p-values the largest distance from uniform."""
    runs: int
    """Corpora."""
    p: float
    """That the coverage is 95%, or the p-values uniform."""

    @property
    def passes(self) -> bool:
        """Whether the test does not reject it."""
        return self.p >= REJECTED

    @property
    def detectable(self) -> float:
        """The distance from 95%, or from uniform, that so many corpora show with a probability of `POWER`."""
        return _missed_coverage(self.runs) if self.kind == "coverage" else _distance(self.runs)


def _missed_coverage(runs: int) -> float:
    """How far below 95% a coverage is that is rejected with a probability of `POWER`."""
    from scipy.stats import binom

    hits = np.arange(runs + 1)
    likely = binom.pmf(hits, runs, LEVEL)
    order = np.argsort(likely, kind="stable")
    p = np.empty(runs + 1)
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
    return Simulated(name, "coverage", float(hits.mean()), int(hits.size), float(test.pvalue))


def uniform(name: str, p: NDArray[np.float64]) -> Simulated:
    """Whether p-values under the null are uniform."""
    from scipy.stats import kstest

    test = kstest(p, "uniform")
    return Simulated(name, "uniform p", float(test.statistic), int(p.size), float(test.pvalue))
