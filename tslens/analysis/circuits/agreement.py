"""The agreement of attribution patching with activation patching: correlations with their intervals, and the top."""

from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from tslens import stats

TOP = 10  # strongest places that are compared
RESAMPLES = 500


def agreement(
    kind: str,
    exact: Float[Tensor, "pair place role"],
    linear: Float[Tensor, "pair place role"],
    whole: Float[Tensor, " pair"],
) -> dict[str, Any]:
    """Pearson's and Spearman's correlation of the two over places and roles, with bootstrap intervals over pairs (the
    last role, the sum of the others, left out), and the share of the strongest that both name."""
    sides = np.stack([part[:, :, :-1].flatten(1).numpy() for part in (exact, linear)], axis=1)
    rows = np.concatenate([sides, np.broadcast_to(whole.numpy()[:, None, None], (*sides.shape[:2], 1))], axis=2)
    pearson, spearman = (stats.bootstrap(rows, of, n=RESAMPLES) for of in (_pearson, _spearman))
    k = min(TOP, max(1, sides.shape[2] // 3))
    first, second = (set(np.argsort(-np.abs(side))[:k].tolist()) for side in sides.mean(0))
    found: dict[str, Any] = {"kind": kind, "compared": sides.shape[2]}
    for name, interval in (("pearson", pearson), ("spearman", spearman)):
        found |= {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
    return found | {"top": k, "top_shared": len(first & second) / k}


def _pearson(rows: Float[np.ndarray, "pair side column"]) -> float:
    return _correlation(*rows.mean(0)[:, :-1])


def _spearman(rows: Float[np.ndarray, "pair side column"]) -> float:
    from scipy.stats import rankdata

    return _correlation(*(rankdata(side) for side in rows.mean(0)[:, :-1]))


def _correlation(a: Float[np.ndarray, " column"], b: Float[np.ndarray, " column"]) -> float:
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / norm if norm > 0 else float("nan")
