"""Causal attention that is fast in bf16 on a CPU, computed in blocks of queries.

PyTorch's fused kernel for the CPU spends most of its time outside of matrix products when heads are narrow. Here each
block of queries is multiplied with the keys before its end only, as batched products in bf16. The pattern is kept for
the backward pass where rows are short, and recomputed where they are long, so that only queries, keys and values are
saved (as in FlashAttention: Dao et al. 2022, arXiv 2205.14135). Scores are rounded to bf16, as in any attention
written out under autocast.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 64  # queries at a time: more would waste products above the diagonal, fewer make them too small
KEPT = 512  # longest row whose pattern is kept: of this length it takes 0.3 MB a head


def causal_attention(
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch pos head d_head"],
    v: Float[Tensor, "batch pos head d_head"],
    scale: float,
) -> Float[Tensor, "batch pos head d_head"]:
    """softmax(scale q kᵀ) v over each query's own position and all earlier ones."""
    batch, n, heads, d_head = q.shape
    rows = (t.transpose(1, 2).reshape(batch * heads, n, d_head) for t in (q * scale, k, v))
    out: Tensor = _Blocks.apply(*rows)  # type: ignore[no-untyped-call]
    return out.view(batch, heads, n, d_head).transpose(1, 2)


class _Blocks(torch.autograd.Function):
    """Causal attention of `[row pos d_head]`, where a row is one head of one story and `q` is scaled."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        z, patterns = torch.empty_like(q), []
        keep = q.shape[1] <= KEPT and any(ctx.needs_input_grad)
        for (start, end), pattern in _patterns(q, k):
            z[:, start:end] = pattern @ v[:, :end]
            if keep:
                patterns.append(pattern)
        ctx.save_for_backward(q, k, v, *patterns)
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (q, k, v, *patterns), d_z = ctx.saved_tensors, grads[0].contiguous()
        d_q, d_k, d_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for (start, end), pattern in zip(_blocks(q.shape[1]), patterns, strict=True) if patterns else _patterns(q, k):
            d_out = d_z[:, start:end]
            d_v[:, :end].baddbmm_(pattern.mT, d_out)
            d_pattern = d_out @ v[:, :end].mT
            d_scores = torch._softmax_backward_data(d_pattern, pattern, -1, pattern.dtype)
            d_q[:, start:end] = d_scores @ k[:, :end]
            d_k[:, :end].baddbmm_(d_scores.mT, q[:, start:end])
        return d_q, d_k, d_v


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _patterns(q: Tensor, k: Tensor) -> Iterator[tuple[tuple[int, int], Float[Tensor, "row query key"]]]:
    """Each block of queries as (start, end), and its attention over all keys before its end."""
    future = torch.full((BLOCK, BLOCK), -torch.inf, dtype=q.dtype, device=q.device).triu(1)
    for start, end in _blocks(q.shape[1]):
        scores, size = q[:, start:end] @ k[:, :end].mT, end - start
        scores[:, :, start:] += future[:size, :size]
        yield (start, end), scores.softmax(-1)
