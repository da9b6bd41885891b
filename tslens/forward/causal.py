"""How is causal attention trained fast in bf16 on a CPU? In blocks of queries, with products that the CPU is good at.

PyTorch's fused kernel for the CPU spends most of its time outside of matrix products when heads are narrow. Here each
block of queries meets only the keys before its end, as batched products in bf16, and the pattern is computed again in
the backward pass, so that no more is saved than queries, keys and values (as in FlashAttention: Dao et al. 2022,
arXiv 2205.14135). Scores are rounded to bf16, as in any attention written out under autocast: enough to train with;
what is read off a model goes through the fused kernel.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

BLOCK = 64  # queries at a time: more would waste products above the diagonal, fewer make them too small


def causal_attention(
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch pos head d_head"],
    v: Float[Tensor, "batch pos head d_head"],
    scale: float,
) -> Float[Tensor, "batch pos head d_head"]:
    """softmax(scale q kᵀ) v over each query's own position and all before it."""
    batch, n, heads, d_head = q.shape
    rows = (t.transpose(1, 2).reshape(batch * heads, n, d_head) for t in (q * scale, k, v))
    return _Blocks.apply(*rows).view(batch, heads, n, d_head).transpose(1, 2)


class _Blocks(torch.autograd.Function):
    """Causal attention of `[row pos d_head]`, where a row is one head of one story and `q` is scaled."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(q, k, v)
        z = torch.empty_like(q)
        for start, end in _blocks(q.shape[1]):
            z[:, start:end] = _pattern(q, k, start, end) @ v[:, :end]
        return z

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (q, k, v), d_z = ctx.saved_tensors, grads[0].contiguous()
        d_q, d_k, d_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for start, end in _blocks(q.shape[1]):
            pattern, d_out = _pattern(q, k, start, end), d_z[:, start:end]
            d_v[:, :end].baddbmm_(pattern.mT, d_out)
            d_pattern = d_out @ v[:, :end].mT
            d_scores = torch._softmax_backward_data(d_pattern, pattern, -1, pattern.dtype)
            d_q[:, start:end] = d_scores @ k[:, :end]
            d_k[:, :end].baddbmm_(d_scores.mT, q[:, start:end])
        return d_q, d_k, d_v


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _pattern(q: Tensor, k: Tensor, start: int, end: int) -> Float[Tensor, "row query key"]:
    """Attention of the queries from `start` to `end` over all keys before `end`."""
    scores = q[:, start:end] @ k[:, :end].mT
    size = end - start
    above = torch.ones(size, size, dtype=torch.bool, device=q.device).triu(1)
    scores[:, :, start:].masked_fill_(above, float("-inf"))
    return scores.softmax(-1)
