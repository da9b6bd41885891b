"""The result of putting features in place of an activation: what of the loss they recover, beside twins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float
from torch import Tensor

from tslens.result import Result
from tslens.sae.dictionary import FROZEN, TRAINED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEAN = "mean activation"
INSTEAD = (TRAINED, FROZEN, MEAN)
"""What takes the activation's place."""
ARRAYS = (
    "recovered",
    "recovered_low",
    "recovered_high",
    "loss",
    "explained",
    "active",
    "dead",
    "own_loss",
    "zero_loss",
)
"""What is measured of every model."""


@dataclass(frozen=True, eq=False)
class RecoveredResult(Result):
    """What of the loss features recover where they replace the activation that they were trained on: the share
    (loss with zeros - loss with features) / (loss with zeros - loss of the model), on the same stories.

    Zeros never occur in the model, so even a poor stand-in recovers much: read the share beside that of random features
    and of the mean activation, which knows nothing of the token. Intervals are 95%, by a bootstrap over stories, all
    losses of a story together. Of a model that loses nothing by zeros, as many untrained ones do, no share is defined.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("of", "instead")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"of": "models", "instead": INSTEAD}

    model: str
    """The model's name."""
    hook: str
    """The activation that is replaced, at every token but BOS."""
    width: int
    """Features of the autoencoder."""
    stories: int
    """Stories that were read."""
    models: list[str]
    """The model, then its untrained twins."""

    recovered: Float[Tensor, "of instead"]
    """The share; NaN where zeros cost nothing that could be told from 0."""
    recovered_low: Float[Tensor, "of instead"]
    """Lower end of its interval."""
    recovered_high: Float[Tensor, "of instead"]
    """Upper end of it."""
    loss: Float[Tensor, "of instead"]
    """Nats per token."""
    explained: Float[Tensor, "of instead"]
    """Share of the activation's variance that is explained on stories not trained on."""
    active: Float[Tensor, "of instead"]
    """How many features are above 0 on a token, the mean (L0)."""
    dead: Float[Tensor, "of instead"]
    """How many fire on none of the tokens read."""
    own_loss: Float[Tensor, " of"]
    """Nats per token of the model itself."""
    zero_loss: Float[Tensor, " of"]
    """Nats per token with zeros."""

    def range_of_twins(self) -> str:
        """The least and the largest share that features of a twin recover, in words; empty without twins."""
        found = self.recovered[1:, 0]
        if not len(found):
            return ""
        defined = found[~found.isnan()]
        none = len(found) - len(defined)
        lose = f"{none} of {len(found)} lose nothing by zeros" if none else ""
        if not len(defined):
            return lose
        low, high = f"{float(defined.min()):.1%}", f"{float(defined.max()):.1%}"
        return "; ".join(filter(None, [low if low == high else f"{low} to {high}", lose]))

    def said(self) -> str:
        """What the model's own features recover, in a sentence, beside random features, the mean and twins."""
        loses = f"zeros there cost {float(self.zero_loss[0] - self.own_loss[0]):.2f} nats per token"
        shares = [float(x) for x in self.recovered[0]]
        ends = zip(self.recovered_low[0].tolist(), self.recovered_high[0].tolist(), strict=True)
        named = [f"{x:.1%} [{low:.1%}, {high:.1%}]" for x, (low, high) in zip(shares, ends, strict=True)]
        what = (
            "no more than chance, so nothing is there to recover"
            if shares[0] != shares[0]
            else f"of these, features recover {named[0]}, random features {named[1]}, the mean alone {named[2]}"
        )
        twins = f" Untrained twins: {self.range_of_twins()}." if len(self.models) > 1 else ""
        explained = [f"{share:.0%}" for share in self.explained[:, 0].tolist()]
        of_twins = f" (untrained twins: {', '.join(explained[1:])})" if len(explained) > 1 else ""
        return (
            f"In place of {self.hook} {loses}; {what}.{twins} They explain {explained[0]} of the variance{of_twins}; "
            f"{float(self.active[0, 0]):.1f} of {self.width:,} are active on a token, and {int(self.dead[0, 0]):,} "
            f"never fire on {self.stories:,} stories."
        )

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per model and replacement, with the model's losses without it in each row."""
        frame = super().to_frame(field)
        if field is None:
            for name in ("own_loss", "zero_loss"):
                frame[name] = getattr(self, name).repeat_interleave(len(INSTEAD)).numpy()
        return frame

    def headline(self) -> str:
        """How much of the loss is recovered."""
        return self.said()

    def figure(self) -> "Figure":
        """The share that each replacement recovers in each model, with its interval."""
        from tslens import plots

        shares, low, high = (x.flatten() for x in (self.recovered, self.recovered_low, self.recovered_high))
        return plots.bars(
            [f"{name}: {instead}" for name in self.models for instead in INSTEAD],
            shares,
            low=low,
            high=high,
            title=f"{self.model}, {self.hook}: loss recovered on {self.stories} stories",
            x_label="share of what zeros cost, 95% interval over stories",
        )
