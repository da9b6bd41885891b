"""The residual stream, any activation, and the logits of a model, through fused kernels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.forward import compressor, hooked
from tslens.forward.attention import eager_attention, fused_attention
from tslens.forward.blocks import cache_norm, final_gain, final_norm, layers, rotary_cos_sin, run_blocks
from tslens.forward.hooks import ActivationCache, check_hooks
from tslens.forward.linear import ROWS
from tslens.models import CompressorSpec, HookedSpec, Spec, logit_cap, output_bias, spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def embed(model: "LanguageModel", spec: Spec, tokens: Tensor, positions: Tensor) -> Tensor:
    """Token embedding, plus the learned position where the style has one; in fp32."""
    x = F.embedding(tokens, model.embed.W_E)
    return x + F.embedding(positions, model.pos_embed.W_pos) if spec.style == "gpt2" else x


def residual(
    model: "LanguageModel",
    tokens: Int[Tensor, "batch pos"],
    *,
    hooks: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "batch pos d_model"], dict[str, Tensor]]:
    """The residual stream after the last block and its final norm, and the activations in `hooks` by name.

    `dropout` (Srivastava et al. 2014), for training only, acts where GPT-2's does on the residual stream: on the
    embeddings and on what attention and MLP add. GPT-2 drops attention probabilities too; fused attention holds none.
    Shapes are TransformerLens's. InputError for a hook that does not exist (with the nearest name), for a row longer
    than the context, and for a model that no analysis can read.
    """
    spec = spec_of(model, compressors=True)
    if isinstance(spec, CompressorSpec):
        if hooks:
            raise InputError("A compressor's activations are those of its trunk: scan(model, ...), or run_with_cache.")
        return compressor.residual(model, tokens, dtype=dtype, dropout=dropout), {}
    cache = ActivationCache(hooks) if hooks else None
    return _run(model, spec, tokens, cache, dtype, dropout), cache.kept if cache is not None else {}


def _run(
    model: "LanguageModel",
    spec: Spec,
    tokens: Tensor,
    cache: ActivationCache | None,
    dtype: torch.dtype,
    dropout: float = 0.0,
) -> Float[Tensor, "batch pos d_model"]:
    n = tokens.shape[1]
    if n > spec.n_ctx:
        raise InputError(f"A row of {n} tokens is longer than this model's context of {spec.n_ctx}. Cut it.")
    if isinstance(spec, HookedSpec):
        if cache is not None:
            check_hooks(spec, cache.names)
        stream = hooked.residual(model, spec, tokens, cache)
        return stream if cache is not None and cache.alone else final_norm(model, spec, stream)
    positions = torch.arange(n, device=tokens.device)
    x, attend = embed(model, spec, tokens, positions), fused_attention(spec)
    if cache is not None:
        check_hooks(spec, cache.names)
        _cache_embeddings(model, spec, tokens, positions, cache)
        if any(name.endswith(("hook_pattern", "hook_attn_scores")) for name in cache.names):
            attend = eager_attention(spec, cache)
    cos_sin = rotary_cos_sin(spec, positions) if spec.style == "llama" else None
    weights = layers(model, spec, dtype, pack=tokens.numel() >= ROWS)
    x = run_blocks(spec, weights, x, cos_sin, attend, cache, dropout)
    if cache is not None:
        if cache.done:
            return x
        cache_norm(spec, "ln_final", x, final_gain(model), cache)
    return final_norm(model, spec, x)


def _cache_embeddings(
    model: "LanguageModel", spec: Spec, tokens: Tensor, positions: Tensor, cache: ActivationCache
) -> None:
    if cache.wants("hook_embed"):
        cache("hook_embed", F.embedding(tokens, model.embed.W_E))
    if cache.wants("hook_pos_embed"):
        cache("hook_pos_embed", F.embedding(positions, model.pos_embed.W_pos).expand(*tokens.shape, -1))


def activations(
    model: "LanguageModel",
    tokens: Int[Tensor, "batch pos"],
    hooks: Sequence[str],
    *,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Tensor]:
    """The activations in `hooks` by name; the forward pass stops after the last of them."""
    cache = ActivationCache(hooks, alone=True)
    _run(model, spec_of(model), tokens, cache, dtype)
    return cache.kept


def unembed(
    model: "LanguageModel", final: Float[Tensor, "*rows d_model"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*rows d_vocab"]:
    """Logits of normalised residuals, in fp32."""
    w_u: Tensor = model.unembed.W_U
    found, bias = (final.to(dtype) @ w_u.to(dtype)).float(), output_bias(model)
    return capped(found if bias is None else found + bias, logit_cap(model))


def capped(logits: Float[Tensor, "*rows"], cap: float) -> Float[Tensor, "*rows"]:
    """`cap tanh(logits / cap)` (Gemma 2, arXiv 2408.00118); a cap of 0 is none."""
    return cap * torch.tanh(logits / cap) if cap else logits


def logits(
    model: "LanguageModel", tokens: Int[Tensor, "batch pos"], *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch pos d_vocab"]:
    """Logits at every position, in fp32."""
    return unembed(model, residual(model, tokens, dtype=dtype)[0], dtype)
