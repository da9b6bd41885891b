"""The result about seeds: how far their counts and their labels agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class StabilityResult(Result):
    """How alike the finished models of several seeds are: their counts of each label, and the labels they share.

    Heads and neurons of two seeds are matched one to one within each layer by what they do on the same tokens, labels
    unseen (`matching.similarity`). Of the pairs in which at least one has the label, `share` is the part in which both
    have it; for any role or any part of speech, in which both have the same. Chance is the same share with units
    paired at random within their layer.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("label",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"label": "labels", "run": "runs", "pair": "pairs"}

    runs: list[str]
    """The runs."""
    pairs: list[str]
    """Every two of them, in words."""
    stories: int
    """Stories that labels and matching were read on."""
    labels: list[str]
    """The labels, of heads and then of neurons; the first of each stands for any of them."""
    mean: Float[Tensor, " label"]
    """The mean count over runs."""
    low: Float[Tensor, " label"]
    """Lower end of its 95% interval over runs: Student's t, joined with Wilson's (`halves.joined`); at least 0."""
    high: Float[Tensor, " label"]
    """Upper end of it."""
    share: Float[Tensor, " label"]
    """Share of labels in common after matching, the mean over pairs of runs; NaN where no run has the label."""
    share_low: Float[Tensor, " label"]
    """Lower end of its 95% interval, by leaving out one run at a time; NaN for two runs."""
    share_high: Float[Tensor, " label"]
    """Upper end of it."""
    chance: Float[Tensor, " label"]
    """The mean share after random pairings."""
    chance_high: Float[Tensor, " label"]
    """The share that 2.5% of the random pairings exceed."""
    p: Float[Tensor, " label"]
    """Rank of the share among those of random pairings (Phipson and Smyth 2010, doi:10.2202/1544-6115.1585)."""
    count: Int[Tensor, "run label"]
    """The count of every run."""
    in_common: Float[Tensor, "pair label"]
    """The share of every pair of runs."""
    heads_alike: float
    """Attention that matched heads have in common, 0 to 1: the mean over heads and pairs of runs."""
    heads_untrained: float
    """The same of the models before training (their earliest snapshots), matched in the same way."""
    neurons_alike: float
    """Mean correlation of the activations of matched neurons."""
    neurons_untrained: float
    """The same before training."""

    def summary(self) -> "pd.DataFrame":
        """The labels that any run has."""
        frame = self.to_frame()
        return frame[frame["mean"] > 0].reset_index(drop=True)

    def figure(self) -> "Figure":
        """The share of labels in common with its interval, and chance as a mark."""
        from tslens import plots

        frame = self.summary()
        if frame.empty:
            frame = self.to_frame().head(1).fillna(0.0)
        known = frame.assign(
            share_low=frame["share_low"].fillna(frame["share"]), share_high=frame["share_high"].fillna(frame["share"])
        )
        return plots.bars(
            known["label"].tolist(),
            known["share"].to_numpy(),
            low=known["share_low"].to_numpy(),
            high=known["share_high"].to_numpy(),
            baseline=known["chance"].to_numpy(),
            title=f"Labels in common of {len(self.runs)} seeds after matching (marks: random pairs)",
            x_label="share",
        )

    def headline(self) -> str:
        """How alike matched heads and neurons are, beside those before training."""
        return (
            f"Matched heads have {self.heads_alike:.2f} of their attention in common "
            f"({self.heads_untrained:.2f} before training); activations of matched neurons correlate by "
            f"{self.neurons_alike:.2f} ({self.neurons_untrained:.2f})."
        )
