"""How many tokens of the other side lie below each token: what the AUROC of many labels is counted from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from numpy.typing import ArrayLike, NDArray

from tslens import stats

ROWS = 32  # that are sorted at a time, so that they stay in the processor's cache


@dataclass(frozen=True)
class Sides:
    """The activations of several neurons, and which tokens the label of each names. A token on neither side is left
    out."""

    rank: Int[np.ndarray, "row token"]
    """Twice the mean rank of each activation in its row."""
    positive: Bool[np.ndarray, "row token"]
    """Tokens that the label names."""
    negative: Bool[np.ndarray, "row token"]
    """Tokens that it does not name."""

    @classmethod
    def of(
        cls,
        values: Float32[np.ndarray, "row token"],
        positive: Bool[np.ndarray, "row token"],
        read: Bool[np.ndarray, "row token"] | None = None,
    ) -> "Sides":
        """The sides of the tokens that are `read`, by default of all."""
        read = np.ones_like(positive) if read is None else read
        return cls((2 * stats.mean_ranks(values)).astype(np.int64), positive & read, ~positive & read)


@dataclass(frozen=True)
class Placed:
    """Tokens of some rows, ordered by cell and activation."""

    rows: slice
    """The rows."""
    token: Int[np.ndarray, "row token"]
    """The place of each token in its row."""
    positive: Bool[np.ndarray, "row token"]
    """Whether the label names it."""
    negative: Bool[np.ndarray, "row token"]
    """Whether it does not."""
    below: Float[np.ndarray, "row token"]
    """Of the tokens of the other side in its cell, those with a smaller activation, and half of those with an equal
    one."""


def placed(sides: Sides, cell: Int[np.ndarray, "... token"]) -> Iterator[Placed]:
    """The tokens of all rows, a few rows after the other; `cell` numbers the cells within which tokens are compared."""
    n = sides.rank.shape[1]
    bits, cells = n.bit_length(), np.broadcast_to(cell, sides.rank.shape)
    place = np.arange(n) << 2
    for begin in range(0, len(sides.rank), ROWS):
        rows = slice(begin, begin + ROWS)
        both = cells[rows] << (bits + 1) | sides.rank[rows]  # twice a rank has one bit more than a place
        key = both << (bits + 2) | place | sides.negative[rows] << 1 | sides.positive[rows]
        key.sort(axis=1)
        positive, negative = key & 1, key >> 1 & 1
        tie = _begins(key >> (bits + 2))
        fresh = _begins(key >> (2 * bits + 3))
        below = np.where(positive, _below(negative, tie, fresh), _below(positive, tie, fresh))
        yield Placed(rows, key >> 2 & ((1 << bits) - 1), positive > 0, negative > 0, below / 2)


def _begins(ordered: Int[np.ndarray, "row token"]) -> Bool[np.ndarray, "row token+1"]:
    """Where a run of equal numbers begins in its row; true behind its end too."""
    fresh = np.ones((len(ordered), ordered.shape[1] + 1), dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:-1])
    return fresh


def _below(
    side: Int[np.ndarray, "row token"], tie: Bool[np.ndarray, "row token+1"], fresh: Bool[np.ndarray, "row token+1"]
) -> Int[np.ndarray, "row token"]:
    """For each ordered token twice the number of tokens of a side that lie below it since its cell began, ties half."""
    upto = side.cumsum(1, dtype=np.int32)
    before = upto - side.astype(np.int32)
    first = np.maximum.accumulate(np.where(tie[:, :-1], before, 0), axis=1)
    base = np.maximum.accumulate(np.where(fresh[:, :-1], before, 0), axis=1)
    last = np.where(tie[:, 1:], upto, upto[:, -1:])[:, ::-1]
    return np.asarray(first + np.minimum.accumulate(last, axis=1)[:, ::-1] - 2 * base)


def sum_by(label: Int[np.ndarray, "... token"], weights: ArrayLike, labels: int) -> Float[np.ndarray, "row label"]:
    """The sum of each row's weights by the label of the token, of so many labels."""
    each: NDArray[Any] = np.asarray(weights)
    at = np.arange(len(each))[:, None] * labels + label
    return np.bincount(np.broadcast_to(at, each.shape).ravel(), each.ravel(), len(each) * labels).reshape(-1, labels)
