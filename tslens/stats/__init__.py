"""Intervals, nulls and effect sizes for measurements of models.

Every function takes NumPy arrays. An `Interval` is an estimate with its bounds. There are thousands of heads and
neurons, so functions are vectorised where possible: arrays in, arrays of the same shape out.
"""

from tslens.stats.bins import octave_bins
from tslens.stats.clustered import clustered_share, macro_mean, macro_share, mean_share, share_difference
from tslens.stats.intervals import (
    Interval,
    calibrated_mean,
    jackknife,
    jackknife_p,
    mean_interval,
    paired_difference,
    ratio_of_sums,
    welch,
    wilson,
)
from tslens.stats.multiple import benjamini_hochberg
from tslens.stats.permuted import like_classes, p_by_permuting, p_of_counts, p_of_permuted, p_of_sums
from tslens.stats.ranks import argsort_falling, mean_ranks, rank_p
from tslens.stats.resampling import bootstrap
from tslens.stats.roc import Auroc, auroc, hanley_mcneil

__all__ = [
    "Auroc",
    "Interval",
    "argsort_falling",
    "auroc",
    "benjamini_hochberg",
    "bootstrap",
    "calibrated_mean",
    "clustered_share",
    "hanley_mcneil",
    "jackknife",
    "jackknife_p",
    "like_classes",
    "macro_mean",
    "macro_share",
    "mean_interval",
    "mean_ranks",
    "mean_share",
    "octave_bins",
    "p_by_permuting",
    "p_of_counts",
    "p_of_permuted",
    "p_of_sums",
    "paired_difference",
    "rank_p",
    "ratio_of_sums",
    "share_difference",
    "welch",
    "wilson",
]
