"""The final norm and the unembedding: from a residual to log-probabilities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward
from tslens.forward.blocks import final_gain
from tslens.models import Spec, name_of, spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ROWS = 256  # positions whose logits exist at a time


def hooks(spec: Spec) -> list[str]:
    """The residual stream at every depth: before each block, and after the last."""
    return [f"blocks.{i}.hook_resid_pre" for i in range(spec.n_layers)] + [
        f"blocks.{spec.n_layers - 1}.hook_resid_post"
    ]


def depth_names(spec: Spec) -> list[str]:
    """Names of the depths: `embed`, then the number of the block just passed."""
    return ["embed", *map(str, range(spec.n_layers))]


@dataclass(frozen=True)
class Unembedding:
    """The final norm and the unembedding, as trained: they turn a residual into log-probabilities."""

    model: str
    spec: Spec
    norm: tuple[Tensor, Tensor | None]
    weight: Float[Tensor, "d_model d_vocab"]
    kind: Literal["layer", "rms", "none"]
    """The final norm: layer norm, RMS norm, or none, where gain and bias are not read."""

    @classmethod
    def of(cls, model: "LanguageModel") -> "Unembedding":
        """The unembedding of this model, detached."""
        gain, bias = final_gain(model)
        norm = (gain.detach(), None if bias is None else bias.detach())
        spec = spec_of(model)
        return cls(name_of(model), spec, norm, model.unembed.W_U.detach(), "layer" if spec.style == "gpt2" else "rms")

    def log_probabilities(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Log-probabilities of the next token if this residual were the last."""
        return (self.normed(residual) @ self.weight).log_softmax(-1)

    def normed(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """The residual after the final norm, as the unembedding reads it."""
        if self.kind == "none":
            return residual.float()
        return forward.norm(residual.float(), *self.norm, self.spec.eps, "gpt2" if self.kind == "layer" else "llama")

    def readable(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """The residual as every part of the model reads it: without its mean where the norm is a layer norm."""
        residual = residual.float()
        return residual - residual.mean(-1, keepdim=True) if self.kind == "layer" else residual

    def scale(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows 1"]:
        """What the final norm divides a residual by."""
        if self.kind == "none":
            return torch.ones_like(residual[..., :1], dtype=torch.float32)
        return (self.readable(residual).pow(2).mean(-1, keepdim=True) + self.spec.eps).sqrt()

    def read_direction(self, direction: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """A direction of normed residuals as one of residuals: with the gain, and without what centring removes."""
        return direction if self.kind == "none" else self.readable(direction * self.norm[0])

    def constant(self, direction: Float[Tensor, "row d_model"]) -> Float[Tensor, " row"] | None:
        """What the final norm's bias adds in a direction; None if it has no bias."""
        return None if self.kind == "none" or self.norm[1] is None else direction @ self.norm[1]
