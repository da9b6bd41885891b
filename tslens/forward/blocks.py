"""Transformer blocks on the residual stream."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tslens.forward.attention import Attention
from tslens.forward.hooks import ActivationCache
from tslens.forward.linear import FusedLinear, bf16_on_cpu
from tslens.models import Spec
from tslens.models.spec import Norm

if TYPE_CHECKING:
    from tslens.models import LanguageModel
    from tslens.models.protocols import NormPart, Stack

Gain = tuple[Tensor, Tensor | None]
"""A norm's weight, and its bias where the style has one."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """One block's weights in the layout of the fused kernels and the dtype of the products."""

    norm1: Gain
    qkv: FusedLinear
    """Queries, keys and values of all heads, side by side."""
    out: FusedLinear
    norm2: Gain
    mlp_in: FusedLinear
    """Into the neurons; where they are gated, the gate first."""
    mlp_out: FusedLinear


def layers(model: "Stack", spec: Spec, dtype: torch.dtype = torch.float32, *, pack: bool = False) -> list[Layer]:
    """The blocks' weights in the layout of the kernels: views of the parameters where possible, or with `pack` copies
    for many products without gradients."""

    def columns(w: Tensor) -> Tensor:  # [head d_model d_head] -> [d_model head*d_head], a view in models of `build`
        return w.permute(1, 0, 2).reshape(w.shape[1], -1).to(dtype)

    def bias(b: Tensor) -> Tensor | None:
        return b.reshape(-1).to(dtype) if spec.style == "gpt2" else None

    result = []
    for block in model.blocks:
        a, m = block.attn, block.mlp
        w_k, w_v = (a.W_K, a.W_V) if spec.n_key_value_heads is None else (a._W_K, a._W_V)
        b_k, b_v = (a.b_K, a.b_V) if spec.n_key_value_heads is None else (a._b_K, a._b_V)
        maps = ((columns(a.W_Q), bias(a.b_Q)), (columns(w_k), bias(b_k)), (columns(w_v), bias(b_v)))
        into = (m.W_in.to(dtype), bias(m.b_in))
        gated = [into] if spec.style == "gpt2" else [(m.W_gate.to(dtype), None), into]
        result.append(
            Layer(
                norm1=(block.ln1.w, getattr(block.ln1, "b", None)),
                qkv=FusedLinear(*maps, pack=pack),
                out=FusedLinear((a.W_O.reshape(-1, spec.d_model).to(dtype), bias(a.b_O)), pack=pack),
                norm2=(block.ln2.w, getattr(block.ln2, "b", None)),
                mlp_in=FusedLinear(*gated, pack=pack),
                mlp_out=FusedLinear((m.W_out.to(dtype), bias(m.b_out)), pack=pack),
            )
        )
    return result


def norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, kind: Norm) -> Tensor:
    """Layer norm or RMS norm over the last axis, computed in the residual stream's precision; or nothing."""
    if kind == "layer":
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps)
    return F.rms_norm(x, x.shape[-1:], weight, eps) if kind == "rms" else x


def centred(kind: Norm, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
    """A vector of the residual stream as the part behind a norm can read it: without its mean before a layer norm."""
    return x - x.mean(-1, keepdim=True) if kind == "layer" else x


def norm_scale(kind: Norm, eps: float, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows 1"]:
    """What a norm divides the residual stream by; 1 where there is none."""
    squares = centred(kind, x).pow(2).mean(-1, keepdim=True)
    return torch.ones_like(squares) if kind == "none" else (squares + eps).sqrt()


def gain_of(module: "NormPart | None", model: "LanguageModel") -> Gain:
    """A norm's weight, and its bias where it has one; ones where it has no weight (no norm, or a folded one)."""
    weight, bias = getattr(module, "w", None), getattr(module, "b", None)
    return model.embed.W_E.new_ones(model.cfg.d_model) if weight is None else weight, bias


def rotary_cos_sin(spec: Spec, positions: Int[Tensor, "*rows pos"]) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary embedding (Su et al. 2021, arXiv 2104.09864), `[*rows pos d_head/2]`."""
    half = spec.d_head // 2
    exponents = torch.arange(half, device=positions.device, dtype=torch.float32) / half
    angles = positions.float()[..., None] / spec.rotary_base**exponents
    return angles.cos(), angles.sin()


def apply_rotary(x: Float[Tensor, "batch pos head d_head"], cos_sin: tuple[Tensor, Tensor], adjacent: bool) -> Tensor:
    """Rotate each pair of coordinates: neighbours (`adjacent`, as GPT-J and llama2.c) or halves (as GPT-NeoX)."""
    cos, sin = (t[..., None, :].to(x.dtype) for t in cos_sin)
    if adjacent:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def block(
    spec: Spec,
    i: int,
    w: Layer,
    x: Float[Tensor, "batch pos d_model"],
    cos_sin: tuple[Tensor, Tensor] | None,
    attend: Attention,
    cache: ActivationCache | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch pos d_model"]:
    """One transformer block on the residual stream `x`; `attend` is the attention, `cache` gets every activation. Once
    `cache` needs no more, the rest is not computed, and the returned tensor is not the stream after the block."""
    see = partial(_see, cache, i)
    see("hook_resid_pre", x)
    (out,) = w.out(_attended(spec, i, w, x, cos_sin, attend, cache))
    out = F.dropout(out, dropout) if dropout else out
    see("hook_attn_out", out)
    x = x + out
    see("hook_resid_mid", x)
    if cache is not None:
        cache_norm(spec, f"blocks.{i}.ln2", x, w.norm2, cache)
        if cache.done:
            return x
    post = _neurons(spec, i, w, x, cache)
    see("mlp.hook_post", post)
    if cache is not None and cache.done:
        return x
    (out,) = w.mlp_out(post)
    out = F.dropout(out, dropout) if dropout else out
    see("hook_mlp_out", out)
    x = x + out
    see("hook_resid_post", x)
    return x


def run_blocks(
    spec: Spec,
    weights: Sequence[Layer],
    x: Float[Tensor, "batch pos d_model"],
    cos_sin: tuple[Tensor, Tensor] | None,
    attend: Attention,
    cache: ActivationCache | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch pos d_model"]:
    """The residual stream after a stack of blocks, from the embedded tokens; it ends early where `cache` needs no more.
    `dropout` acts on the embeddings too."""
    x = F.dropout(x, dropout) if dropout else x
    for i, w in enumerate(weights):
        if cache is not None and cache.done:
            break
        x = block(spec, i, w, x, cos_sin, attend, cache, dropout)
    return x


def final_norm(model: "LanguageModel", spec: Spec, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
    """The final norm of the residual stream after the last block, as the unembedding reads it."""
    return norm(x, *final_gain(model), spec.eps, spec.final_norm)


def final_gain(model: "LanguageModel") -> Gain:
    """The final norm's weight, and its bias where the style has one."""
    return gain_of(getattr(model, "ln_final", None), model)


def _see(cache: ActivationCache | None, layer: int, name: str, value: Tensor) -> None:
    if cache is not None:
        cache(f"blocks.{layer}.{name}", value)


def _attended(
    spec: Spec,
    i: int,
    w: Layer,
    x: Tensor,
    cos_sin: tuple[Tensor, Tensor] | None,
    attend: Attention,
    cache: ActivationCache | None,
) -> Float[Tensor, "batch pos head_by_d_head"]:
    """The output z of every head at each position, side by side."""
    see = partial(_see, cache, i)
    if cache is not None:
        cache_norm(spec, f"blocks.{i}.ln1", x, w.norm1, cache)
    q, k, v = (t.unflatten(-1, (-1, spec.d_head)) for t in _normed(spec, w.norm1, w.qkv, x))
    see("attn.hook_q", q)
    see("attn.hook_k", k)
    see("attn.hook_v", v)
    if cos_sin is not None:
        q, k = apply_rotary(q, cos_sin, spec.rotary_adjacent), apply_rotary(k, cos_sin, spec.rotary_adjacent)
        see("attn.hook_rot_q", q)
        see("attn.hook_rot_k", k)
    z = attend(i, q, k, v)
    see("attn.hook_z", z)
    if cache is not None and cache.wants(f"blocks.{i}.attn.hook_result"):
        o = w.out.maps[0][0].view(-1, spec.d_head, spec.d_model)
        see("attn.hook_result", torch.einsum("bphd,hdm->bphm", z, o))
    return z.flatten(2)


def _neurons(
    spec: Spec, i: int, w: Layer, x: Tensor, cache: ActivationCache | None
) -> Float[Tensor, "batch pos d_mlp"]:
    """The MLP's neurons after their activation function."""
    see = partial(_see, cache, i)
    if spec.style == "llama":
        pre, up = _normed(spec, w.norm2, w.mlp_in, x)
        see("mlp.hook_pre", pre)
        see("mlp.hook_pre_linear", up)
        return F.silu(pre) * up
    if x.requires_grad or (cache is not None and cache.wants(f"blocks.{i}.mlp.hook_pre")):
        (pre,) = _normed(spec, w.norm2, w.mlp_in, x)
        see("mlp.hook_pre", pre)
        return F.gelu(pre, approximate="tanh")
    return w.mlp_in.gelu(norm(x, *w.norm2, spec.eps, spec.norm).to(w.mlp_in.dtype))


def _normed(spec: Spec, gain: Gain, product: FusedLinear, x: Tensor) -> Sequence[Tensor]:
    """The product with the norm of `x`. Except in bf16 on a CPU, the norm is recomputed in the backward pass (the
    product is not), which saves two fewer tensors per layer."""

    def run(x: Tensor) -> Sequence[Tensor]:
        return product(norm(x, *gain, spec.eps, spec.norm).to(product.dtype))

    # A compiler chooses by itself what to recompute; with checkpoints it would compute a product again too.
    again = x.requires_grad and not torch.compiler.is_compiling() and not bf16_on_cpu(x.device, product.dtype)
    result: Sequence[Tensor] = checkpoint(run, x, use_reentrant=False, preserve_rng_state=False) if again else run(x)
    return result


def cache_norm(spec: Spec, name: str, x: Tensor, weights: Gain, cache: ActivationCache) -> None:
    """A norm's scale, and its output before gain and bias, as TransformerLens's two hook points show them."""
    if not any(cache.wants(f"{name}.hook_{part}") for part in ("scale", "normalized")):
        return
    scale = norm_scale(spec.norm, spec.eps, x)
    cache(f"{name}.hook_scale", scale)
    cache(f"{name}.hook_normalized", centred(spec.norm, x) / scale)
