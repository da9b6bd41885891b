"""What would the model say after each layer? (logit lens)

The residual stream between blocks is read as if it were the last: final norm, then unembedding (nostalgebraist 2020,
"interpreting GPT: the logit lens"). Weights are as trained: no norm is folded in, nothing is centred, and the final
norm measures each residual by its own scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from tslens.result import Result


@dataclass(frozen=True, eq=False)
class LensOfPrompt(Result):
    """The logit lens over one text: what every depth would say next, at every position."""

    frame_axes: ClassVar[tuple[str, ...]] = ("depth", "pos")

    model: str
    """Name of the model's shape."""
    text: str
    """What was read."""
    tokens: list[str]
    """The tokens as text to show, BOS first."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    top_tokens: list[list[list[str]]]
    """The likeliest next tokens as text, by depth, position and rank."""
    top_ids: Int[Tensor, "depth pos k"]
    """Their ids."""
    top_probability: Float[Tensor, "depth pos k"]
    """Their probabilities."""
    true_probability: Float[Tensor, "depth pos"]
    """Probability of the token that really comes next; NaN at the last position."""
    true_rank: Int[Tensor, "depth pos"]
    """Its rank, 1 for the likeliest; 0 at the last position, where none comes next."""
    entropy: Float[Tensor, "depth pos"]
    """Entropy of the next-token distribution, nats."""

    @property
    def axis_labels(self) -> Mapping[str, list[Any]]:
        return {"depth": self.depths}


@dataclass(frozen=True, eq=False)
class LensByDepth(Result):
    """The logit lens over a corpus, by depth. Intervals are 95%, over whole stories."""

    frame_axes: ClassVar[tuple[str, ...]] = ("depth",)

    model: str
    """Name of the model's shape."""
    stories: int
    """Stories that were read."""
    tokens: int
    """Tokens that were predicted."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    loss: Float[Tensor, " depth"]
    """Cross-entropy of the next token, nats per token."""
    loss_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    loss_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    kl: Float[Tensor, " depth"]
    """KL divergence of the final distribution from this depth's, nats per token."""
    kl_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    kl_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    agreement: Float[Tensor, " depth"]
    """Share of positions where this depth's likeliest token is the final one's."""
    agreement_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    agreement_high: Float[Tensor, " depth"]
    """Upper end of its interval."""

    @property
    def axis_labels(self) -> Mapping[str, list[Any]]:
        return {"depth": self.depths}
