"""The result for one snapshot of a run: its scores with intervals, its heads, neurons and lens, and what it writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOSS, REPETITION = "loss", "gain from repetition"
PREVIOUS, INDUCTION, BOS = "strongest previous-token head", "strongest induction head", "strongest BOS head"
POSITIONAL = "mean positional fraction"
UNITS = {
    LOSS: "nats per token",
    REPETITION: "nats per token",
    PREVIOUS: "share of its attention's KL from uniform",
    INDUCTION: "attention on repeated random tokens",
    BOS: "share of its attention's KL from uniform",
    POSITIONAL: "share of the attention's KL from uniform",
}
"""The scores that are no counts, with their units. Counts of heads by role and of neurons by label follow them."""
SHARES = (PREVIOUS, INDUCTION, BOS, POSITIONAL)
"""Those between 0 and 1, where their intervals end too."""
MEASURES = ("previous token", "induction", "BOS sink", "positional fraction")


def units_of(
    scores: Sequence[str], heads: Int[Tensor, "layer head"], neurons: Int[Tensor, "layer neuron"]
) -> Int[Tensor, " score"]:
    """Of how many heads or neurons each score is a count; 0 for those of `UNITS`, which are none."""
    counted = [neurons if "neurons" in name else heads for name in scores]
    return torch.tensor([0 if name in UNITS else of.numel() for name, of in zip(scores, counted, strict=True)])


def within(ends: Float[Tensor, "*axes score"], scores: Sequence[str]) -> Float[Tensor, "*axes score"]:
    """Ends of intervals, those of shares between 0 and 1."""
    shares = torch.tensor([name in SHARES for name in scores])
    return torch.where(shares, ends.clamp(0, 1), ends)


@dataclass(frozen=True, eq=False)
class SnapshotResult(Result):
    """What a model is at one step of its training.

    Intervals are 95%. Those of `loss`, the heads on stories and the counts are over whole stories (`tslens.halves`);
    those of the strongest induction head and of the gain from repetition are over rows of repeated random tokens
    (Elhage et al. 2021; Olsson et al. 2022, arXiv 2209.11895): Student's t.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("score",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "score": "scores",
        "depth": "depths",
        "measure": MEASURES,
    }

    model: str
    """The model's name, with the step."""
    step: int
    """Steps of training before it."""
    stories: int
    """Stories that were read."""
    scores: list[str]
    """`UNITS`, then the counts: heads by role, neurons by label."""
    value: Float[Tensor, " score"]
    """The score; of a strongest head the largest value of any head."""
    low: Float[Tensor, " score"]
    """Lower end of its interval; of a count at least 0."""
    high: Float[Tensor, " score"]
    """Upper end of its interval."""
    depths: list[str]
    """`embed`, then the number of the block just passed."""
    lens: Float[Tensor, " depth"]
    """Loss of the logit lens, nats per token."""
    lens_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    lens_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    role_code: Int[Tensor, "layer head"]
    """The role of every head, as its place in `heads.ROLES`."""
    effect: Float[Tensor, "layer head"]
    """How strongly the role holds, 0 to 1; NaN where unresolved."""
    measured: Float[Tensor, "measure layer head"]
    """The measures behind the scores, for every head: shares of the KL from uniform attention that the token before and
    BOS explain, attention mass on what followed on repeated random tokens, and the positional fraction."""
    labels: list[str]
    """The labels of neurons: parts of speech, and `one word`."""
    label: Int[Tensor, "layer neuron"]
    """The label of every neuron, as its place in `labels`; -1 where there is none."""
    prompts: list[str]
    """Prompts of the stories it wrote; an empty one starts a story."""
    texts: list[str]
    """A story for each prompt, prompt included."""
    of_twins: dict[str, list[float]] = field(default_factory=dict, kw_only=True)
    """The scores of untrained twins of the finished model, by score; empty where none was measured."""

    def figure(self) -> "Figure":
        """Every count with its interval."""
        from tslens import plots

        at = [i for i, name in enumerate(self.scores) if name not in UNITS]
        names, title = [self.scores[i] for i in at], f"{self.model} on {self.stories} stories"
        return plots.bars(
            names, self.value[at], low=self.low[at], high=self.high[at], title=title, x_label="heads or neurons"
        )
