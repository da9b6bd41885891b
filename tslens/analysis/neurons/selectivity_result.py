"""The result about what decides each neuron's activation: its AUROC for each class of tokens, and the token's share."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Q = 0.05
LEAST = 0.7
NEAR = 1e-3  # two activations that differ by rounding may change places with the batches, and move an AUROC


@dataclasses.dataclass(frozen=True, eq=False)
class SelectivityResult(CountedResult):
    """How well each neuron's activation tells each class of tokens from the rest, over all neurons and classes, and how
    much of its variance the token explains (see `selectivity` for the method). Intervals are 95%, over stories."""

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "neuron", "class")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"class": "classes"}

    auroc: Float[Tensor, "layer neuron class"]
    """AUROC of the activation for the class; NaN where the class has too few tokens."""
    low: Float[Tensor, "layer neuron class"]
    """Lower end of its interval."""
    high: Float[Tensor, "layer neuron class"]
    """Upper end of its interval."""
    q: Float[Tensor, "layer neuron class"]
    """False discovery rate that the class does not excite the neuron more (Benjamini-Hochberg over all neurons and
    classes)."""
    tail_share: Float[Tensor, "layer neuron class"]
    """Share of the class among the tokens above the neuron's 99.9% quantile; NaN where none is above it."""
    token_share: Float[Tensor, "layer neuron"]
    """Share of the activation's variance that the token explains, less what shuffled tokens explain; NaN where the
    activation does not vary."""
    token_share_low: Float[Tensor, "layer neuron"]
    """Lower end of its interval."""
    token_share_high: Float[Tensor, "layer neuron"]
    """Upper end of its interval."""
    median_share: Float[Tensor, " layer"]
    """The median of `token_share` over each layer's neurons; NaN where none has one."""
    median_share_low: Float[Tensor, " layer"]
    """Lower end of its interval."""
    median_share_high: Float[Tensor, " layer"]
    """Upper end of its interval."""
    base_rate: Float[Tensor, " class"]
    """Share of each class among the tokens."""

    classes: list[str]
    """Parts of speech, names and places."""
    model: str
    """The model's name."""
    n_tokens: int
    """Tokens that were compared."""
    stories: int
    """Stories that were read."""

    @property
    def selects(self) -> Bool[Tensor, "layer neuron class"]:
        """Whether a neuron selects a class: q is at most 0.05, and the AUROC's interval above 0.7."""
        return (self.q <= Q) & (self.low > LEAST + NEAR)

    def counts(self) -> dict[str, int]:
        """The number of neurons that select each class."""
        return {f"neurons that select {name}": int(self.selects[..., i].sum()) for i, name in enumerate(self.classes)}

    def summary(self) -> "pd.DataFrame":
        """Each class: its base rate, the neurons that select it, and the best AUROC with its neuron."""
        import pandas as pd

        rows = []
        width = self.auroc.shape[1]
        for i, name in enumerate(self.classes):
            area = self.auroc[..., i].nan_to_num(nan=0.0).flatten()
            layer, neuron = divmod(int(area.argmax()), width)
            at = (layer, neuron, i)
            best = [float(part[at]) for part in (self.auroc, self.low, self.high, self.q)]
            selected = int(self.selects[..., i].sum())
            rows.append((name, float(self.base_rate[i]), selected, f"{layer}.{neuron}", *best))
        columns = ["class", "base_rate", "neurons", "best", "auroc", "auroc_low", "auroc_high", "q"]
        return pd.DataFrame(rows, columns=columns)

    def headline(self) -> str:
        """How much of a neuron's activation the token alone explains, by layer."""
        ends = torch.stack([self.median_share, self.median_share_low, self.median_share_high], dim=1).tolist()
        each = [f"{value:.0%} ({low:.0%} to {high:.0%})" for value, low, high in ends if value == value]
        return f"The token alone explains {', '.join(each) or 'nothing'} of a neuron's variance (medians by layer)."

    def figure(self) -> "Figure":
        """The number of neurons that select each class."""
        from tslens import plots

        return plots.bars(
            self.classes, self.selects.sum((0, 1)), title=f"{self.model}: neurons that select a class of tokens"
        )
