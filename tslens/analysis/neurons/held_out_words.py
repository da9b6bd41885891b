"""The AUROC of a label over words: does it hold for words of a part of speech, or for one that is frequent?"""

import numpy as np
from jaxtyping import Int

from tslens import stats
from tslens.analysis.neurons.held_out_pairs import Sides, placed, sum_by

FEWEST = 3
"""Words on either side, below which nothing is said of others."""


def area_words(sides: Sides, word: Int[np.ndarray, " token"], frequency: Int[np.ndarray, " token"]) -> stats.Interval:
    """For each label the mean over positive words of the AUROC that tells the tokens of each from negative tokens whose
    words are about as frequent (`stats.octave_bins`), with Student's interval over words: each word counts once,
    however frequent it is. It is an interval over words of the label, beside the other tokens as they are.
    NaN where fewer than `FEWEST` different words of either side have such others. Equal activations count half.
    """
    like, number = stats.octave_bins(frequency), np.unique(word, return_inverse=True)[1]
    words, bins = int(number.max()) + 1, int(like.max()) + 1
    n, m = (sum_by(like, side, bins) for side in (sides.positive, sides.negative))
    paired = ((n > 0) & (m > 0))[:, like]
    times, others = (sum_by(number, side & paired, words) for side in (sides.positive, sides.negative))
    total = np.empty(times.shape)
    for part in placed(sides, like):
        share = part.below * part.positive / np.take_along_axis(m[part.rows], like[part.token], 1).clip(min=1)
        total[part.rows] = sum_by(number[part.token], share, words)
    enough = np.minimum((times > 0).sum(1), (others > 0).sum(1)) >= FEWEST
    estimate, low, high = np.full((3, len(n)), np.nan)
    if enough.any():
        means = total[enough] / times[enough].clip(min=1)
        found = stats.mean_interval(means, axis=1, where=times[enough] > 0)
        estimate[enough], low[enough], high[enough] = found.estimate, found.low.clip(min=0), found.high.clip(max=1)
    return stats.Interval(estimate, low, high, 0.95, "Student t")
