"""The compressor's fast forward is its hooked one, and padding is nothing to it."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tslens import forward
from tslens.evaluation.loss import loss


@pytest.fixture
def rows(made_words: Any) -> torch.Tensor:
    """Three rows of tokens, [3, 32]."""
    return torch.randint(made_words.size, (3, 32), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("length", [1, 2, 5, 31, 32])
def test_logits_are_those_of_the_hooked_forward(compressor: Any, rows: torch.Tensor, length: int) -> None:
    with torch.no_grad():
        expected = compressor(rows[:, :length])
        assert expected.std() > 0.1
        torch.testing.assert_close(forward.logits(compressor, rows[:, :length]), expected, atol=1e-4, rtol=1e-4)


def test_gradients_are_those_of_the_hooked_forward(compressor: Any, rows: torch.Tensor) -> None:
    trained = [p for p in compressor.parameters() if p.requires_grad]
    total, n = forward.loss(compressor, rows)
    ours = torch.autograd.grad(total, trained)
    logits = compressor(rows[:, :-1])
    theirs = torch.autograd.grad(F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum"), trained)
    assert n == 3 * 31
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


def test_every_token_after_the_first_is_predicted_once(compressor: Any, rows: torch.Tensor) -> None:
    """The same tokens as any other model predicts, so that losses compare."""
    each = forward.token_losses(compressor, rows)
    total, n = forward.loss(compressor, rows)
    assert each.shape == (3, 31) and n == each.numel()
    torch.testing.assert_close(each.sum(), total, atol=1e-2, rtol=1e-5)
    expected = -compressor(rows).log_softmax(-1)[:, :-1].gather(2, rows[:, 1:, None])[..., 0]
    torch.testing.assert_close(each, expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("length", [4, 5])
@pytest.mark.parametrize("hooked", [True, False])
def test_a_changed_padding_token_changes_nothing(
    compressor: Any, rows: torch.Tensor, length: int, hooked: bool
) -> None:
    """To the bit, in the loss, its gradient and the logits: for a story that ends within a pair, and with one."""
    mask = torch.ones_like(rows, dtype=torch.bool)
    mask[0, length:] = False
    other = rows.masked_fill(~mask, 7)
    assert not torch.equal(rows, other)
    with torch.no_grad():
        run = compressor if hooked else lambda tokens: forward.logits(compressor, tokens)
        assert torch.equal(run(rows)[0, :length], run(other)[0, :length])
    results = []
    for tokens in (rows, other):
        total, n = forward.loss(compressor, tokens, mask)
        (gradient,) = torch.autograd.grad(total, [compressor.encoder.W_pair])
        results.append((total, n, gradient))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
    assert results[0][1] == 2 * 31 + length - 1


def test_bfloat16_is_close(compressor: Any, rows: torch.Tensor) -> None:
    with torch.no_grad():
        exact, n = forward.loss(compressor, rows)
        low, _ = forward.loss(compressor, rows, dtype=torch.bfloat16)
    assert exact != low and (low - exact).abs() / n < 0.05


def test_its_loss_on_stories_counts_what_any_models_does(
    compressor: Any, made_stories: list[str], made_words: Any
) -> None:
    from tslens import models

    plain = loss(
        models.build(models.Spec(24, 1, 3, d_vocab=made_words.size, n_ctx=32), tokenizer=made_words), made_stories
    )
    found = loss(compressor, made_stories)
    assert torch.equal(found.tokens, plain.tokens) and torch.equal(found.text_bytes, plain.text_bytes)
    assert found.model == compressor.spec.name


def test_a_hook_is_refused_and_so_is_a_row_too_long(compressor: Any, rows: torch.Tensor) -> None:
    compressor.add_hook("blocks.0.hook_mlp_out", lambda value, hook: value * 0)
    with pytest.raises(ValueError, match=r"blocks\.0\.hook_mlp_out holds a hook"):
        forward.logits(compressor, rows)
    compressor.reset_hooks()
    with pytest.raises(ValueError, match="context of 32"):
        forward.logits(compressor, torch.cat([rows, rows[:, :1]], 1))
    with pytest.raises(ValueError, match="its trunk"):
        forward.residual(compressor, rows, hooks=["blocks.0.mlp.hook_post"])
