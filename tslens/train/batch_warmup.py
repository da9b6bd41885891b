"""Batch-size warm-up in the first steps of a run.

While the loss falls fast, gradient noise is relatively small, and more steps learn more than larger batches (McCandlish
et al. 2018, arXiv 1812.06162).
"""

import dataclasses
from bisect import bisect_left

from tslens.train.data import Batches, TrainingBatch, concatenate

QUARTERS = 4


def quarters_before(step: int, warmup: int) -> int:
    """Quarters of a batch that are seen before a step, if batches grow for `warmup` steps."""
    return step + sum(max(0, step + (-part * warmup) // (QUARTERS - 1)) for part in range(1, QUARTERS))


def steps_for(quarters: int, warmup: int) -> int:
    """The fewest steps that see this many quarters."""
    return bisect_left(range(quarters), quarters, key=lambda step: quarters_before(step, warmup))


@dataclasses.dataclass(frozen=True)
class GrowingBatches:
    """Batches of one, two, three quarters, each for a third of `steps`, then whole ones.

    Every quarter is seen, in the order of `quarters`, so the rows of a step are still a function of (data, seed, step).
    """

    quarters: Batches
    """Batches of which each is a quarter of a whole batch."""
    steps: int

    def size(self, step: int) -> int:
        """Quarters of a step, counted from 0."""
        return min(QUARTERS, 1 + (QUARTERS - 1) * step // self.steps)

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of the first epoch was seen."""
        return steps_for(self.quarters.steps_per_epoch, self.steps)

    def batch(self, step: int) -> TrainingBatch:
        """The rows of a step, counted from 0."""
        first = quarters_before(step, self.steps)
        return concatenate([self.quarters.batch(i) for i in range(first, first + self.size(step))])

    def facts(self) -> dict[str, int]:
        """Facts about the data that a run records."""
        return self.quarters.facts()
