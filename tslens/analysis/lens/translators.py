"""The translators of a tuned lens: one affine map per depth, from the residual there to the last one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.lens.unembedding import Unembedding
from tslens.errors import InputError
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CLOSED, TUNED, IDENTITY = "closed form", "fine-tuned", "identity"


@dataclass(frozen=True, eq=False)
class TranslatorsResult(Result):
    """A tuned lens (Belrose et al. 2023, arXiv 2303.08112): at each depth the residual h becomes h + h A + b before the
    final norm and the unembedding.

    The closed form is the ridge regression of what the later blocks add on what is there; gradient descent on the KL
    divergence from the model's own prediction follows, and is kept at the depths where it lowers that divergence on
    the check stories: a fifth of the stories, by the hash of their text, that neither stage learns from. At the last
    depth the translator is the identity. Before a layer norm the mean of a residual over its coordinates is neither
    read nor written, because no part of the model can read it.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("depth",)
    axis_names: ClassVar[Mapping[str, str]] = {"depth": "depths"}

    model: str
    """The model's name."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    weight: Float[Tensor, "depth read write"]
    """A of every depth."""
    bias: Float[Tensor, "depth write"]
    """b of every depth."""
    ridge: Float[Tensor, " depth"]
    """Penalty of the closed form, as a share of the mean variance of a coordinate; the best on the check stories."""
    closed_kl: Float[Tensor, " depth"]
    """KL divergence of the model's prediction from the closed form's, on the check stories, nats per token."""
    tuned_kl: Float[Tensor, " depth"]
    """The same after gradient descent; NaN where there was none."""
    gain_low: Float[Tensor, " depth"]
    """Lower end of the 95% interval over stories of `closed_kl - tuned_kl`; fine-tuning is kept if it is above 0."""
    gain_high: Float[Tensor, " depth"]
    """Upper end."""
    how: list[str]
    """What the translator of each depth is: `closed form`, `fine-tuned` or `identity`."""
    story_hashes: Int[Tensor, " story"]
    """Hash of the text of every story of the fit, check stories included, ascending: none of these may judge it."""
    check_stories: int
    """How many of them are check stories."""
    tokens: int
    """Tokens that the closed form was fitted on."""
    steps: int
    """Steps of gradient descent."""
    seed: int
    """Seed of the order of its batches."""

    def of(self, unembedding: Unembedding, residual: Float[Tensor, "row d_model"], depth: int) -> Tensor:
        """A residual of this depth, translated; the last depth's comes back itself."""
        if depth == len(self.depths) - 1:
            return residual
        h = unembedding.readable(residual)
        weight, bias = (part[depth].to(h.device) for part in (self.weight, self.bias))
        return h + h @ weight + bias

    def headline(self) -> str:
        """How near the lens is to the model's own prediction, at its first and its last fitted depth."""
        kept = torch.where(torch.tensor([one == "fine-tuned" for one in self.how]), self.tuned_kl, self.closed_kl)
        return (
            f"Before any block the tuned lens is {float(kept[0]):.3f} nats per token from the model's own prediction, "
            f"before the last one {float(kept[-2]):.3f}, on {self.check_stories:,} check stories."
        )

    def summary(self) -> "pd.DataFrame":
        """One row per depth: how its translator was made, and its divergence on the check stories."""
        frame = self.to_frame()
        frame.insert(1, "translator", self.how)
        return frame

    def figure(self) -> "Figure":
        """Divergence on the check stories by depth, of the closed form and after gradient descent."""
        from tslens import plots

        series = {CLOSED: self.closed_kl[:-1]} | ({} if self.tuned_kl.isnan().all() else {TUNED: self.tuned_kl[:-1]})
        return plots.lines(
            series,
            ticks=self.depths[:-1],
            title=f"Tuned lens of {self.model}, on {self.check_stories} check stories",
            x_label="after block",
            y_label="KL of the final, nats per token",
        )


def check_fits(unembedding: Unembedding, lens: TranslatorsResult | None, name: str) -> None:
    """InputError if the translators are those of a model of another shape; the logit lens (None) fits every model."""
    depths, width = unembedding.spec.n_layers + 1, unembedding.spec.d_model
    if lens is not None and lens.bias.shape != (depths, width):
        raise InputError(
            f"The {name} is of a model of {lens.bias.shape[0] - 1} layers and width {lens.bias.shape[1]}, and this one "
            f"has {depths - 1} and {width}. Fit it on this model."
        )
