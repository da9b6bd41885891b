"""The residual stream, any activation, and the logits of a model, through fused kernels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.forward import compressor
from tslens.forward.attention import fused_attend, open_attend
from tslens.forward.blocks import block, layers, norm, rotary, see_norm
from tslens.forward.hooks import Keeper, check_hooks
from tslens.forward.product import ROWS
from tslens.models import CompressorSpec, Spec, spec_of

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


def embed(model: "HookedTransformer", spec: Spec, tokens: Tensor, positions: Tensor) -> Tensor:
    """Token embedding, plus the learned position where the style has one; in fp32."""
    x = F.embedding(tokens, model.embed.W_E)
    return x + F.embedding(positions, model.pos_embed.W_pos) if spec.style == "gpt2" else x


def residual(
    model: "HookedTransformer",
    tokens: Int[Tensor, "batch pos"],
    *,
    hooks: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "batch pos d_model"], dict[str, Tensor]]:
    """The residual stream after the last block and its final norm, and the activations in `hooks` by name.

    `dropout` (Srivastava et al. 2014), for training only, acts where GPT-2's does on the residual stream: on the
    embeddings and on what attention and MLP add. GPT-2 drops attention probabilities too; fused attention holds none.
    Shapes are TransformerLens's. ValueError for a hook that does not exist (with the nearest name), for a row longer
    than the context, and for a model that the fast forward does not cover.
    """
    if isinstance(spec_of(model, compressors=True), CompressorSpec):
        if hooks:
            raise InputError("A compressor's activations are those of its trunk: scan(model, ...), or run_with_cache.")
        return compressor.residual(model, tokens, dtype=dtype, dropout=dropout), {}
    keep = Keeper(hooks) if hooks else None
    return _run(model, tokens, keep, dtype, dropout), keep.kept if keep is not None else {}


def _run(
    model: "HookedTransformer", tokens: Tensor, keep: Keeper | None, dtype: torch.dtype, dropout: float = 0.0
) -> Float[Tensor, "batch pos d_model"]:
    spec = spec_of(model)
    hooks = () if keep is None else keep.names
    check_hooks(spec, hooks)
    n = tokens.shape[1]
    if n > spec.n_ctx:
        raise InputError(f"A row of {n} tokens is longer than this model's context of {spec.n_ctx}. Cut it.")
    positions = torch.arange(n, device=tokens.device)
    x = embed(model, spec, tokens, positions)
    if keep is not None:
        _see_embeddings(model, spec, tokens, positions, keep)
    x = F.dropout(x, dropout) if dropout else x
    turn = rotary(spec, positions) if spec.style == "llama" else None
    opened = keep is not None and any(h.endswith(("hook_pattern", "hook_attn_scores")) for h in hooks)
    attend = open_attend(spec, keep) if opened and keep is not None else fused_attend(spec)
    for i, w in enumerate(layers(model, spec, dtype, pack=tokens.numel() >= ROWS)):
        if keep is not None and keep.done:
            return x
        x = block(spec, i, w, x, turn, attend, keep, dropout)
    final = (model.ln_final.w, getattr(model.ln_final, "b", None))
    if keep is not None:
        see_norm(spec, "ln_final", x, final, keep)
    return norm(x, *final, spec.eps, spec.style)


def _see_embeddings(model: Any, spec: Spec, tokens: Tensor, positions: Tensor, keep: Keeper) -> None:
    if keep.wants("hook_embed"):
        keep("hook_embed", F.embedding(tokens, model.embed.W_E))
    if keep.wants("hook_pos_embed"):
        keep("hook_pos_embed", F.embedding(positions, model.pos_embed.W_pos).expand(*tokens.shape, -1))


def activations(
    model: "HookedTransformer",
    tokens: Int[Tensor, "batch pos"],
    hooks: Sequence[str],
    *,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Tensor]:
    """The activations in `hooks` by name; what comes after the last of them is not computed."""
    keep = Keeper(hooks, alone=True)
    _run(model, tokens, keep, dtype)
    return keep.kept


def unembed(
    model: "HookedTransformer", final: Float[Tensor, "*rows d_model"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*rows d_vocab"]:
    """Logits of normalised residuals, in fp32."""
    return (final.to(dtype) @ model.unembed.W_U.to(dtype)).float()


def logits(
    model: "HookedTransformer", tokens: Int[Tensor, "batch pos"], *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch pos d_vocab"]:
    """Logits at every position, in fp32."""
    return unembed(model, residual(model, tokens, dtype=dtype)[0], dtype)
