"""How does the attention of a positional head fall with distance? (families of kernels, fitted by least squares)

A kernel is the mean attention to the key so many tokens back, BOS excluded. Each family is one shape beside a share of
uniform attention, `a * shape + b * uniform` with a, b >= 0:

- *offset*: one distance; *window*: the same at all distances up to one;
- *exponential*: exp(-d / length); *power*: (d + 1)^-exponent.

The explained share is that of the squares which the best `b * uniform` leaves, distances weighted by their number of
queries. The shape of the largest share, or the simplest that comes within 1% of it, gives the family, if it explains
more than half:

- `previous token` and `offset` are the offsets 1 and others;
- `local` and `slow decay` are the other shapes, by their length: where a kernel has fallen to 1/e (a window: its end);
- `broad` is what uniform attention explains by itself, to 2% of the squares.

Whether the kernel is of distances (*relative*) or of places in the story (*absolute*) is what a shift tells
(`SwapsResult.shift`): below one third of the pattern follows the place, or above two thirds. An absolute kernel has no
family and no length: mean attention by distance is not what it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from tslens.analysis.heads.kernels_result import SHAPES, KernelsResult
from tslens.analysis.heads.reducer import Roles, RolesState
from tslens.analysis.heads.result import RolesResult
from tslens.analysis.heads.swaps_result import LITTLE, MUCH, SwapsResult
from tslens.errors import InputError

POSITIONAL = frozenset({"previous token", "positional", "self"})
MAJORITY = 0.5
FLAT = 0.02
CLOSE = 0.01
"""Of the squares: a simpler shape that explains as much but for this is the shape."""
LOCAL = 8.0
"""Tokens: a kernel of a smaller length is local."""

Row = NDArray[np.float64]
OFFSET, WINDOW, EXPONENTIAL, POWER = range(len(SHAPES))


@dataclass(frozen=True)
class KernelFit:
    """The best kernel of one shape."""

    shape: int
    explained: float
    """Share of the squares that uniform attention leaves."""
    length: float
    """Tokens (see the module)."""
    parameter: float
    """Offset, window or length in tokens; for a power law its exponent."""


def kernels(roles: RolesResult, swaps: SwapsResult | None = None) -> KernelsResult:
    """The family of every positional head's kernel; with `swaps` also whether it is of distances or of places.

    Raises:
        InputError: the two are of different models.
    """
    if swaps is not None and (roles.model != swaps.model or roles.role_code.shape != swaps.verdict_code.shape[1:]):
        raise InputError(f"Roles of {roles.model} and swaps of {swaps.model} are not of one model. Give two of it.")
    layers, heads = roles.role_code.shape
    frames = _frames(swaps) if swaps is not None else [[""] * heads for _ in range(layers)]
    found = [[_of_head(roles, layer, head, frames[layer][head]) for head in range(heads)] for layer in range(layers)]

    def table(pick: Callable[[KernelFit], float]) -> Float[torch.Tensor, "layer head"]:
        return torch.tensor([[torch.nan if fit is None else pick(fit) for _, fit in row] for row in found])

    return KernelsResult(
        model=roles.model,
        families=[[family for family, _ in row] for row in found],
        shapes=[["" if fit is None else SHAPES[fit.shape] for _, fit in row] for row in found],
        frames=frames,
        explained=table(lambda fit: fit.explained),
        length=table(lambda fit: fit.length),
        parameter=table(lambda fit: fit.parameter),
        kernel=roles.offset_mass,
        corpus=roles.corpus,
    )


@dataclass(frozen=True)
class Kernels(Roles):
    """A reducer for `KernelsResult`, to count it on untrained twins too; its options are those of `Roles`."""

    @property
    def reads(self) -> Roles:
        """The reducer that reads for this one: a pass for both feeds one state."""
        return Roles(self.positions, self.groups, self.seed)

    def conclude(self, roles: RolesResult) -> KernelsResult:
        """The families of the positional heads' kernels."""
        return kernels(roles)

    def finish(self, state: RolesState) -> KernelsResult:  # type: ignore[override]  # another question
        """As `conclude`, from what was read."""
        return self.conclude(super().finish(state))


def _of_head(roles: RolesResult, layer: int, head: int, frame: str) -> tuple[str, KernelFit | None]:
    if roles.roles[layer][head] not in POSITIONAL:
        return "", None
    if frame == "absolute":
        return "unresolved", None
    return family(roles.offset_mass[layer, head].double().numpy())


def family(kernel: Row) -> tuple[str, KernelFit | None]:
    """The family of a kernel by distance, 0 first, and the fit that gave it; none for a broad kernel."""
    weight = np.sqrt(np.arange(len(kernel), 0, -1.0))  # the square root of each distance's number of queries
    even = uniform(len(kernel))
    left = _residual(kernel, weight, [even])
    if left <= FLAT * float(((kernel * weight) ** 2).sum()):
        return "broad", None
    found = fits(kernel, weight, even, left)
    most = max(fit.explained for fit in found)
    best = next(fit for fit in found if fit.explained >= most - CLOSE)
    if best.explained <= MAJORITY:
        return "unresolved", best
    if best.shape == OFFSET:
        return ("previous token" if best.parameter == 1 else "offset"), best
    return ("local" if best.length < LOCAL else "slow decay"), best


def uniform(n: int) -> Row:
    """Mean uniform attention at distances 0 to n - 1, over the queries among n + 1 positions that see so far but for
    BOS, as `RolesResult.offset_mass` is taken."""
    share = 1 / np.arange(1, n + 2)
    return np.array([share[d + 1 :].mean() for d in range(n)])


def fits(kernel: Row, weight: Row, even: Row, left: float) -> list[KernelFit]:
    """The best kernel of each of `SHAPES`, the simplest first; `left` is what `even` alone leaves."""
    from scipy.optimize import minimize_scalar

    at = np.arange(len(kernel), dtype=float)

    def share(shape: Row) -> float:
        return 1 - _residual(kernel, weight, [shape, even]) / left

    def of(log: float, shape: Callable[[float], Row]) -> float:
        return -share(shape(np.exp(log)))

    offset = max(range(len(kernel)), key=lambda k: share((at == k).astype(float)))
    window = max(range(2, len(kernel)), key=lambda w: share((at <= w).astype(float)))
    found = [
        KernelFit(OFFSET, share((at == offset).astype(float)), float(offset), float(offset)),
        KernelFit(WINDOW, share((at <= window).astype(float)), float(window), float(window)),
    ]
    forms: tuple[tuple[int, Callable[[float], Row], tuple[float, float]], ...] = (
        (EXPONENTIAL, lambda length: np.exp(-at / length), (0.3, 4.0 * len(kernel))),
        (POWER, lambda exponent: (at + 1) ** -exponent, (0.05, 8.0)),
    )
    for shape, form, (low, high) in forms:
        grid = np.linspace(np.log(low), np.log(high), 40)
        nearest = int(np.argmin([of(log, form) for log in grid]))
        between = (grid[max(nearest - 1, 0)], grid[min(nearest + 1, len(grid) - 1)])
        best = minimize_scalar(of, bounds=between, args=(form,), method="bounded")
        parameter = float(np.exp(best.x))
        length = parameter if shape == EXPONENTIAL else float(np.exp(min(1 / parameter, 20.0)) - 1)
        found.append(KernelFit(shape, -float(best.fun), length, parameter))
    return found


def _residual(kernel: Row, weight: Row, shapes: list[Row]) -> float:
    """Weighted squares that no nonnegative mixture of the shapes explains."""
    from scipy.optimize import nnls

    return float(nnls(np.stack(shapes, axis=1) * weight[:, None], kernel * weight)[1]) ** 2


def _frames(swaps: SwapsResult) -> list[list[str]]:
    """What the shift says of every head, over all keys but BOS."""
    low, high = swaps.shift_low[1].tolist(), swaps.shift_high[1].tolist()
    return [
        ["relative" if b < LITTLE else "absolute" if a > MUCH else "unresolved" for a, b in zip(*row, strict=True)]
        for row in zip(low, high, strict=True)
    ]
