"""The result about the residual stream: its norms, those of the writes to it, and its direction, by layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STREAMS = ("residual", "attention adds", "MLP adds")
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class ResidualsResult(Result):
    """L2 norms of the residual stream after each block, and of what attention and MLP of that block add to it, over the
    tokens of stories; and the cosine of the residual with the one a block earlier. Intervals are 95%, over stories.

    BOS is apart: it reads nothing but itself, and its residual is often many times as long as any other.
    Weights are as trained. TransformerLens's `center_writing_weights` would change these norms: it takes from each
    residual its mean over coordinates, which a layer norm does not read.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("stream", "depth")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "stream": "streams",
        "depth": "depths",
        "level": tuple(f"{level:.0%}" for level in LEVELS),
    }

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    tokens: int
    """Tokens that were read, BOS excluded."""
    streams: list[str]
    """`residual` (after the block), `attention adds`, `MLP adds`."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    median: Float[Tensor, "stream depth"]
    """Median norm over tokens; NaN for what no block has added at `embed`."""
    median_low: Float[Tensor, "stream depth"]
    """Lower end of its interval (Woodruff 1952)."""
    median_high: Float[Tensor, "stream depth"]
    """Upper end."""
    quantile: Float[Tensor, "stream depth level"]
    """The 5%, 25%, 50%, 75% and 95% quantiles of the norm over tokens, to 0.6%."""
    bos: Float[Tensor, "stream depth"]
    """The norm at BOS."""
    cosine: Float[Tensor, " depth"]
    """Mean cosine between the residual and the one a block earlier; NaN at `embed`."""
    cosine_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    cosine_high: Float[Tensor, " depth"]
    """Upper end."""

    def headline(self) -> str:
        """How long the residual is first and last."""
        first, last = float(self.median[0, 0]), float(self.median[0, -1])
        return f"The median norm of the residual is {first:.1f} at embed and {last:.1f} after the last block."

    def summary(self) -> "pd.DataFrame":
        """One row per depth: median norms, those of BOS, and the cosine."""
        import pandas as pd

        columns: dict[str, Any] = {"depth": self.depths}
        for i, stream in enumerate(self.streams):
            columns[stream] = self.median[i].tolist()
        columns |= {"residual of BOS": self.bos[0].tolist(), "cosine": self.cosine.tolist()}
        columns |= {"cosine_low": self.cosine_low.tolist(), "cosine_high": self.cosine_high.tolist()}
        return pd.DataFrame(columns)

    def figure(self) -> "Figure":
        """Median norms by depth, with the range from the 5% to the 95% quantile and BOS apart; and the cosine."""
        from tslens import plots

        series = {stream: self.median[i] for i, stream in enumerate(self.streams)}
        bands = {stream: (self.quantile[i, :, 0], self.quantile[i, :, -1]) for i, stream in enumerate(self.streams)}
        common = {"x_label": "after block", "ticks": self.depths}
        norms = {
            "series": series | {"BOS": self.bos[0]},
            "bands": bands,
            "log_y": True,
            "title": f"{self.model}: median norm (5% to 95%)",
            "y_label": "L2 norm",
        }
        direction = {
            "series": {"cosine": self.cosine},
            "bands": {"cosine": (self.cosine_low, self.cosine_high)},
            "title": "Residual after and before the block",
            "y_label": "cosine",
        }
        return plots.panels(norms | common, direction | common)
