"""The compressor's fast forward is its hooked one, and padding is nothing to it."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tslens import forward
from tslens.evaluation.loss import loss


@pytest.mark.parametrize("length", [1, 2, 5, 31, 32])
def test_logits_are_those_of_the_hooked_forward(model: Any, rows: torch.Tensor, length: int) -> None:
    with torch.no_grad():
        expected = model(rows[:, :length])
        assert expected.std() > 0.1
        torch.testing.assert_close(forward.logits(model, rows[:, :length]), expected, atol=1e-4, rtol=1e-4)


def test_gradients_are_those_of_the_hooked_forward(model: Any, rows: torch.Tensor) -> None:
    trained = [p for p in model.parameters() if p.requires_grad]
    total, n = forward.loss(model, rows)
    ours = torch.autograd.grad(total, trained)
    logits = model(rows[:, :-1])
    theirs = torch.autograd.grad(F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum"), trained)
    assert n == 3 * 31
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


def test_every_token_after_the_first_is_predicted_once(model: Any, rows: torch.Tensor) -> None:
    """The same tokens as any other model predicts, so that losses compare."""
    each = forward.token_losses(model, rows)
    total, n = forward.loss(model, rows)
    assert each.shape == (3, 31) and n == each.numel()
    torch.testing.assert_close(each.sum(), total, atol=1e-2, rtol=1e-5)
    expected = -model(rows).log_softmax(-1)[:, :-1].gather(2, rows[:, 1:, None])[..., 0]
    torch.testing.assert_close(each, expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("length", [4, 5])
@pytest.mark.parametrize("hooked", [True, False])
def test_a_changed_padding_token_changes_nothing(model: Any, rows: torch.Tensor, length: int, hooked: bool) -> None:
    """To the bit, in the loss, its gradient and the logits: for a story that ends within a pair, and with one."""
    mask = torch.ones_like(rows, dtype=torch.bool)
    mask[0, length:] = False
    other = rows.masked_fill(~mask, 7)
    assert not torch.equal(rows, other)
    with torch.no_grad():
        run = model if hooked else lambda tokens: forward.logits(model, tokens)
        assert torch.equal(run(rows)[0, :length], run(other)[0, :length])
    results = []
    for tokens in (rows, other):
        total, n = forward.loss(model, tokens, mask)
        (gradient,) = torch.autograd.grad(total, [model.encoder.W_pair])
        results.append((total, n, gradient))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
    assert results[0][1] == 2 * 31 + length - 1


def test_bfloat16_is_close(model: Any, rows: torch.Tensor) -> None:
    with torch.no_grad():
        exact, n = forward.loss(model, rows)
        low, _ = forward.loss(model, rows, dtype=torch.bfloat16)
    assert exact != low and (low - exact).abs() / n < 0.05


def test_its_loss_on_stories_counts_what_any_models_does(model: Any, texts: list[str], words: Any) -> None:
    from tslens import models

    plain = loss(models.build(models.Spec(24, 1, 3, d_vocab=words.size, n_ctx=32), tokenizer=words), texts)
    found = loss(model, texts)
    assert torch.equal(found.tokens, plain.tokens) and torch.equal(found.text_bytes, plain.text_bytes)
    assert found.model == model.spec.name


def test_a_hook_is_refused_and_so_is_a_row_too_long(model: Any, rows: torch.Tensor) -> None:
    model.add_hook("blocks.0.hook_mlp_out", lambda value, hook: value * 0)
    with pytest.raises(ValueError, match=r"blocks\.0\.hook_mlp_out holds a hook"):
        forward.logits(model, rows)
    model.reset_hooks()
    with pytest.raises(ValueError, match="context of 32"):
        forward.logits(model, torch.cat([rows, rows[:, :1]], 1))
    with pytest.raises(ValueError, match="its trunk"):
        forward.residual(model, rows, hooks=["blocks.0.mlp.hook_post"])
