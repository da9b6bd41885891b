"""AUROC, precision, recall and purity of a label for one activation, with intervals clustered by story."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tslens import stats

MEASURES = ("auroc", "precision", "recall", "purity", "base_rate")
AUROC = MEASURES.index("auroc")
GROUPS = 10
"""Groups of stories behind an interval."""
ENOUGH = 10
"""Tokens on either side, below which nothing is said."""


@dataclass(frozen=True)
class LabelScores:
    """The measures of one label, in the order of `MEASURES`, with their 95% intervals."""

    value: Float[np.ndarray, " measure"]
    low: Float[np.ndarray, " measure"]
    high: Float[np.ndarray, " measure"]
    p: float
    """One-sided p-value that the AUROC is at most 0.5."""


def measured(
    values: Float[np.ndarray, " token"],
    positive: Bool[np.ndarray, " token"],
    group: Int[np.ndarray, " token"],
    threshold: float,
) -> LabelScores:
    """The measures over all tokens; the jackknife leaves out one group of stories at a time. NaN where either side has
    fewer than `ENOUGH` tokens, intervals also where all tokens of a side are of one group.

    The stories are the unit, because tokens of one story are alike: an interval over tokens is too narrow (a test
    simulates both). It speaks of other stories with such words, not of other words.
    """
    n, hits = len(values), int(positive.sum())
    nothing = np.full(len(MEASURES), np.nan)
    if min(hits, n - hits) < ENOUGH:
        return LabelScores(nothing, nothing, nothing, np.nan)
    found = leaving_out(values, positive, group, threshold)
    value, without = found[0], found[1:]
    if len(without) < 2:
        return LabelScores(value, nothing, nothing, np.nan)
    interval = stats.jackknife(value, without)
    low, high = interval.low.clip(0, 1), interval.high.clip(0, 1)
    if low[AUROC] == high[AUROC]:  # nothing overlaps in any group: the jackknife knows of no error, but there is one
        reach = 2 * _error_by_tokens(value[AUROC], hits, n - hits)
        low[AUROC], high[AUROC] = max(value[AUROC] - reach, 0.0), min(value[AUROC] + reach, 1.0)
    p = stats.jackknife_p(value[AUROC], without[:, AUROC], 0.5, least_error=1e-3)
    return LabelScores(value, low, high, p)


def _error_by_tokens(area: float, hits: int, misses: int) -> float:
    """The standard error of an AUROC by Hanley and McNeil, as if half a token of the rarer side were misplaced."""
    least = 0.5 / min(hits, misses)
    numbers = (np.array([x], dtype=float) for x in (np.clip(area, least, 1 - least), hits, misses))
    return float(np.sqrt(stats.hanley_mcneil(*numbers))[0])


def leaving_out(
    values: Float[np.ndarray, " token"],
    positive: Bool[np.ndarray, " token"],
    group: Int[np.ndarray, " token"],
    threshold: float,
) -> Float[np.ndarray, "left_out measure"]:
    """The measures on all tokens, then without each group in turn. Equal activations count half in the AUROC.

    Precision is the share of positives among tokens above the threshold, recall the share of positives that are above
    it, purity the average precision over all thresholds. Where no token is above the threshold, precision is 0.
    """
    order = np.argsort(-values, kind="stable")
    ordered, hit, of = values[order], positive[order], group[order]
    kept = np.concatenate([np.ones((1, len(of))), of[None, :] != np.unique(group)[:, None]])
    right, wrong = (kept * hit).cumsum(1), (kept * ~hit).cumsum(1)
    above = int((ordered > threshold).sum())
    right_above, wrong_above = (x[:, above - 1] if above else np.zeros(len(x)) for x in (right, wrong))
    ends = np.append(ordered[1:] != ordered[:-1], True)  # of activations that are equal
    right, wrong = right[:, ends], wrong[:, ends]
    gained = np.diff(right, axis=1, prepend=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        n, m = right[:, -1], wrong[:, -1]
        area = (np.diff(wrong, axis=1, prepend=0) * (right - gained / 2)).sum(1) / (n * m)
        purity = (gained * np.nan_to_num(right / (right + wrong))).sum(1) / n
        precision = right_above / np.maximum(right_above + wrong_above, 1)
        return np.stack([area, precision, right_above / n, purity, n / (n + m)], axis=1)
