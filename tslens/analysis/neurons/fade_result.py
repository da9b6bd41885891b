"""The result of FADE's measures: how each label holds on generator truth, and whether the steered model writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEASURES = ("clarity", "responsiveness", "purity", "faithfulness")
KINDS = ("part-of-speech", "one-word")


@dataclass(frozen=True, eq=False)
class FadeResult(CountedResult):
    """FADE's measures of every label that predicts, on stories of the generator (see `fade` for the method).

    Clarity and responsiveness are Gini coefficients from -1 to 1, purity an average precision, faithfulness a share of
    next-token probability. Intervals are 95%, by the jackknife over stories. NaN where too few tokens are of the label.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("place",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"measure": MEASURES}

    model: str
    """The model's name."""
    labels: list[str]
    """The label of each neuron."""
    by_word: Bool[Tensor, " place"]
    """Whether the label is one word."""
    layer: Int[Tensor, " place"]
    neuron: Int[Tensor, " place"]
    value: Float[Tensor, "place measure"]
    low: Float[Tensor, "place measure"]
    """Lower end of its interval."""
    high: Float[Tensor, "place measure"]
    """Upper end of its interval."""
    controls: Float[Tensor, "place control measure"]
    """The same of neurons of the layer that have no label, on the same tokens and for the same label; NaN where the
    layer has fewer."""
    strength: Float[Tensor, " place"]
    """The activation, in units of the neuron's own large one, with which the model writes most of the label; 0 where no
    strength raises it."""
    positives: Int[Tensor, " place"]
    """Generated tokens of the label that tested it."""
    natural: int
    """Natural stories that were read."""
    made: int
    """Generated stories that were read."""
    prompts: int
    """Natural stories in which neurons were steered."""

    @property
    def null(self) -> Float[Tensor, "place measure"]:
        """The largest value of a control; NaN where there is none."""
        most = self.controls.nan_to_num(nan=-torch.inf).amax(1)
        return most.masked_fill(self.controls.isnan().all(1), torch.nan)

    @property
    def p(self) -> Float[Tensor, "place measure"]:
        """Rank of the value among its own and those of the controls: 0.05 at best with 19. NaN where there is none."""
        there = ~self.controls.isnan()
        rank = (1 + (self.controls >= self.value[:, None]).sum(1)) / (1 + there.sum(1))
        return rank.float().masked_fill(~there.any(1) | self.value.isnan(), torch.nan)

    @property
    def above(self) -> Bool[Tensor, "place measure"]:
        """Whether the whole interval is above every control."""
        return self.low > self.null

    def counts(self) -> dict[str, int]:
        """The number of neurons whose interval is above every control, by measure, parts of speech and words apart."""
        return {
            f"{kind} neurons of {measure}": int((self.above[:, i] & (self.by_word == bool(by_word))).sum())
            for by_word, kind in enumerate(KINDS)
            for i, measure in enumerate(MEASURES)
        }

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per neuron: its label, and each measure with its interval, the largest control and the rank p."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        frame["label"] = self.labels
        ends = {"": self.value, "_low": self.low, "_high": self.high, "_null": self.null, "_p": self.p}
        for i, name in enumerate(MEASURES):
            for end, values in ends.items():
                frame[f"{name}{end}"] = values[:, i].numpy()
        return frame

    def summary(self) -> "pd.DataFrame":
        """The neurons, those first whose steering writes most of their label."""
        columns = ["layer", "neuron", "label"]
        columns += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high", "_null")]
        frame = self.to_frame().sort_values("faithfulness", ascending=False, kind="stable", na_position="last")
        return frame[[*columns, "strength", "positives"]].reset_index(drop=True)

    def said(self) -> str:
        """How many labels hold by each measure, in words."""
        if not self.labels:
            return "No label predicts where its neuron fires, so none is measured. 100 stories or more say something"
        found = self.counts()
        parts = [
            f"{name} {found[f'{KINDS[0]} neurons of {name}']} of {int((~self.by_word).sum())} parts of speech and "
            f"{found[f'{KINDS[1]} neurons of {name}']} of {int(self.by_word.sum())} words"
            for name in MEASURES
        ]
        firing = int((self.above[:, -1] & (self.strength > 0)).sum())
        return (
            f"Above {self.controls.shape[1]} other neurons of the layer with the whole interval: {'; '.join(parts)}, "
            f"{firing} of these where the neuron fires, the others where it is negative ({self.made} generated and "
            f"{self.natural} natural stories, {self.prompts} of them steered)"
        )

    def headline(self) -> str:
        """How many labels hold by each measure."""
        return f"{self.said()}."

    def figure(self) -> "Figure":
        """Every measure of the labels with its interval, beside the controls as grey dots."""
        from tslens.analysis.neurons.fade_figure import draw

        return draw(self)
