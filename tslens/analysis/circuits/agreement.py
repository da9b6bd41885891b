"""The agreement of attribution patching with activation patching: correlations with their intervals, and the top."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.circuits.clusters import over_clusters

TOP = 10  # strongest places that are compared


def agreement(
    kind: str,
    exact: Float[Tensor, "pair place role"],
    linear: Float[Tensor, "pair place role"],
    template: Int[np.ndarray, " pair"],
) -> dict[str, Any]:
    """Pearson's and Spearman's correlation of the two over places and roles (the last role, the sum of the others, left
    out), with intervals over templates, within -1 and 1, and the share of the strongest that both name."""
    sides = np.stack([part[:, :, :-1].flatten(1).numpy() for part in (exact, linear)], axis=1)
    pearson, spearman = (over_clusters(sides, template, of) for of in (_pearson, _spearman))
    k = min(TOP, max(1, sides.shape[2] // 3))
    first, second = (set(np.argsort(-np.abs(side))[:k].tolist()) for side in sides.mean(0))
    found: dict[str, Any] = {"kind": kind, "compared": sides.shape[2]}
    for name, interval in (("pearson", pearson), ("spearman", spearman)):
        low, high = np.clip([interval.low, interval.high], -1, 1).tolist()
        found |= {name: interval.estimate, f"{name}_low": low, f"{name}_high": high}
    return found | {"top": k, "top_shared": len(first & second) / k}


def _pearson(rows: Float[np.ndarray, "pair side column"]) -> float:
    return _correlation(*rows.mean(0))


def _spearman(rows: Float[np.ndarray, "pair side column"]) -> float:
    from scipy.stats import rankdata

    return _correlation(*(rankdata(side) for side in rows.mean(0)))


def _correlation(a: Float[np.ndarray, " column"], b: Float[np.ndarray, " column"]) -> float:
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / norm if norm > 0 else float("nan")
