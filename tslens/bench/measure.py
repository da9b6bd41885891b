"""Ratios of times taken in turns, with their intervals.

Both take turns on the same machine in the same run (ABAB…), so that whatever else the machine does hits both. Each
turn gives one ratio; the median of them is reported with its bootstrap interval over the turns.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tslens.stats import Interval, bootstrap

if TYPE_CHECKING:
    from tslens.bench.size import Size

Work = Callable[[], object]


@dataclass(frozen=True)
class Target:
    """What a number must reach, or must not pass."""

    limit: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        """Whether a value is good enough."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g}"


@dataclass(frozen=True)
class Measured:
    """One number with its interval, and what it was made from."""

    value: float
    low: float
    high: float
    repeats: int
    """turns, stories or whatever the interval is over; 1 where the number is exact"""
    ours: str = ""
    """what was measured on our side, with its unit"""
    theirs: str = ""
    """and on the other side"""

    @classmethod
    def exactly(cls, value: float, ours: str = "", theirs: str = "") -> "Measured":
        """A count: no chance in it."""
        return cls(value, value, value, 1, ours, theirs)


@dataclass(frozen=True)
class Benchmark:
    """One row of the table."""

    name: str
    what: str
    against: str
    target: Target | None
    """None where the number is shown beside another and nothing was promised"""
    run: Callable[["Size"], Measured]
    unit: str = "×"

    def verdict(self, measured: Measured) -> str:
        """`pass` or `short`, by the median; empty where there is no target."""
        if self.target is None:
            return ""
        return "pass" if self.target.met(measured.value) else "short"


@contextmanager
def _frozen() -> Iterator[None]:
    """Set aside what is alive now, so that collecting garbage before a turn looks only at what the turns left."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def seconds(work: Work) -> float:
    """Seconds by the clock that the work takes once. A work that returns a float has timed itself."""
    gc.collect()
    began = time.perf_counter()
    told = work()
    return told if isinstance(told, float) else time.perf_counter() - began


def take_turns(*works: Work, repeats: int) -> np.ndarray:
    """Seconds of each, `[repeat, work]`, taken in turns after one unmeasured turn of each."""
    with _frozen():
        for work in works:
            seconds(work)
        return np.array([[seconds(work) for work in works] for _ in range(repeats)])


def faster(ours: np.ndarray, theirs: np.ndarray, *, units: float, unit: str) -> Measured:
    """How many times as fast ours is, from the seconds of both in the same turns; a turn did `units` of work."""
    ratio = median(theirs / ours)
    speeds = [f"{units / np.median(spent):,.0f} {unit}/s" for spent in (ours, theirs)]
    return Measured(float(ratio.estimate), float(ratio.low), float(ratio.high), len(ours), *speeds)


def clocked(work: Work, *, repeats: int) -> Measured:
    """Seconds that the work takes, after one unmeasured turn."""
    spent = median(take_turns(work, repeats=repeats)[:, 0])
    return Measured(float(spent.estimate), float(spent.low), float(spent.high), repeats)


def median(values: Sequence[float] | np.ndarray) -> Interval:
    """The median with a percentile bootstrap interval (a median has no use for BCa's jackknife)."""
    rows = np.asarray(values, dtype=float)
    if len(rows) < 2:
        return Interval(rows[0], rows[0], rows[0], 0.95, "one value")
    return bootstrap(rows, lambda drawn: np.median(drawn, axis=0), clusters=np.arange(len(rows)))
