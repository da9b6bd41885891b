"""Ratios of times taken in turns, with their intervals.

Both sides take turns on the same machine in the same run (ABAB…), so that other load affects both. Each turn gives one
ratio; their median is reported with its bootstrap interval over the turns.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tslens.stats import Interval

if TYPE_CHECKING:
    from tslens.bench.size import Size

Work = Callable[[], object]


@dataclass(frozen=True)
class Target:
    """The lower or upper bound that a number must meet."""

    limit: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        """Whether a value meets the target."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g}"


@dataclass(frozen=True)
class Measured:
    """One number with its interval, and the measurements behind it."""

    value: float
    low: float
    high: float
    repeats: int
    """number of turns, stories or other units of the interval; 1 if the number is exact"""
    ours: str = ""
    """the measurement on our side, with its unit"""
    theirs: str = ""
    """the measurement on the other side, with its unit"""

    @classmethod
    def exactly(cls, value: float, ours: str = "", theirs: str = "") -> "Measured":
        """A number without randomness, such as a count."""
        return cls(value, value, value, 1, ours, theirs)


@dataclass(frozen=True)
class Benchmark:
    """One row of the table."""

    name: str
    what: str
    against: str
    target: Target | None
    """None if the number is shown for comparison only"""
    run: Callable[["Size"], Measured]
    unit: str = "×"

    def verdict(self, measured: Measured) -> str:
        """`pass` or `short`, by the median; empty without a target."""
        if self.target is None:
            return ""
        return "pass" if self.target.met(measured.value) else "short"


@contextmanager
def _frozen() -> Iterator[None]:
    """Freeze the objects alive now, so that garbage collection before a turn scans only objects from the turns."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def seconds(work: Work) -> float:
    """Wall-clock seconds of the work, once. Work that returns a float has timed itself."""
    gc.collect()
    began = time.perf_counter()
    timed = work()
    return timed if isinstance(timed, float) else time.perf_counter() - began


def take_turns(*works: Work, repeats: int) -> np.ndarray:
    """Seconds `[repeat, work]`, measured in turns after one unmeasured turn of each."""
    with _frozen():
        for work in works:
            seconds(work)
        return np.array([[seconds(work) for work in works] for _ in range(repeats)])


def faster(ours: np.ndarray, theirs: np.ndarray, *, units: float, unit: str) -> Measured:
    """Our speed relative to theirs, from the seconds of both in the same turns; a turn did `units` of work."""
    ratio = median(theirs / ours)
    speeds = [f"{units / np.median(spent):,.0f} {unit}/s" for spent in (ours, theirs)]
    return Measured(float(ratio.estimate), float(ratio.low), float(ratio.high), len(ours), *speeds)


def clocked(work: Work, *, repeats: int) -> Measured:
    """Seconds of the work, after one unmeasured turn."""
    spent = median(take_turns(work, repeats=repeats)[:, 0])
    return Measured(float(spent.estimate), float(spent.low), float(spent.high), repeats)


def median(values: Sequence[float] | np.ndarray) -> Interval:
    """The median with a percentile bootstrap interval (BCa's jackknife does not suit a median)."""
    rows = np.asarray(values, dtype=float)
    if len(rows) < 2:
        return Interval(rows[0], rows[0], rows[0], 0.95, "one value")
    from scipy.stats import bootstrap

    ends = bootstrap((rows,), np.median, n_resamples=2000, axis=0, method="percentile", rng=0).confidence_interval
    return Interval(np.median(rows, axis=0), ends.low, ends.high, 0.95, "bootstrap, percentile")
