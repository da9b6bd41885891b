"""Results about positional heads: the family of each kernel, and the roles that change with the context."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.analysis.heads.result import COLOURED, EVIDENT, RolesResult
from tslens.errors import InputError
from tslens.result import CountedResult, Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FAMILIES = ("previous token", "offset", "local", "slow decay", "broad", "unresolved")
SHAPES = ("offset", "window", "exponential", "power")


@dataclass(frozen=True, eq=False)
class KernelsResult(CountedResult):
    """How the attention of every positional head falls with distance.

    The shares have no interval: a `RolesResult` keeps one mean kernel for each head, not one for each group of stories.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")

    model: str
    """The model's name."""
    families: list[list[str]]
    """The family of each head's kernel, one of `FAMILIES`, by layer and head; `unresolved` where it is of places, empty
    where the head is not positional."""
    shapes: list[list[str]]
    """The shape that fits best, one of `SHAPES`; empty where there is none."""
    frames: list[list[str]]
    """`relative`, `absolute` or `unresolved`: what a shift of all positions says; empty where none was made."""
    explained: Float[Tensor, "layer head"]
    """Share of the squares which uniform attention leaves that the shape explains; NaN where there is none."""
    length: Float[Tensor, "layer head"]
    """Tokens after which the kernel has fallen to 1/e; of an offset or a window its end."""
    parameter: Float[Tensor, "layer head"]
    """Offset, window or length in tokens; for a power law its exponent."""
    kernel: Float[Tensor, "layer head offset"]
    """Mean attention to the key `offset` tokens back, BOS excluded."""

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As `Result.to_frame`, with family, shape and frame in words."""
        frame = super().to_frame(field)
        if field is None:
            words = {"family": self.families, "shape": self.shapes, "frame": self.frames}
            for at, (name, of_heads) in enumerate(words.items(), start=2):
                frame.insert(at, name, [word for row in of_heads for word in row])
        return frame

    def summary(self) -> "pd.DataFrame":
        """The positional heads, by family and length."""
        frame = self.to_frame()
        shown = frame[frame["family"] != ""]
        order = shown["family"].map(FAMILIES.index)
        return shown.assign(order=order).sort_values(["order", "length"]).drop(columns="order").reset_index(drop=True)

    def headline(self) -> str:
        """How many heads position decides, and how many of each family."""
        each = ", ".join(f"{n} {family.removesuffix(' kernels')}" for family, n in self.counts().items() if n)
        heads, found = sum(map(len, self.families)), sum(self.counts().values())
        return f"{found or 'None'} of {heads} heads attend by position{each and ': '}{each}."

    def counts(self) -> dict[str, int]:
        """The number of positional heads of each family."""
        every = [family for row in self.families for family in row]
        return {f"{family} kernels": every.count(family) for family in FAMILIES}

    def figure(self) -> "Figure":
        """The kernels of all positional heads by distance on logarithmic axes, coloured by family, and their lengths; a
        map without colours where no head is positional."""
        from tslens import plots

        found = [
            (family, self.kernel[layer, head], float(self.length[layer, head]))
            for layer, row in enumerate(self.families)
            for head, family in enumerate(row)
            if family
        ]
        if not found:
            nothing = [["not positional"] * len(row) for row in self.families]
            return plots.tiles(nothing, absent=("not positional",), title=f"{self.model}: no head is positional")
        return plots.scales(
            [(family, kernel[1:]) for family, kernel, _ in found],
            {family: [length for of, _, length in found if of == family] for family in FAMILIES},
            title=f"{self.model}: attention of the positional heads by distance, and its length",
            x_label="tokens back",
            y_label="attention weight",
        )


@dataclass(frozen=True, eq=False)
class ContextsResult(Result):
    """The roles of every head at two context lengths, on the same stories. `content-dependent` and `diffuse` describe a
    head and are no roles."""

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")

    model: str
    """The model's name."""
    names: list[str]
    """What the two contexts are called."""
    roles: list[list[list[str]]]
    """The role of each head, by context, layer and head."""
    changed: Bool[Tensor, "layer head"]
    """Whether it has a role at both contexts, and they differ."""
    lost: Bool[Tensor, "layer head"]
    """Whether it has a role at one of the two contexts alone."""

    def summary(self) -> "pd.DataFrame":
        """The heads whose role is not the same."""
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {"layer": layer, "head": head}
            | {name: of[layer][head] for name, of in zip(self.names, self.roles, strict=True)}
            | {"changed": bool(self.changed[layer, head])}
            for layer, head in (self.changed | self.lost).nonzero().tolist()
        ]
        return pd.DataFrame(rows, columns=["layer", "head", *self.names, "changed"])

    def headline(self) -> str:
        """How many heads have another role, or a role at one of the contexts alone."""
        n, lost = self.changed.numel(), int(self.lost.sum())
        at = f"between {self.names[0]} and {self.names[1]}"
        said = f"{int(self.changed.sum())} of {n} heads change their role {at}; {lost} have one at one of the two alone"
        return f"{said}."

    def figure(self) -> "Figure":
        """The map of roles at the second context; heads whose role is not the same are grey."""
        from tslens import plots

        same = [
            ["not the same" if differ else role for role, differ in zip(*rows, strict=True)]
            for rows in zip(self.roles[1], (self.changed | self.lost).tolist(), strict=True)
        ]
        return plots.tiles(
            same,
            order=COLOURED,
            absent=("unresolved", "not the same"),
            title=f"{self.model}: roles at {self.names[0]} and at {self.names[1]}",
            row_label="layer",
            column_label="head",
        )


def contexts(by_context: Mapping[str, RolesResult]) -> ContextsResult:
    """Which heads have another role at the second context than at the first; both by their names, in order.

    Raises:
        InputError: not two results, or results of different models.
    """
    if len(by_context) != 2:
        raise InputError(f"Two contexts are compared; {len(by_context)} were given.")
    first, second = by_context.values()
    if first.model != second.model or first.role_code.shape != second.role_code.shape:
        raise InputError(f"Roles of {first.model} and of {second.model} are not of one model. Give two of one.")
    named = torch.tensor([[[role in EVIDENT for role in row] for row in of.roles] for of in (first, second)])
    differ = first.role_code != second.role_code  # `content-dependent` and `diffuse` are no roles
    return ContextsResult(
        model=first.model,
        names=list(by_context),
        roles=[first.roles, second.roles],
        changed=differ & named.all(0),
        lost=named[0] != named[1],
        corpus=second.corpus,
    )
