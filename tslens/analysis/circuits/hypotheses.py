"""Three tests of a circuit: equivalence, independence and minimality.

Shi et al. 2024, "Hypothesis testing the circuit hypothesis in LLMs" (arXiv 2410.13032). Each null is what an ideal
circuit would be, so a small p speaks against the circuit. Equivalence and independence take pairs as independent draws;
pairs of a few templates are so only given these, and a p-value says nothing about other wordings.
"""

import numpy as np
from jaxtyping import Float

EPSILON = 0.1
"""How far from one half the chance to outperform the model may be, in the test of equivalence."""
QUANTILE = 0.9
"""Share of the nodes outside of a circuit that a member exceeds, in the test of minimality."""
PERMUTATIONS = 1000


def equivalence(circuit: Float[np.ndarray, " pair"], model: Float[np.ndarray, " pair"]) -> tuple[float, float]:
    """The share of pairs in which the circuit's margin is above the model's, a tie counting half, and the p-value of
    the hypothesis that its chance is within 0.1 of one half (exact binomial, at the end of that range)."""
    from scipy.stats import binom

    n, share = len(circuit), float(((np.sign(circuit - model) + 1) / 2).mean())
    k = np.arange(n + 1)
    as_far = np.abs(k / n - 0.5) >= abs(share - 0.5) - 1e-12
    return share, float(min(1.0, binom.pmf(k, n, 0.5 + EPSILON)[as_far].sum()))


def independence(rest: Float[np.ndarray, " pair"], model: Float[np.ndarray, " pair"], seed: int = 0) -> float:
    """The p-value of the hypothesis that what the nodes outside of the circuit do is independent of the model's margin.

    Hilbert-Schmidt independence criterion (Gretton et al. 2007) with Gaussian kernels of median width, by
    permutation.
    """
    rng = np.random.default_rng(seed)
    k, m = _centred_kernel(rest), _centred_kernel(model)
    orders = (rng.permutation(len(rest)) for _ in range(PERMUTATIONS))
    observed = (k * m).sum()
    as_large = sum(bool((k * m[order][:, order]).sum() >= observed - 1e-12) for order in orders)
    return (1 + as_large) / (1 + PERMUTATIONS)


def _centred_kernel(values: Float[np.ndarray, " pair"]) -> Float[np.ndarray, "pair pair"]:
    distance = np.abs(values[:, None] - values)
    width = np.median(distance[np.triu_indices(len(values), 1)]) or 1.0
    kernel = np.exp(-(distance**2) / (2 * width**2))
    found: Float[np.ndarray, "pair pair"] = kernel - kernel.mean(0) - kernel.mean(1)[:, None] + kernel.mean()
    return found


def minimality(
    members: Float[np.ndarray, " member"], others: Float[np.ndarray, " other"]
) -> Float[np.ndarray, " member"]:
    """For each member the p-value of the hypothesis that its removal changes the margin more than that of 90% of the
    nodes outside, each put into the circuit and taken out again (one-sided binomial). NaN without nodes outside."""
    from scipy.stats import binom

    if not len(others):
        return np.full(len(members), np.nan)
    above = (np.abs(members)[:, None] > np.abs(others)).sum(1)
    return np.asarray(binom.cdf(above, len(others), QUANTILE))
