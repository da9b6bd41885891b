"""The result of ablating labelled neurons: what the model loses on the tokens of the label."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Q = 0.05
FINDINGS = ("missed most on the tokens of its label", "missed, not more there", "not missed there", "not decided")
"""What the ablation says of a label."""
BOUND = 0.002
"""Nats per token. A contrast counts if its interval lies above it, and is none if it lies within it on either side."""
KINDS = ("part-of-speech neurons", "one-word neurons")
"""Kinds of labelled neurons, which are never added up."""
MISSED, SERVING = "that are missed", "missed most on the tokens of their label"
"""What is counted of each kind: `one-word neurons that are missed`."""
COUNTED = ("low", "q", "contrast_low", "contrast_q")
"""What `counted` reads."""


def counted(
    by_word: Bool[Tensor, " place"],
    low: Float[Tensor, " place"],
    q: Float[Tensor, " place"],
    contrast_low: Float[Tensor, " place"],
    contrast_q: Float[Tensor, " place"],
) -> dict[str, int]:
    """How many neurons of each kind the model misses at all, and how many most on the tokens of their label."""
    missed, serving = (q < Q) & (low > 0), (contrast_q < Q) & (contrast_low > BOUND)
    return {
        f"{kind} {what}": int((found & of).sum())
        for kind, of in zip(KINDS, (~by_word, by_word), strict=True)
        for what, found in ((MISSED, missed), (SERVING, serving))
    }


@dataclass(frozen=True, eq=False)
class MeanAblationResult(CountedResult):
    """The increase of the loss without each labelled neuron (see `mean_ablation`), in nats per token.

    Intervals are 95%, paired, from the jackknife over stories; every q is two-sided, by Benjamini and Hochberg over all
    neurons. The controls are unlabelled neurons of the same layers, measured on the same tokens; NaN without them.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("place",)
    axis_names: ClassVar[dict[str, str | tuple[str, ...]]] = {}

    model: str
    """The model's name."""
    rows: int
    """Stories that were read."""
    tokens: int
    """Tokens whose loss counts."""
    baseline: float
    """Loss of the whole model, nats per token."""
    labels: list[str]
    """The label of each neuron."""

    layer: Int[Tensor, " place"]
    neuron: Int[Tensor, " place"]
    by_word: Bool[Tensor, " place"]
    """Whether the label is a word, and no part of speech."""
    control: Int[Tensor, " place"]
    """The unlabelled neuron of the same layer."""
    served: Float[Tensor, " place"]
    """Tokens of the label that have others to compare with."""
    increase: Float[Tensor, " place"]
    """Loss without the neuron minus the baseline."""
    low: Float[Tensor, " place"]
    """Lower end of its interval."""
    high: Float[Tensor, " place"]
    """Upper end of its interval."""
    q: Float[Tensor, " place"]
    """False discovery rate of the claim that the increase is not 0."""
    on_served: Float[Tensor, " place"]
    """The increase at tokens of the label."""
    on_others: Float[Tensor, " place"]
    """The increase at other tokens of the same stories, before tokens as frequent."""
    contrast: Float[Tensor, " place"]
    """`on_served` minus `on_others`, paired by story."""
    contrast_low: Float[Tensor, " place"]
    """Lower end of its interval."""
    contrast_high: Float[Tensor, " place"]
    """Upper end of its interval."""
    contrast_q: Float[Tensor, " place"]
    """False discovery rate of the claim that the contrast is not 0."""
    control_contrast: Float[Tensor, " place"]
    """The contrast of the unlabelled neuron at the same tokens."""
    control_contrast_low: Float[Tensor, " place"]
    """Lower end of its interval."""
    control_contrast_q: Float[Tensor, " place"]
    """Its false discovery rate."""

    of_halves: list[dict[str, int]] = field(default_factory=list, kw_only=True)
    """The counts on halves of the stories, each half followed by its complement (see `tslens.halves`); empty where
    these are too few."""

    def finding(self, place: int) -> str:
        """What the ablation says of a neuron's label, one of `FINDINGS`."""
        low, high = float(self.contrast_low[place]), float(self.contrast_high[place])
        if self.contrast_q[place] < Q and low > BOUND:
            return FINDINGS[0]
        if low > -BOUND and high < BOUND:
            return FINDINGS[1] if self.q[place] < Q and self.low[place] > 0 else FINDINGS[2]
        return FINDINGS[3]

    def counts(self) -> dict[str, int]:
        """The number of neurons of each kind that are missed, and of those missed most on the tokens of their label."""
        return counted(self.by_word, self.low, self.q, self.contrast_low, self.contrast_q)

    def controls(self) -> dict[str, int]:
        """By kind, the unlabelled neurons that the model misses most on the same tokens."""
        found = (self.control_contrast_q < Q) & (self.control_contrast_low > BOUND)
        return {kind: int((found & of).sum()) for kind, of in zip(KINDS, (~self.by_word, self.by_word), strict=True)}

    def summary(self) -> "pd.DataFrame":
        """One row per labelled neuron, the largest contrast first."""
        frame = self.to_frame()
        frame["label"] = self.labels
        frame["finding"] = [self.finding(i) for i in range(len(self.labels))]
        columns = ["layer", "neuron", "label", "finding", "contrast", "contrast_low", "contrast_high", "contrast_q"]
        columns += ["increase", "low", "high", "on_served", "on_others", "served", "control", "control_contrast"]
        ordered = frame.sort_values("contrast", ascending=False, kind="stable", na_position="last")
        return ordered[columns].reset_index(drop=True)

    def headline(self) -> str:
        """How many neurons are missed most on the tokens of their label."""
        counts, known = self.counts(), not self.control_contrast.isnan().all()
        said = []
        for kind, of in zip(KINDS, (~self.by_word, self.by_word), strict=True):
            beside = f" ({self.controls()[kind]} of as many unlabelled ones on the same tokens)" if known else ""
            said += [f"{counts[f'{kind} {SERVING}']} of {int(of.sum())} {kind}{beside}"] if of.any() else []
        return (
            f"Without it the model loses most on the tokens of its label: {', '.join(said)}. "
            f"{self.rows} stories, {self.tokens:,} tokens."
        )

    def figure(self) -> "Figure":
        """The contrasts of labelled neurons and of their controls."""
        from tslens import plots

        groups = {"labelled": self.contrast, "unlabelled, on the same tokens": self.control_contrast}
        return plots.strip(
            {name: values[~values.isnan()] for name, values in groups.items() if not values.isnan().all()},
            title=f"{self.model}: mean ablation of neurons",
            x_label="nats lost on tokens of the label, beyond others",
        )
