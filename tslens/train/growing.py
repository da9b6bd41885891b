"""How does a batch grow? A run may begin with small batches: while the loss still falls fast, the noise of a gradient
is small beside it, and more steps learn more than larger ones (McCandlish et al. 2018, arXiv 1812.06162).
"""

import dataclasses
from bisect import bisect_left

from tslens.train.data import Batch, Batches, joined

QUARTERS = 4


def seen(step: int, growing: int) -> int:
    """Quarters before a step, where batches grow for `growing` steps."""
    return step + sum(max(0, step + (-part * growing) // (QUARTERS - 1)) for part in range(1, QUARTERS))


def needed(quarters: int, growing: int) -> int:
    """The fewest steps that see so many quarters."""
    return bisect_left(range(quarters), quarters, key=lambda step: seen(step, growing))


@dataclasses.dataclass(frozen=True)
class Growing:
    """Batches of one, two, three quarters, each for a third of `steps`, then whole ones.

    Every quarter is seen, in the order of `quarters`, so the rows of a step are still a function of (data, seed, step).
    """

    quarters: Batches
    """Whose step is a quarter of a batch."""
    steps: int

    def size(self, step: int) -> int:
        """Quarters of a step, counted from 0."""
        return min(QUARTERS, 1 + (QUARTERS - 1) * step // self.steps)

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of the first epoch was seen."""
        return needed(self.quarters.steps_per_epoch, self.steps)

    def batch(self, step: int) -> Batch:
        """The rows of a step, counted from 0."""
        first = seen(step, self.steps)
        return joined([self.quarters.batch(i) for i in range(first, first + self.size(step))])

    def facts(self) -> dict[str, int]:
        """What a run records of its data."""
        return self.quarters.facts()
