"""Intervals, nulls and effect sizes for numbers
read off models.

Every function takes NumPy arrays and is exact about one thing. An `Interval` is an estimate with its bounds. Heads
and neurons come by the thousand, so what can be vectorised is: arrays in, arrays out, of the same shape.
"""

from tslens.stats.intervals import (
    Interval,
    jackknife,
    jackknife_p,
    mean_interval,
    paired_difference,
    ratio_of_sums,
    wilson,
)
from tslens.stats.multiple import benjamini_hochberg
from tslens.stats.resampling import bootstrap
from tslens.stats.roc import Auroc, auroc, hanley_mcneil

__all__ = [
    "Auroc",
    "Interval",
    "auroc",
    "benjamini_hochberg",
    "bootstrap",
    "hanley_mcneil",
    "jackknife",
    "jackknife_p",
    "mean_interval",
    "paired_difference",
    "ratio_of_sums",
    "wilson",
]
