"""The result about positional heads: the family of each kernel."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float
from torch import Tensor

from tslens.result import CountedResult

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
