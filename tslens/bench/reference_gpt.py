"""A plain PyTorch GPT, the reference for speed.

It is optimised like ours: fused attention, one product for queries, keys and values, tied embeddings, and nothing that
training does not need.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tslens.models import Spec


class Block(nn.Module):
    """Attention and MLP, each added to the residual stream after a layer norm of it."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        d = spec.d_model
        self.heads = spec.n_heads
        self.norm1, self.norm2 = nn.LayerNorm(d, spec.eps), nn.LayerNorm(d, spec.eps)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, spec.mlp_width), nn.Linear(spec.mlp_width, d)

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        batch, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(z.transpose(1, 2).reshape(batch, n, d))
        mlp: Tensor = self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return x + mlp


class ReferenceGPT(nn.Module):
    """A GPT-2 style model of a `gpt2` spec."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        assert spec.style == "gpt2" and spec.tied and not spec.local_layers
        self.tokens, self.positions = nn.Embedding(spec.d_vocab, spec.d_model), nn.Embedding(spec.n_ctx, spec.d_model)
        self.blocks = nn.ModuleList([Block(spec) for _ in range(spec.n_layers)])
        self.norm = nn.LayerNorm(spec.d_model, spec.eps)
        for p in self.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, rows: Int[Tensor, "batch pos"]) -> Float[Tensor, ""]:
        """The mean loss of predicting each token of the rows from those before it."""
        read, wanted = rows[:, :-1], rows[:, 1:]
        x = self.tokens(read) + self.positions(torch.arange(read.shape[1], device=rows.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())
