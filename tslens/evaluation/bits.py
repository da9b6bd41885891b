"""Bits per byte of known text under a model: comparable between models of any tokenizer."""

import math

import numpy as np
from jaxtyping import Float, Int

from tslens import stats


def bits_per_byte(
    log_probability: Float[np.ndarray, " text"], sizes: Int[np.ndarray, " text"], clusters: Int[np.ndarray, " text"]
) -> stats.Interval:
    """The texts' summed log-probabilities (nats, turned into bits) over their UTF-8 bytes, with the 95% interval in
    clusters (`stats.ratio_of_sums`), never below 0. Texts whose log-probability is NaN are left out; NaN if none is
    left."""
    there = ~np.isnan(log_probability)
    if not there.any():
        return stats.Interval(np.nan, np.nan, np.nan, 0.95, "no text")
    _, of = np.unique(clusters[there], return_inverse=True)
    bits = -log_probability[there] / math.log(2)
    return stats.ratio_of_sums(np.bincount(of, bits), np.bincount(of, sizes[there])).within(0, math.inf)
