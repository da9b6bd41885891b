"""How does a batch grow? A run may begin with small batches: while the loss still falls fast, the noise of a gradient
is small beside it, and more steps learn more than larger ones (McCandlish et al. 2018, arXiv 1812.06162).
"""

import dataclasses

import numpy as np

from tslens.train.data import Batch, Batches, joined

QUARTERS = 4


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

    def seen(self, step: int) -> int:
        """Quarters before a step."""
        return step + sum(max(0, step + (-part * self.steps) // (QUARTERS - 1)) for part in range(1, QUARTERS))

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of the first epoch was seen."""
        want = self.quarters.steps_per_epoch
        ends = np.cumsum([self.size(step) for step in range(self.steps)])
        if want <= ends[-1]:
            return int(np.searchsorted(ends, want)) + 1
        return self.steps + -(-(want - int(ends[-1])) // QUARTERS)

    def batch(self, step: int) -> Batch:
        """The rows of a step, counted from 0."""
        first = self.seen(step)
        return joined([self.quarters.batch(i) for i in range(first, first + self.size(step))])

    def facts(self) -> dict[str, int]:
        """What a run records of its data."""
        return self.quarters.facts()
