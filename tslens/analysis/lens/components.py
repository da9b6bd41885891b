"""What each component adds to a logit: the last residual as a sum of writes, read through the final norm as it is.

Direct logit attribution (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"). The norm's scale is
that of the whole residual, held fixed; its centring and its gain are linear and belong to the direction that is read.
A norm after attention is read likewise. So the contributions add up to the logit before any cap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.analysis.lens.unembedding import Unembedding
from tslens.models import Spec

if TYPE_CHECKING:
    from tslens.models import LanguageModel

EMBED, POSITION, ATTENTION_BIASES = "embedding", "position", "attention biases"
LAST_BIASES = {"ln_final.b": "final norm's bias", "unembed.b_U": "unembedding's bias"}
"""Components that are one parameter each, and stand where the model has it."""


def component_hooks(spec: Spec) -> list[str]:
    """The activations that hold every write to the residual stream, and the last residual."""
    start = ["hook_embed", "hook_pos_embed"] if spec.positions == "learned" else ["hook_embed"]
    parts = ("attn.hook_z", "hook_mlp_out") if spec.has_mlp else ("attn.hook_z",)
    block = [f"blocks.{i}.{name}" for i in range(spec.n_layers) for name in parts]
    return [*start, *block, *forward.scale_hooks(spec, "attn"), f"blocks.{spec.n_layers - 1}.hook_resid_post"]


def component_names(spec: Spec) -> list[str]:
    """Every component: embeddings, then by layer the heads and the MLP (with its bias), then the biases.

    A head's value bias is its own; the output bias of an attention belongs to no head, and those of all layers are one
    component.
    """
    positions, biases = spec.positions == "learned", [ATTENTION_BIASES] if spec.biased else []
    layers = [
        name
        for i in range(spec.n_layers)
        for name in (*(f"head {i}.{h}" for h in range(spec.n_heads)), *([f"MLP {i}"] if spec.has_mlp else []))
    ]
    last = [name for parameter, name in LAST_BIASES.items() if parameter in spec.parameter_shapes()]
    return [EMBED, *([POSITION] if positions else []), *layers, *biases, *last]


@dataclass(frozen=True)
class Components:
    """The weights through which components write to the residual stream, and those that read it last."""

    unembedding: Unembedding
    attention: list[forward.WriteMap]
    """Of each layer."""

    @classmethod
    def of(cls, model: "LanguageModel") -> "Components":
        """Those of this model, detached."""
        unembedding = Unembedding.of(model)
        return cls(unembedding, [forward.written(model, i, "attn") for i in range(unembedding.spec.n_layers)])

    @property
    def columns(self) -> Float[Tensor, "d_vocab direction"]:
        """The direction of each token's logit; where the unembedding has a bias, that is one more coordinate."""
        w, bias = self.unembedding.weight.T, self.unembedding.bias
        return w if bias is None else torch.cat([w, bias[:, None]], dim=1)

    def vocabulary_mean(self) -> Float[Tensor, " direction"]:
        """The mean direction of all tokens: a logit less the mean of all logits does not depend on what shifts all."""
        return self.columns.mean(0)

    def directions(self, targets: Int[Tensor, " row"], reference: Float[Tensor, "*row direction"]) -> Tensor:
        """The direction of each target's logit, less the reference."""
        return self.columns[targets] - reference

    def contributions(
        self, writes: Mapping[str, Tensor], directions: Float[Tensor, "row direction"]
    ) -> Float[Tensor, "row component"]:
        """What each component adds to each row's logit in this direction; `writes` are `component_hooks` by row."""
        unembedding, spec = self.unembedding, self.unembedding.spec
        directions, bias = directions.tensor_split([spec.d_model], dim=1)
        final = writes[f"blocks.{spec.n_layers - 1}.hook_resid_post"]
        read = unembedding.read_direction(directions) / unembedding.scale(final)
        found = [torch.linalg.vecdot(writes["hook_embed"].float(), read)[:, None]]
        if spec.positions == "learned":
            found.append(torch.linalg.vecdot(writes["hook_pos_embed"].float(), read)[:, None])
        biases = read.new_zeros(len(read))
        for layer, attention in enumerate(self.attention):
            z = writes[f"blocks.{layer}.attn.hook_z"].float()
            scaled = read if attention.scale is None else read / writes[attention.scale]
            found.append(torch.linalg.vecdot(z, torch.einsum("rd,hed->rhe", scaled, attention.weight)))
            biases += scaled @ attention.bias
            if attention.constant is not None:
                biases += read @ attention.constant
            if spec.has_mlp:
                found.append(torch.linalg.vecdot(writes[f"blocks.{layer}.hook_mlp_out"].float(), read)[:, None])
        if spec.biased:
            found.append(biases[:, None])
        if (constant := unembedding.constant(directions)) is not None:
            found.append(constant[:, None])
        return torch.cat([*found, bias], dim=1)

    def logits(self, writes: Mapping[str, Tensor], directions: Float[Tensor, "row direction"]) -> Float[Tensor, " row"]:
        """The logit of each row in this direction before any cap, from the last residual as a whole."""
        final = writes[f"blocks.{self.unembedding.spec.n_layers - 1}.hook_resid_post"]
        directions, bias = directions.tensor_split([final.shape[1]], dim=1)
        found: Tensor = torch.linalg.vecdot(self.unembedding.normed(final), directions)
        return found + bias.sum(1)


def rows_of(activations: Mapping[str, Tensor], names: Sequence[str], at: Tensor) -> dict[str, Tensor]:
    """The activations of these names at the places `at` (batch pos), a row each."""
    return {name: activations[name][:, : at.shape[1]][at] for name in names}
