"""Nulls that permute labels among units of like frequency."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

LIKE = 20  # units of like frequency, at least: fewer would hardly be permuted
PERMUTATIONS = 1999
ENOUGH = 100  # permutations that reach a value: its p is above 0.05 whatever the others do
ROUND = 50  # permutations between looks at which values have enough
FEW, DOUBTFUL = 20, 0.05
"""Members of a set whose sum need not be normal, and the normal p below which it is permuted."""
MANY = 20_000  # permutations of such a set, of which hundreds are tested together
ROWS = 64  # rows of which such a set is permuted at a time, so that memory stays flat


Drawn = Callable[[Int[np.ndarray, "draw unit"]], Float[np.ndarray, "draw row set"]]
"""The values of statistics for permutations of the units."""


def like_classes(frequency: Int[np.ndarray, " unit"]) -> Int[np.ndarray, " unit"]:
    """Classes of units that are equally frequent, from the most frequent; neighbours are joined until each class has
    `LIKE` units."""
    _, of_word, words = np.unique(-frequency, return_inverse=True, return_counts=True)
    before, held, at = np.zeros(len(words), dtype=np.int64), 0, 0
    for i, n in enumerate(words):
        before[i] = at
        held += n
        if held >= LIKE:
            held, at = 0, at + 1
    before[before == at] = max(at - 1, 0)  # too few are left for a class of their own
    return np.asarray(before[of_word])


def p_of_sums(
    values: Float[np.ndarray, "row unit"],
    members: Bool[np.ndarray, "unit set"],
    like: Int[np.ndarray, " unit"],
    asked: Bool[np.ndarray, "row set"] | None = None,
) -> Float[np.ndarray, "row set"]:
    """One-sided p-values that the units of a set have so large values, their members permuted within the classes
    `like`.

    The statistic is the sum of a set's values. Its mean and variance under permutation are exact, its distribution is
    taken as normal (Hoeffding 1951, doi:10.1214/aoms/1177729545). The sum of few values need not be: where a set has
    fewer than `FEW` members and p is below `DOUBTFUL`, it comes from `MANY` random permutations, if it is `asked`. p is
    1 where no permutation changes the sum.
    """
    from scipy.stats import norm

    of_class, in_set = np.eye(like.max(initial=0) + 1)[like], members.astype(float)
    of_class = of_class[:, of_class.any(0)]
    size, having = of_class.sum(0), of_class.T @ in_set  # units of each class; of each class in each set
    mean = values @ of_class / size
    variance = ((values**2) @ of_class - size * mean**2).clip(0) / np.maximum(size - 1, 1)
    spread = variance @ (having * (size[:, None] - having) / size[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (values @ in_set - mean @ having) / np.sqrt(spread)
    p = np.asarray(norm.sf(np.nan_to_num(z, nan=-np.inf)))
    for few in np.flatnonzero(members.sum(0) < FEW):
        doubtful = p[:, few] < DOUBTFUL if asked is None else (p[:, few] < DOUBTFUL) & asked[:, few]
        p[doubtful, few] = _p_of_drawn(values[doubtful], members[:, few], like)
    return p


def _p_of_drawn(
    values: Float[np.ndarray, "row unit"], members: Bool[np.ndarray, " unit"], like: Int[np.ndarray, " unit"]
) -> Float[np.ndarray, " row"]:
    """The p-values of one set by random permutations: in each, of every class as many units as the set has of it."""
    from scipy.sparse import csr_array

    rng, drawn = np.random.default_rng(0), []
    for one, times in zip(*np.unique(like[members], return_counts=True), strict=True):
        units = np.flatnonzero(like == one)
        drawn.append(units[_subsets(rng, len(units), int(times))])
    reached = np.zeros(len(values))
    if drawn and len(values):
        chosen, found = np.concatenate(drawn, axis=1), values[:, members].sum(1) - 1e-9
        begins = np.arange(0, chosen.size + 1, chosen.shape[1])
        sums = csr_array((np.ones(chosen.size), chosen.ravel(), begins), (MANY, values.shape[1]))
        for i in range(0, len(values), ROWS):
            reached[i : i + ROWS] = (sums @ values[i : i + ROWS].T >= found[i : i + ROWS]).sum(0)
    return (1 + reached) / (1 + MANY)


def _subsets(rng: np.random.Generator, units: int, size: int) -> Int[np.ndarray, "subset member"]:
    """`MANY` random subsets of so many units. Where repetitions are rare, those that have one are drawn again."""
    if size**2 > units:
        return rng.permuted(np.broadcast_to(np.arange(units), (MANY, units)), axis=1)[:, :size]
    found = rng.integers(units, size=(MANY, size))
    while (again := (np.diff(np.sort(found, axis=1), axis=1) == 0).any(1)).any():
        found[again] = rng.integers(units, size=(int(again.sum()), size))
    return found


def p_of_permuted(
    values: Float[np.ndarray, "row unit"],
    set_of: Int[np.ndarray, " unit"],
    like: Int[np.ndarray, " unit"],
    sets: int,
    asked: Bool[np.ndarray, "row set"] | None = None,
) -> Float[np.ndarray, "row set"]:
    """As `p_of_sums` for the first `sets` sets, where each unit is of one set, by random permutations
    (`p_by_permuting`) instead of the normal distribution, which the sum of few units has not."""
    order = np.argsort(like, kind="stable")
    sorted_values, sorted_sets, sorted_like = values[:, order], set_of[order], like[order]
    found = np.stack([values[:, set_of == i].sum(1) for i in range(sets)], axis=1)
    of_set = np.eye(max(sets, int(set_of.max()) + 1))[sorted_sets, :sets]

    def sums(asked: Bool[np.ndarray, "row set"]) -> Drawn:
        rows, columns = np.flatnonzero(asked.any(1)), np.flatnonzero(asked.any(0))
        of_rows, of_columns, found = sorted_values[rows], of_set[:, columns], np.full(asked.shape, -np.inf)

        def drawn(permuted: Int[np.ndarray, "draw unit"]) -> Float[np.ndarray, "draw row set"]:
            every = np.broadcast_to(found, (len(permuted), *found.shape)).copy()
            every[:, rows[:, None], columns] = of_rows @ of_columns[permuted]
            return every

        return drawn

    return p_by_permuting(found, sums, sorted_like, asked)


def p_by_permuting(
    found: Float[np.ndarray, "row set"],
    statistic: Callable[[Bool[np.ndarray, "row set"]], Drawn],
    like: Int[np.ndarray, " unit"],
    asked: Bool[np.ndarray, "row set"] | None = None,
) -> Float[np.ndarray, "row set"]:
    """One-sided p-values of statistics from at most `PERMUTATIONS` random permutations within the classes `like`, which
    are in order; `statistic` of what is still asked gives the values for permutations, anything for the others.

    All rows share the permutations. Where `ENOUGH` of them have reached a value, p is their share of those drawn until
    then (sequential Monte Carlo tests, Besag and Clifford 1991, doi:10.1093/biomet/78.2.301), and no more is asked of
    it. The smallest p is 1 / (1 + `PERMUTATIONS`).
    """
    rng, reached, drawn = np.random.default_rng(0), np.zeros(found.shape), np.zeros(found.shape)
    asked = np.ones(found.shape, dtype=bool) if asked is None else asked
    for begun in range(0, PERMUTATIONS, ROUND):
        left = (reached < ENOUGH) & asked
        if not left.any():
            break
        permuted = np.argsort(like + rng.random((min(ROUND, PERMUTATIONS - begun), len(like))), axis=1)
        hits = left & (statistic(left)(permuted) >= found - 1e-9)
        counts = left & (reached + hits.cumsum(0) - hits < ENOUGH)  # fewer had reached it before
        drawn, reached = drawn + counts.sum(0), reached + (counts & hits).sum(0)
    return np.where(reached < ENOUGH, (1 + reached) / (1 + drawn), ENOUGH / np.maximum(drawn, 1))


def p_of_counts(
    counts: Int[np.ndarray, "row set"],
    drawn: Int[np.ndarray, "row class"],
    in_class: Int[np.ndarray, "class set"],
) -> Float[np.ndarray, "row set"]:
    """P(X >= counts), where X sums hypergeometric counts: of each class's units, `drawn` without replacement, those
    of the set. The distributions are convolved by their Fourier transforms."""
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.stats import hypergeom

    most = int(drawn.sum(1).max(initial=0))
    size, support = next_fast_len(most + 1, real=True), np.arange(most + 1)
    sizes = [np.unique(column, return_inverse=True) for column in drawn.T]
    p = np.ones(counts.shape)
    for tag in np.flatnonzero(counts.any(0)):
        spectrum = np.ones((len(counts), size // 2 + 1), dtype=np.complex128)
        for words, (n, where) in zip(in_class, sizes, strict=True):
            spectrum *= rfft(hypergeom.pmf(support, words.sum(), words[tag], n[:, None]), size)[where.ravel()]
        tail = irfft(spectrum, size)[:, most::-1].cumsum(1)[:, ::-1]
        p[:, tag] = np.take_along_axis(tail, counts[:, [tag]], 1)[:, 0]
    return np.asarray(p.clip(np.finfo(np.float64).tiny, 1))
