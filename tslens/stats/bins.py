"""Bins of whole numbers that tell neighbours apart by a share of their size."""

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray

EXACT, OF_OCTAVE = 8, 4


def octave_bins(n: Int[np.ndarray, "*axes"]) -> NDArray[np.int64]:
    """The bin of each number, from 1: up to 8 each number is a bin of its own, then an octave has four.

    Numbers of one bin differ by less than a fifth. The bins are those of a logarithmic scale that is linear at its
    beginning.
    """
    number = np.asarray(n, dtype=np.int64)
    fine = np.floor(OF_OCTAVE * np.log2(np.maximum(number, 1))).astype(np.int64)
    bins: NDArray[np.int64] = np.where(number < EXACT, number, fine - (OF_OCTAVE * (EXACT.bit_length() - 1) - EXACT))
    return bins
