"""The attention of every head over one text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float
from torch import Tensor

from tslens.errors import InputError
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PatternResult(Result):
    """The attention of every head over one text."""

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head", "query", "key")

    model: str
    """The model's name."""
    text: str
    """The text that was read."""
    tokens: list[str]
    """The tokens as displayed text, BOS first: the names of both `query` and `key`."""
    pattern: Float[Tensor, "layer head query key"]
    """Attention weights; they sum to 1 for each query and are 0 on keys after it."""

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per layer, head, query and key that the query may attend to."""
        frame = super().to_frame(field)
        return frame[frame["key"] <= frame["query"]].reset_index(drop=True)

    def summary(self) -> "pd.DataFrame":
        """For every head, the query and key of its strongest attention to a token that is not BOS."""
        import pandas as pd

        layers, heads, n, _ = self.pattern.shape
        place = self.pattern[..., 1:].flatten(2).argmax(-1)
        rows = []
        for layer in range(layers):
            for head in range(heads):
                query, key = divmod(int(place[layer, head]), n - 1)
                weight = float(self.pattern[layer, head, query, key + 1])
                on_bos = float(self.pattern[layer, head, :, 0].mean())
                rows.append((layer, head, self.tokens[query], self.tokens[key + 1], weight, on_bos))
        return pd.DataFrame(rows, columns=["layer", "head", "query", "key", "weight", "on_bos"])

    def figure(self, layer: int = 0, head: int = 0) -> "Figure":
        """The heat map of one head: queries down, keys across."""
        from tslens import plots

        check_head(self.pattern, layer, head)
        weights = self.pattern[layer, head].clone()
        weights[~weights.new_ones(weights.shape).tril().bool()] = float("nan")
        few = len(self.tokens) <= 48
        return plots.heatmap(
            weights,
            self.tokens if few else None,
            self.tokens if few else None,
            title=f"Layer {layer}, head {head}",
            row_label="query",
            column_label="key",
            colour_label="attention weight",
            limits=(0.0, 1.0),
        )

    def figures(self) -> "Iterator[tuple[str, Figure]]":
        """The heat map of every head, each under its name, `LAYER.HEAD`."""
        layers, heads = self.pattern.shape[:2]
        return ((f"{layer}.{head}", self.figure(layer, head)) for layer in range(layers) for head in range(heads))


def check_head(of: Tensor, layer: int, head: int) -> None:
    """InputError if the axes `layer head` hold no such head."""
    layers, heads = of.shape[:2]
    if not (0 <= layer < layers and 0 <= head < heads):
        raise InputError(
            f"There is no layer {layer}, head {head}: layers run from 0 to {layers - 1}, heads from 0 to {heads - 1}."
        )
