"""The result of ablating labelled neurons: what the model loses on the tokens of the label."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float, Int
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
MISSED, SERVING = "labelled neurons that are missed", "labelled neurons missed most on the tokens of their label"
"""The labels under which neurons are counted."""
COUNTED = ("low", "q", "contrast_low", "contrast_q")
"""What `counted` reads."""


def counted(
    low: Float[Tensor, " place"],
    q: Float[Tensor, " place"],
    contrast_low: Float[Tensor, " place"],
    contrast_q: Float[Tensor, " place"],
) -> dict[str, int]:
    """How many neurons the model misses at all, and how many most on the tokens of their label."""
    return {
        MISSED: int(((q < Q) & (low > 0)).sum()),
        SERVING: int(((contrast_q < Q) & (contrast_low > BOUND)).sum()),
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
        """The number of labelled neurons that are missed, and of those missed most on the tokens of their label."""
        return counted(self.low, self.q, self.contrast_low, self.contrast_q)

    @property
    def serves(self) -> int:
        """Labelled neurons that the model misses most on the tokens of their label."""
        return self.counts()[SERVING]

    @property
    def controls_that_serve(self) -> int:
        """Unlabelled neurons that it misses most on the same tokens."""
        return int(((self.control_contrast_q < Q) & (self.control_contrast_low > BOUND)).sum())

    def summary(self) -> "pd.DataFrame":
        """One row per labelled neuron, the largest contrast first."""
        frame = self.to_frame()
        frame["label"] = self.labels
        frame["finding"] = [self.finding(i) for i in range(len(self.labels))]
        columns = ["layer", "neuron", "label", "finding", "contrast", "contrast_low", "contrast_high", "contrast_q"]
        columns += ["increase", "low", "high", "on_served", "on_others", "served", "control", "control_contrast"]
        ordered = frame.sort_values("contrast", ascending=False, kind="stable", na_position="last")
        return ordered[columns].reset_index(drop=True)

    def __str__(self) -> str:
        told = (
            ""
            if self.control_contrast.isnan().all()
            else (f", {self.controls_that_serve} of as many unlabelled ones of the same layers on the same tokens")
        )
        return (
            f"{super().__str__()}\nWithout it the model loses most on the tokens of its label: {self.serves} of "
            f"{len(self.labels)} labelled neurons{told} ({self.rows} stories, {self.tokens:,} tokens)."
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
