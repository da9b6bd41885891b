"""The fused forward, whole or from a given block on, with the attention of every block in the caller's hands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward
from tslens.forward.run import embed
from tslens.models import Spec, spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ROWS = 512  # positions whose logits exist at a time


@dataclass(frozen=True)
class FromBlock:
    """A model's blocks, for many passes that differ in what one block does."""

    model: "LanguageModel"
    spec: Spec
    layers: list[forward.Layer]
    attend: forward.Attention

    @classmethod
    def of(cls, model: "LanguageModel") -> "FromBlock":
        spec = spec_of(model)
        return cls(model, spec, forward.layers(model, spec, pack=True), forward.fused_attention(spec))

    def run(
        self,
        residual: Float[Tensor, "row pos d_model"],
        first: int,
        attend: forward.Attention,
        positions: Int[Tensor, " pos"] | None = None,
    ) -> Float[Tensor, "row pos d_model"]:
        """The residual stream after the last block, from that before block `first`; `positions` are those that rotary
        embeddings read (default: 0, 1, 2, ...)."""
        positions = torch.arange(residual.shape[1], device=residual.device) if positions is None else positions
        cos_sin = forward.rotary_cos_sin(self.spec, positions) if self.spec.style == "llama" else None
        for i in range(first, self.spec.n_layers):
            residual = forward.block(self.spec, i, self.layers[i], residual, cos_sin, attend)
        return residual

    def losses(
        self,
        residual: Float[Tensor, "row pos d_model"],
        tokens: Int[Tensor, "row pos"],
        scored: Bool[Tensor, "row pos"],
    ) -> Float[Tensor, " scored"]:
        """The cross-entropy of every scored token in nats, row after row, from the residual after the last block."""
        counted = scored[:, 1:]
        rows = forward.final_norm(self.model, self.spec, residual[:, :-1][counted])
        parts = zip(torch.split(rows, ROWS), torch.split(tokens[:, 1:][counted], ROWS), strict=True)
        losses = [
            torch.nn.functional.cross_entropy(forward.unembed(self.model, part), wanted, reduction="none")
            for part, wanted in parts
        ]
        return torch.cat(losses).double()

    def patterns(
        self,
        tokens: Int[Tensor, "row pos"],
        see: Callable[[int, Float[Tensor, "row head query key"]], None],
        positions: Int[Tensor, " pos"] | None = None,
    ) -> None:
        """Gives `see` every layer's attention over rows of one length, layer by layer. `positions` replace 0, 1, 2, ...
        in learned and in rotary embeddings; what a query sees still follows the order of the tokens."""
        positions = torch.arange(tokens.shape[1], device=tokens.device) if positions is None else positions

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            pattern = forward.attention_scores(self.spec, layer, q, k).softmax(-1)
            see(layer, pattern)
            v = v.repeat_interleave(q.shape[2] // v.shape[2], dim=2)
            return torch.matmul(pattern, v.transpose(1, 2)).transpose(1, 2)

        self.run(embed(self.model, self.spec, tokens, positions), 0, attend, positions)
