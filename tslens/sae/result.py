"""Results about features: profiles and tested labels as those of neurons, and all kinds beside one another."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.neurons import HeldOutResult, ProfilesResult
from tslens.result import Result
from tslens.sae.dictionary import FROZEN, KINDS, TRAINED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LABELS = ("part of speech", "one word")
"""What a label is; the two are never added up."""


@dataclasses.dataclass(frozen=True, eq=False)
class FeaturesResult(ProfilesResult):
    """The profile of every feature of a dictionary, by the rules for neurons. The axis `layer` has one place, and the
    axis `neuron` is the number of the feature."""

    kind: str
    """What the features are, one of `KINDS`."""
    hook: str
    """The activation that they are of."""
    k: int
    """Features that are active on a token, at most; 0 for neurons."""
    explained: float
    """Share of the activation's variance that they explain on stories they were not trained on; NaN for neurons."""

    @property
    def called(self) -> str:
        """What the features are, in a few words."""
        return f"{self.kind} of {self.hook} of"

    def layer_of(self, layer: int) -> str:
        """The number of the hook's block."""
        return block_of(self.hook)

    def counts(self) -> dict[str, int]:
        """The number of features labelled with a part of speech, with each of these, and with one word."""
        return {label.replace("neurons", self.kind): n for label, n in super().counts().items()}

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per feature, as of neurons; `layer` is the hook's block."""
        return _of_block(super().to_frame(field), self.hook)


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOutFeaturesResult(HeldOutResult):
    """Labels of features made from one half of the stories and tested on the other, by the rules for neurons."""

    kind: str
    """What the features are, one of `KINDS`."""
    hook: str
    """The activation that they are of."""

    def layer_of(self, layer: int) -> str:
        """The number of the hook's block."""
        return block_of(self.hook)

    def counts(self) -> dict[str, int]:
        """The number of features whose label predicts: of all parts of speech, of each, and of one word."""
        return {label.replace("neurons", self.kind): n for label, n in super().counts().items()}

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per feature, as of neurons; `layer` is the hook's block."""
        return _of_block(super().to_frame(field), self.hook)


def block_of(hook: str) -> str:
    """The number of the block of a hook."""
    return hook.split(".")[1]


def _of_block(frame: "pd.DataFrame", hook: str) -> "pd.DataFrame":
    if "layer" in frame:
        frame["layer"] = int(block_of(hook))
    return frame


@dataclasses.dataclass(frozen=True, eq=False)
class ComparedFeaturesResult(Result):
    """Neurons of a block, features of an activation there, and random features of it: labelled by the same rules at the
    same q, and the labels that one half of the stories gives tested on the other half.

    Features that never fire are not counted. Intervals are 95%, over stories (`halves.around`).
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("kind", "label")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"kind": KINDS, "label": LABELS}

    model: str
    """The model's name."""
    hook: str
    """The activation."""
    stories: int
    """Stories that were read."""
    number: Int[Tensor, " kind"]
    """Neurons or features."""
    alive: Int[Tensor, " kind"]
    """Those that fire on a token."""
    active: Float[Tensor, " kind"]
    """How many are above 0 on a token, the mean."""
    explained: Float[Tensor, " kind"]
    """Share of the activation's variance that they explain on stories they were not trained on; NaN for neurons."""
    labelled: Int[Tensor, "kind label"]
    """Those with a label, from all stories."""
    labelled_low: Float[Tensor, "kind label"]
    """Lower end of its interval."""
    labelled_high: Float[Tensor, "kind label"]
    """Upper end of it."""
    share: Float[Tensor, "kind label"]
    """`labelled` among those that fire."""
    tested: Int[Tensor, "kind label"]
    """Labels that one half of the stories gives and the other half has enough tokens to test."""
    holding: Int[Tensor, "kind label"]
    """Those of them that tell their tokens there at all: AUROC above 0.5 at q = 0.05, over all labels of a kind."""
    predicting: Int[Tensor, "kind label"]
    """Those of them that predict there: the lower end of the AUROC is above 0.7."""
    auroc: Float[Tensor, "kind label"]
    """Median AUROC of the tested labels; NaN without one."""
    precision: Float[Tensor, "kind label"]
    """Their median precision: of the tokens on which a feature is above its 90% quantile (which for one that fires on
    fewer tokens is 0), the share that is of the label."""
    base_rate: Float[Tensor, "kind label"]
    """The median share of the label among all tokens: the precision of a random activation."""

    @property
    def beyond_random(self) -> Bool[Tensor, " label"]:
        """Of which labels the trained features have more than the random ones: one interval lies above the other."""
        return self.labelled_low[KINDS.index(TRAINED)] > self.labelled_high[KINDS.index(FROZEN)]

    def headline(self) -> str:
        """How many of each kind have a label of a part of speech, and how many predict it on other stories."""
        of = LABELS.index("part of speech")
        counts = zip(
            self.labelled[:, of].tolist(), self.alive.tolist(), KINDS, self.predicting[:, of].tolist(), strict=True
        )
        each = ", ".join(f"{n:,} of {alive:,} {kind} ({hold:,} predict it)" for n, alive, kind, hold in counts)
        return f"A part of speech is the label of {each}."

    def figure(self) -> "Figure":
        """The share of those that fire that have a label, with its interval."""
        from tslens import plots

        ends = (part / self.alive[:, None].clamp(min=1) for part in (self.labelled_low, self.labelled_high))
        low, high = (end.flatten() for end in ends)
        return plots.bars(
            [f"{kind}: {label}" for kind in KINDS for label in LABELS],
            self.share.flatten(),
            low=low,
            high=high,
            title=f"{self.model}, {self.hook}: labelled at the same q",
            x_label="share of those that fire, 95% interval over stories",
        )

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per kind and kind of label, with the counts of the kind in each row."""
        frame = super().to_frame(field)
        if field is None:
            for at, name in enumerate(("number", "alive", "active", "explained"), start=1):
                frame.insert(at, name, getattr(self, name).repeat_interleave(len(LABELS)).numpy())
        return frame
