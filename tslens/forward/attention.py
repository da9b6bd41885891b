"""Attention: masks, scores, and both kernels, fused and eager."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.forward.causal import causal_attention
from tslens.forward.hooks import ActivationCache
from tslens.models import Spec

Attention = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""An attention kernel: (layer, q, k, v), each `[batch pos head d_head]`, to z of the shape of q."""


def causal_mask(n: int, window: int | None, device: torch.device) -> Bool[Tensor, "pos pos"]:
    """True where a query may attend: itself and earlier positions, within the window if there is one."""
    mask = torch.ones(n, n, dtype=torch.bool, device=device).tril()
    return mask if window is None else mask.triu(1 - window)


def window_of(spec: Spec, layer: int) -> int | None:
    """How many tokens a layer's attention covers (the query included), or None for all earlier ones."""
    return spec.window if layer in spec.local_layers else None


def fused_attention(spec: Spec) -> Attention:
    """Attention that never forms its pattern, through `scaled_dot_product_attention` or, where that is slower (in bf16
    on a CPU), `causal.causal_attention`."""

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        window, n = window_of(spec, layer), q.shape[1]
        mask = causal_mask(n, window, q.device) if window is not None and window < n else None
        if mask is None and q.dtype is torch.bfloat16 and q.device.type == "cpu":
            groups = q.shape[2] // k.shape[2]
            k, v = (t.repeat_interleave(groups, dim=2) if groups > 1 else t for t in (k, v))
            return causal_attention(q, k, v, spec.d_head**-0.5 if spec.scaled else 1.0)
        z = F.scaled_dot_product_attention(
            q.transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            attn_mask=mask,
            is_causal=mask is None,
            scale=None if spec.scaled else 1.0,
            enable_gqa=k.shape[2] != q.shape[2],
        )
        return z.transpose(1, 2)

    return attend


def query_key_hooks(spec: Spec, layer: int) -> tuple[str, str]:
    """The activations that `attention_scores` takes: queries and keys, after rotation where the style rotates them."""
    prefix = f"blocks.{layer}.attn.hook_" + ("rot_" if spec.style == "llama" else "")
    return prefix + "q", prefix + "k"


def attention_scores(
    spec: Spec,
    layer: int,
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch pos kv_head d_head"],
    hidden: float = float("-inf"),
) -> Float[Tensor, "batch head query key"]:
    """Scores before the softmax, with `hidden` added where a query may not attend.

    A scan that needs all patterns of a model requests queries and keys, which are small, and calls this per layer.
    """
    groups = q.shape[2] // k.shape[2]
    k = k.repeat_interleave(groups, dim=2) if groups > 1 else k
    scale = spec.d_head**-0.5 if spec.scaled else 1.0
    scores = torch.matmul(q.transpose(1, 2) * scale, k.permute(0, 2, 3, 1))
    seen = causal_mask(q.shape[1], window_of(spec, layer), q.device)
    scores += torch.zeros(seen.shape, dtype=scores.dtype, device=q.device).masked_fill_(~seen, hidden)
    return scores


def eager_attention(spec: Spec, cache: ActivationCache) -> Attention:
    """Attention that forms its scores and pattern, for callers that request them."""

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        groups = q.shape[2] // k.shape[2]
        v = v.repeat_interleave(groups, dim=2) if groups > 1 else v
        scores = attention_scores(spec, layer, q, k)
        cache(f"blocks.{layer}.attn.hook_attn_scores", scores)
        pattern = scores.float().softmax(dim=-1)
        cache(f"blocks.{layer}.attn.hook_pattern", pattern)
        return torch.matmul(pattern.to(v.dtype), v.transpose(1, 2)).transpose(1, 2)

    return attend
