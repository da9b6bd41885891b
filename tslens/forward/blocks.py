"""What does one transformer block do to the residual stream?"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tslens.forward.attention import Attend
from tslens.forward.hooks import Keeper
from tslens.forward.product import Product, bf16_on_cpu
from tslens.models import Spec

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

Gain = tuple[Tensor, Tensor | None]
"""A norm's weight, and its bias where the style has one."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """One block's weights as the fused kernels want them, in the dtype of the products."""

    norm1: Gain
    qkv: Product
    """Queries, keys and values of all heads, side by side."""
    out: Product
    norm2: Gain
    mlp_in: Product
    """Into the neurons; where they are gated, the gate first."""
    mlp_out: Product


def layers(
    model: "HookedTransformer", spec: Spec, dtype: torch.dtype = torch.float32, *, pack: bool = False
) -> list[Layer]:
    """The blocks' weights, ready to multiply: views of the parameters where possible, or with `pack` copies that are
    laid out for many products without gradients."""

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
        result.append(
            Layer(
                norm1=(block.ln1.w, getattr(block.ln1, "b", None)),
                qkv=Product(*maps, pack=pack),
                out=Product((a.W_O.reshape(-1, spec.d_model).to(dtype), bias(a.b_O)), pack=pack),
                norm2=(block.ln2.w, getattr(block.ln2, "b", None)),
                mlp_in=Product(*([into] if spec.style == "gpt2" else [(m.W_gate.to(dtype), None), into]), pack=pack),
                mlp_out=Product((m.W_out.to(dtype), bias(m.b_out)), pack=pack),
            )
        )
    return result


def norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, style: str) -> Tensor:
    """Layer norm (`gpt2`) or RMS norm (`llama`) over the last axis, computed in the residual stream's precision."""
    if style == "gpt2":
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps)
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def rotary(spec: Spec, positions: Int[Tensor, "*rows pos"]) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary embedding (Su et al. 2021, arXiv 2104.09864), `[*rows pos d_head/2]`."""
    half = spec.d_head // 2
    exponents = torch.arange(half, device=positions.device, dtype=torch.float32) / half
    angles = positions.float()[..., None] / spec.rotary_base**exponents
    return angles.cos(), angles.sin()


def rotate(x: Float[Tensor, "batch pos head d_head"], turn: tuple[Tensor, Tensor], adjacent: bool) -> Tensor:
    """Rotate each pair of coordinates: neighbours (`adjacent`, as GPT-J and llama2.c) or halves (as GPT-NeoX)."""
    cos, sin = (t[..., None, :].to(x.dtype) for t in turn)
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
    turn: tuple[Tensor, Tensor] | None,
    attend: Attend,
    keep: Keeper | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch pos d_model"]:
    """One transformer block on the residual stream `x`; `attend` mixes positions, `keep` sees every activation. Where
    `keep` needs no more, the rest is not computed, and what is returned is not the stream after the block."""
    batch, n, _ = x.shape

    def see(name: str, value: Tensor) -> None:
        if keep is not None:
            keep(f"blocks.{i}.{name}", value)

    def wants(name: str) -> bool:
        return keep is not None and keep.wants(f"blocks.{i}.{name}")

    if keep is not None:
        see("hook_resid_pre", x)
        see_norm(spec, f"blocks.{i}.ln1", x, w.norm1, keep)
    q, k, v = (t.view(batch, n, -1, spec.d_head) for t in _normed(spec, w.norm1, w.qkv, x))
    see("attn.hook_q", q)
    see("attn.hook_k", k)
    see("attn.hook_v", v)
    if turn is not None:
        q, k = rotate(q, turn, spec.rotary_adjacent), rotate(k, turn, spec.rotary_adjacent)
        see("attn.hook_rot_q", q)
        see("attn.hook_rot_k", k)
    z = attend(i, q, k, v)
    see("attn.hook_z", z)
    if wants("attn.hook_result"):
        o = w.out.maps[0][0].view(-1, spec.d_head, spec.d_model)
        see("attn.hook_result", torch.einsum("bphd,hdm->bphm", z, o))
    (out,) = w.out(z.reshape(batch, n, -1))
    out = F.dropout(out, dropout) if dropout else out
    see("hook_attn_out", out)
    x = x + out
    see("hook_resid_mid", x)
    if keep is not None:
        see_norm(spec, f"blocks.{i}.ln2", x, w.norm2, keep)
    if keep is not None and keep.done:
        return x
    if spec.style == "llama":
        pre, up = _normed(spec, w.norm2, w.mlp_in, x)
        see("mlp.hook_pre", pre)
        see("mlp.hook_pre_linear", up)
        post = F.silu(pre) * up
    elif x.requires_grad or wants("mlp.hook_pre"):
        (pre,) = _normed(spec, w.norm2, w.mlp_in, x)
        see("mlp.hook_pre", pre)
        post = F.gelu(pre, approximate="tanh")
    else:
        post = w.mlp_in.gelu(norm(x, *w.norm2, spec.eps, spec.style).to(w.mlp_in.dtype))
    see("mlp.hook_post", post)
    if keep is not None and keep.done:
        return x
    (out,) = w.mlp_out(post)
    out = F.dropout(out, dropout) if dropout else out
    see("hook_mlp_out", out)
    x = x + out
    see("hook_resid_post", x)
    return x


def _normed(spec: Spec, gain: Gain, product: Product, x: Tensor) -> Sequence[Tensor]:
    """The product with the norm of `x`. Except in bf16 on a CPU, the norm is computed again in the backward pass (the
    product is not): two fewer tensors to save per layer."""

    def run(x: Tensor) -> Sequence[Tensor]:
        return product(norm(x, *gain, spec.eps, spec.style).to(product.dtype))

    # A compiler chooses by itself what to recompute: told to, it computes a product again too.
    again = x.requires_grad and not torch.compiler.is_compiling() and not bf16_on_cpu(x.device, product.dtype)
    result: Sequence[Tensor] = checkpoint(run, x, use_reentrant=False, preserve_rng_state=False) if again else run(x)
    return result


def see_norm(spec: Spec, name: str, x: Tensor, weights: Gain, keep: Keeper) -> None:
    """A norm's scale, and its output before gain and bias, as TransformerLens's two hook points show them."""
    if not any(keep.wants(f"{name}.hook_{part}") for part in ("scale", "normalized")):
        return
    centred = x - x.mean(-1, keepdim=True) if spec.style == "gpt2" else x
    scale = (centred.pow(2).mean(-1, keepdim=True) + spec.eps).sqrt()
    keep(f"{name}.hook_scale", scale)
    keep(f"{name}.hook_normalized", centred / scale)
