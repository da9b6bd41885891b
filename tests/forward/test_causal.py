"""Attention in blocks against attention written out, in value and in gradient."""

import pytest
import torch
from torch import Tensor

from tslens import forward
from tslens.forward import causal
from tslens.forward.causal import causal_attention
from tslens.models import Spec, build


def written_out(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    scores = scores.masked_fill(torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).triu(1), float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


@pytest.mark.parametrize("kept", [0, 512], ids=["computed again", "kept"])
@pytest.mark.parametrize("n", [1, 5, 8, 21])
def test_blocks_are_attention(n: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One query, less than a block, whole blocks, and blocks with a rest, whether the pattern is kept for the backward
    pass or computed again; in float64, so that nothing is excused."""
    monkeypatch.setattr(causal, "BLOCK", 8)
    monkeypatch.setattr(causal, "KEPT", kept)
    ours = [torch.randn(2, n, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    plain = [t.detach().clone().requires_grad_() for t in ours]
    z, expected = causal_attention(*ours, 0.7), written_out(*plain, 0.7)
    torch.testing.assert_close(z, expected)
    up = torch.randn_like(expected)
    z.backward(up)
    expected.backward(up)
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_in_bf16_it_is_attention_to_the_rounding_of_scores_and_keeps_nothing() -> None:
    q, k, v = (torch.randn(2, 130, 3, 16).bfloat16() for _ in range(3))
    with torch.no_grad():
        z = causal_attention(q, k, v, 0.25).float()
    expected = written_out(q.float(), k.float(), v.float(), 0.25)
    assert (z - expected).norm() / expected.norm() < 0.01
    assert z.grad_fn is None


def test_a_second_derivative_is_refused() -> None:
    """The pattern is kept as a number: a derivative through it would be wrong."""
    q, k, v = (torch.randn(1, 5, 1, 4, requires_grad=True) for _ in range(3))
    (first,) = torch.autograd.grad(causal_attention(q, k, v, 0.5).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        first.sum().backward()


def test_the_future_is_not_seen() -> None:
    q, k, v = (torch.randn(1, 70, 1, 4) for _ in range(3))
    before = causal_attention(q, k, v, 0.5)
    k[:, 65:], v[:, 65:] = 100.0, 100.0
    torch.testing.assert_close(causal_attention(q, k, v, 0.5)[:, :65], before[:, :65])


@pytest.mark.parametrize("style", ["gpt2", "llama"])
def test_a_bf16_training_step_goes_where_an_fp32_one_goes(style: str) -> None:
    grouped = 2 if style == "llama" else None
    model = build(Spec(32, 2, 4, d_vocab=50, n_ctx=80, style=style, n_key_value_heads=grouped))
    rows = torch.randint(50, (4, 80))
    gradients = {}
    for dtype in (torch.float32, torch.bfloat16):
        model.zero_grad()
        total, _ = forward.loss(model, rows, dtype=dtype)
        total.backward()
        gradients[dtype] = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    exact, low = gradients.values()
    assert torch.cosine_similarity(exact, low, dim=0) > 0.999
    assert 0.99 < low.norm() / exact.norm() < 1.01
