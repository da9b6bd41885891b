"""Corrections for many tests."""

import numpy as np
from numpy.typing import ArrayLike

from tslens.stats.intervals import Array


def benjamini_hochberg(p: ArrayLike) -> Array:
    """q-values, one per p-value and in the same shape: the false discovery rate at which each would be called.

    Benjamini and Hochberg 1995 (doi:10.1111/j.2517-6161.1995.tb02031.x). NaN marks a test that was not
    made: it stays NaN and is not counted.
    """
    from scipy.stats import false_discovery_control

    values = np.asarray(p, dtype=float)
    made = ~np.isnan(values)
    tested = values[made]
    if ((tested < 0) | (tested > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    q = np.full(values.shape, np.nan)
    q[made] = false_discovery_control(tested)
    return q
