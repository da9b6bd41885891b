"""The final norm and the unembedding: from a residual to log-probabilities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.forward.blocks import final_gain
from tslens.models import Spec, name_of, output_bias, spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ROWS = 256  # positions whose logits exist at a time


def likeliest(logits: Float[Tensor, "row d_vocab"]) -> Int[Tensor, " row"]:
    """The first of each row's largest logits. NumPy finds it several times as fast as PyTorch."""
    return torch.from_numpy(logits.numpy().argmax(-1)) if logits.device.type == "cpu" else logits.argmax(-1)


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
    bias: Float[Tensor, " d_vocab"] | None = None
    """What the unembedding adds to the logits, where it adds something."""

    @classmethod
    def of(cls, model: "LanguageModel") -> "Unembedding":
        """The unembedding of this model, detached."""
        gain, bias = final_gain(model)
        norm = (gain.detach(), None if bias is None else bias.detach())
        spec, added = spec_of(model), output_bias(model)
        return cls(name_of(model), spec, norm, model.unembed.W_U.detach(), None if added is None else added.detach())

    def log_probabilities(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Log-probabilities of the next token if this residual were the last."""
        return self.logits(self.normed(residual)).log_softmax(-1)

    def logits(self, normed: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Logits of a residual after the final norm."""
        logits = normed @ self.weight
        return forward.capped(logits if self.bias is None else logits + self.bias, self.spec.logit_cap)

    def normed(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """The residual after the final norm, as the unembedding reads it."""
        return forward.norm(residual.float(), *self.norm, self.spec.eps, self.spec.final_norm)

    def readable(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """The residual as the final norm reads it: without its mean where that is a layer norm."""
        return forward.centred(self.spec.final_norm, residual.float())

    def scale(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows 1"]:
        """What the final norm divides a residual by."""
        return forward.norm_scale(self.spec.final_norm, self.spec.eps, residual.float())

    def read_direction(self, direction: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """A direction of normed residuals as one of residuals: with the gain, and without what centring removes."""
        return self.readable(direction * self.norm[0])

    def constant(self, direction: Float[Tensor, "row d_model"]) -> Float[Tensor, " row"] | None:
        """What the final norm's bias adds in a direction; None if it has no bias."""
        return None if self.norm[1] is None else direction @ self.norm[1]


@dataclass(frozen=True)
class FinalPrediction:
    """Predictions of which others' KL divergence is taken. Their mean of another's logits is a product of its normed
    residual with one mean of the unembedding's columns, unless logits are capped: then it is written out."""

    unembedding: Unembedding
    final: Float[Tensor, "row d_vocab"]
    """Log-probabilities."""
    probability: Float[Tensor, "row d_vocab"]
    own: Float[Tensor, " row"]
    """The mean of the log-probabilities."""
    column: Float[Tensor, "row d_model"]
    """The mean of the unembedding's columns."""

    @classmethod
    def of(cls, unembedding: Unembedding, residual: Float[Tensor, "row d_model"]) -> "FinalPrediction":
        """What these residuals predict."""
        final = unembedding.log_probabilities(residual)
        probability = final.exp()
        own = torch.linalg.vecdot(probability, final)
        return cls(unembedding, final, probability, own, probability @ unembedding.weight.T)

    def mean_logit(self, normed: Float[Tensor, "row d_model"], logits: Float[Tensor, "row d_vocab"]) -> Tensor:
        """The mean of other logits `[row]`, which come from these normed residuals."""
        if self.unembedding.spec.logit_cap:
            mean: Tensor = torch.linalg.vecdot(self.probability, logits)
            return mean
        mean = torch.linalg.vecdot(normed, self.column)
        return mean if self.unembedding.bias is None else mean + self.probability @ self.unembedding.bias

    def slope(self, logits: Float[Tensor, "row d_vocab"], exponentials: Tensor, total: Tensor) -> Tensor:
        """The gradient `[row d_model]` of the KL divergence at normed residuals with these logits, whose softmax is
        `exponentials / total`."""
        w, cap = self.unembedding.weight, self.unembedding.spec.logit_cap
        if not cap:
            return exponentials @ w.T / total - self.column
        return ((exponentials / total - self.probability) * (1 - (logits / cap) ** 2)) @ w.T
