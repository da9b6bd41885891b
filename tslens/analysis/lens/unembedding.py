"""The final norm and the unembedding: from a residual to log-probabilities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

    @classmethod
    def of(cls, model: "LanguageModel") -> "Unembedding":
        """The unembedding of this model, detached."""
        gain, bias = final_gain(model)
        norm = (gain.detach(), None if bias is None else bias.detach())
        return cls(name_of(model), spec_of(model), norm, model.unembed.W_U.detach())

    def log_probabilities(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Log-probabilities of the next token if this residual were the last."""
        normed = forward.norm(residual.float(), *self.norm, self.spec.eps, self.spec.style)
        return (normed @ self.weight).log_softmax(-1)
