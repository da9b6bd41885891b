"""AUROCs of classes of tokens and the variance that tokens explain, for many neurons, without each group of stories."""

import numpy as np
from jaxtyping import Bool, Float, Int

BINS = 128
GROUPS = 10
"""Groups of stories behind an interval."""


def areas(
    ranks: Float[np.ndarray, "neuron token"], marks: Bool[np.ndarray, "token class"], group: Int[np.ndarray, " token"]
) -> Float[np.ndarray, "left_out neuron class"]:
    """The AUROC with which each neuron tells each class from the other tokens, then without each group in turn, from
    the ranks of its activations (1 is the smallest, equal ones share the mean).

    Ranks are taken in `BINS` bins, ties within a bin counting half: an AUROC differs by 1/256 at most.
    """
    neurons, n = ranks.shape
    groups = np.unique(group, return_inverse=True)[1]
    size = int(groups.max(initial=0)) + 1
    bins = ((ranks - 0.5) * (BINS / n)).astype(np.int64)
    cells = (np.arange(neurons)[:, None] * size + groups) * BINS + bins

    def counted(some: Bool[np.ndarray, " token"]) -> Float[np.ndarray, "left_out neuron bin"]:
        found = np.bincount(cells[:, some].ravel(), minlength=neurons * size * BINS).reshape(neurons, size, BINS)
        every = found.sum(1)
        return np.concatenate([every[None], every[None] - found.transpose(1, 0, 2)]).astype(float)

    total = counted(np.full(n, True))
    result = np.empty((size + 1, neurons, marks.shape[1]))
    for i, inside in enumerate(marks.T):
        hits = counted(inside)
        misses = total - hits
        with np.errstate(divide="ignore", invalid="ignore"):
            below = misses.cumsum(-1) - misses / 2
            result[:, :, i] = (hits * below).sum(-1) / (hits.sum(-1) * misses.sum(-1))
    return result


def token_share(
    values: Float[np.ndarray, "neuron token"], token: Int[np.ndarray, " token"], group: Int[np.ndarray, " token"]
) -> Float[np.ndarray, "left_out neuron"]:
    """The share of each neuron's variance that the token explains (epsilon squared), then without each group in turn.

    0 is what shuffled tokens explain in the mean; NaN where a neuron does not vary.
    """
    from scipy.sparse import csr_array

    kinds, kind = np.unique(token, return_inverse=True)
    groups = np.unique(group, return_inverse=True)[1]
    size, n = int(groups.max(initial=0)) + 1, len(token)
    cells = csr_array((np.ones(n), (groups * len(kinds) + kind, np.arange(n))), shape=(size * len(kinds), n))
    x = values.T.astype(float)
    x -= x.mean(0)
    sums, squares = ((cells @ part).reshape(size, len(kinds), -1) for part in (x, x**2))
    times = np.asarray(cells.sum(1)).reshape(size, len(kinds))
    result = np.empty((size + 1, len(values)))
    for left in range(-1, size):
        kept = np.arange(size) != left
        s, m, whole = sums[kept].sum(0), times[kept].sum(0), squares[kept].sum((0, 1))
        seen, n_kept = m > 0, m.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = s.sum(0) ** 2 / n_kept
            explained = ((s[seen] ** 2 / m[seen, None]).sum(0) - mean) / (whole - mean)
            by_chance = (seen.sum() - 1) / (n_kept - 1)
            share = (explained - by_chance) / (1 - by_chance)
        result[left + 1] = np.where(whole - mean > 1e-12 * n_kept, share, np.nan)
    return result
