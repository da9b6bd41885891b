"""Attention: masks, scores, and both kernels, fused and eager."""

from collections.abc import Callable, Mapping

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
            return causal_attention(q, k, v, spec.score_scale(layer))
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


def score_hooks(spec: Spec, layer: int) -> tuple[str, ...]:
    """The activations that `scores` takes: queries and keys, after rotation where the model rotates them; the scores
    themselves where they are no products of what hooks show."""
    if not spec.scores_are_products:
        return (f"blocks.{layer}.attn.hook_attn_scores",)
    prefix = f"blocks.{layer}.attn.hook_" + ("rot_" if spec.positions == "rotary" else "")
    return prefix + "q", prefix + "k"


def scores(
    spec: Spec, layer: int, activations: Mapping[str, Tensor], hidden: float = float("-inf")
) -> Float[Tensor, "batch head query key"]:
    """The scores of a layer before the softmax, in float32, from `score_hooks`; `hidden` where a query may not attend.
    Their softmax is the attention among tokens: without the share of an attention sink.

    A scan that needs all patterns of a model requests queries and keys, which are small, and calls this per layer.
    """
    first, *keys = (activations[name].float() for name in score_hooks(spec, layer))
    return attention_scores(spec, layer, first, keys[0], hidden) if keys else first.clamp(min=hidden)


def of_story(activations: Mapping[str, Tensor], row: int, n: int) -> dict[str, Tensor]:
    """The activations of one row of a batch, a batch of its own, cut to its first `n` positions; in float32."""

    def cut(name: str, value: Tensor) -> Tensor:
        pairs = name.endswith(("hook_attn_scores", "hook_pattern"))
        return value[row : row + 1, :, :n, :n] if pairs else value[row : row + 1, :n]

    return {name: cut(name, value).float() for name, value in activations.items()}


def attention_scores(
    spec: Spec,
    layer: int,
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch pos kv_head d_head"],
    hidden: float = float("-inf"),
) -> Float[Tensor, "batch head query key"]:
    """Scores of these queries and keys before the softmax, with `hidden` added where a query may not attend."""
    groups = q.shape[2] // k.shape[2]
    k = k.repeat_interleave(groups, dim=2) if groups > 1 else k
    scores = torch.matmul(q.transpose(1, 2) * spec.score_scale(layer), k.permute(0, 2, 3, 1))
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
