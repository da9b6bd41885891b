"""The fast forward of a compressor: its encoder, trunk and decoder through the same fused blocks.

Encoder and decoder attend over two positions. Attention over two keys is a gate between their values, the logistic
function of the difference of the two scores, and is computed so, without an attention kernel.
"""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.forward.attention import Attention, fused_attention
from tslens.forward.blocks import Layer, final_norm, gain_of, layers, norm, run_blocks
from tslens.forward.linear import ROWS
from tslens.models import Spec
from tslens.models.compressor_spec import as_pairs, next_first

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def residual(
    model: "LanguageModel",
    tokens: Int[Tensor, "batch pos"],
    *,
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> Float[Tensor, "batch pos d_model"]:
    """The residual stream at every position after the final norm, as the unembedding reads it.

    InputError for a row longer than the context, and for a model with hooks, which this forward would not run.
    """
    refuse_hooks(model)
    spec, (batch, n) = model.spec, tokens.shape
    if n > spec.n_ctx:
        raise InputError(f"A row of {n} tokens is longer than this model's context of {spec.n_ctx}. Cut it.")
    pairs, real = as_pairs(tokens)
    pack = tokens.numel() >= ROWS
    encoder = layers(model.encoder, spec.encoder, dtype, pack=pack)
    vectors = encode(model, encoder, pairs.flatten(0, 1), real.flatten(0, 1), dropout)
    x = vectors.view(batch, -1, spec.d_model) + model.pos_embed.W_pos[: pairs.shape[1]]
    trunk = layers(model, spec.trunk, dtype, pack=pack)
    x = run_blocks(spec.trunk, trunk, x, None, fused_attention(spec.trunk), dropout=dropout)
    x = torch.stack([x, F.embedding(next_first(tokens), model.embed.W_E)], 2).flatten(0, 1)
    x = x + model.decoder.pos_embed.W_pos
    decoder = layers(model.decoder, spec.decoder, dtype, pack=pack)
    causal = torch.ones(1, 2, 2, dtype=torch.bool, device=x.device).tril()
    x = run_blocks(spec.decoder, decoder, x, None, pair_attention(spec.decoder, causal), dropout=dropout)
    return final_norm(model, spec.trunk, x.view(batch, -1, spec.d_model)[:, :n])


def encode(
    model: "LanguageModel",
    weights: list[Layer],
    pairs: Int[Tensor, "pair 2"],
    real: Bool[Tensor, "pair 2"],
    dropout: float = 0.0,
) -> Float[Tensor, "pair d_model"]:
    """One vector of each pair, from the encoder's `weights`; positions that are not `real` have no influence."""
    encoder, spec = model.encoder, model.spec.encoder
    x = F.embedding(pairs, model.token_embedding()) + encoder.pos_embed.W_pos
    x = run_blocks(spec, weights, x, None, pair_attention(spec, real[:, None].expand(-1, 2, -1)), dropout=dropout)
    x = torch.where(real[..., None], norm(x, *gain_of(encoder.ln_final, model), spec.eps, spec.norm), 0.0).flatten(1)
    dtype = weights[0].out.dtype
    return F.linear(x.to(dtype), encoder.W_pair.T.to(dtype), encoder.b_pair.to(dtype)).float()


def pair_attention(spec: Spec, sees: Bool[Tensor, "#pair 2 2"]) -> Attention:
    """Attention over two positions; each query attends to the keys that it `sees` [pair, query, key]. A query that
    sees neither gets a finite value that is never read."""
    both, first = sees.all(-1)[..., None, None], sees[..., 0, None, None]

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        between = torch.linalg.vecdot(q, k[:, :1] - k[:, 1:]).float()[..., None]
        on_first = torch.where(both, (between * spec.d_head**-0.5).sigmoid(), first.float()).to(v.dtype)
        return torch.lerp(v[:, 1:], v[:, :1], on_first)  # exact at 0 and 1: what is not seen does not even round

    return attend


def refuse_hooks(model: "LanguageModel") -> None:
    """InputError if a module holds a hook, which the fast forward would silently ignore."""
    if torch.compiler.is_compiling():
        return
    for name, module in model.named_modules():
        if module._forward_hooks or module._backward_hooks or module._forward_pre_hooks or module._backward_pre_hooks:
            raise InputError(
                f"{name or 'the model'} holds a hook, which the fast forward would not run: remove it with "
                "model.reset_hooks(including_permanent=True), or call the model itself."
            )
