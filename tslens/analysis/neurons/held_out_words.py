"""The AUROC of a label over words: does it hold for words of a part of speech, or for one that is frequent?"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from tslens import stats

FEWEST = 3
"""Words on either side, below which nothing is said of others."""


def area_words(
    values: Float[np.ndarray, " token"],
    positive: Bool[np.ndarray, " token"],
    word: Int[np.ndarray, " token"],
    frequency: Int[np.ndarray, " token"],
) -> stats.Interval:
    """The mean over positive words of the AUROC that tells the tokens of each from negative tokens whose words are
    about as frequent (`stats.octave_bins`), with Student's interval over words: each word counts once, however
    frequent it is. It is an interval over words of the label, beside the other tokens as they are.
    NaN where fewer than `FEWEST` different words of either side have such others. Equal activations count half.
    """
    like = stats.octave_bins(frequency)
    n, m = np.bincount(like, positive), np.bincount(like, ~positive)
    paired = ((n > 0) & (m > 0))[like]
    if min(len(np.unique(word[paired & side])) for side in (positive, ~positive)) < FEWEST:
        return stats.Interval(np.nan, np.nan, np.nan, 0.95, "Student t")
    values, positive, word, like = (of[paired] for of in (values, positive, word, like))
    order = np.lexsort((values, like))
    of_bin, miss = like[order], ~positive[order]
    changes = (np.diff(values[order]) != 0) | (np.diff(of_bin) != 0)
    run = np.append(0, changes.cumsum())
    equal = np.bincount(run, miss)
    below = (equal.cumsum() - equal)[run] - (np.bincount(of_bin, miss).cumsum() - np.bincount(of_bin, miss))[of_bin]
    share = (below + equal[run] / 2) / np.bincount(of_bin, miss)[of_bin]
    which = np.unique(word[order][~miss], return_inverse=True)[1]
    found = stats.mean_interval(np.bincount(which, share[~miss]) / np.bincount(which))
    return dataclasses.replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
