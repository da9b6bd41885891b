"""The forward with edits: without any it is the fast forward, and each edit does what TransformerLens's hook does."""

from typing import Any

import pytest
import torch

from tslens import forward, models
from tslens.forward.edited import PARTS
from tslens.models import Spec

VOCAB, CONTEXT = 61, 12
SPECS = {
    "gpt2": Spec(32, 2, 4, d_vocab=VOCAB, n_ctx=CONTEXT),
    "window, unscaled": Spec(32, 2, 2, d_vocab=VOCAB, n_ctx=CONTEXT, scaled=False, window=4, local_layers=(1,)),
    "llama": Spec(32, 2, 4, d_vocab=VOCAB, n_ctx=CONTEXT, style="llama"),
}


@pytest.fixture(params=SPECS, scope="module")
def model(request: pytest.FixtureRequest, loud: Any) -> Any:
    return loud(models.build(SPECS[request.param], seed=1))


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(0, VOCAB, (3, CONTEXT), generator=torch.Generator().manual_seed(5))


def logits(run: forward.EditedForward, tokens: torch.Tensor, edits: Any = None) -> torch.Tensor:
    return forward.unembed(run.model, run.normed(run(run.embedded(tokens), edits)[0]))


def test_without_edits_it_is_the_fast_forward_from_any_block_on(model: Any, tokens: torch.Tensor) -> None:
    with torch.inference_mode():
        run = forward.EditedForward.of(model)
        final, kept = run(run.embedded(tokens), keep=["blocks.1.hook_resid_pre"])
        torch.testing.assert_close(forward.unembed(model, run.normed(final)), forward.logits(model, tokens))
        torch.testing.assert_close(run(kept["blocks.1.hook_resid_pre"], first=1)[0], final)


@pytest.mark.parametrize("part", PARTS)
def test_an_edit_is_what_a_hook_of_transformer_lens_does(model: Any, tokens: torch.Tensor, part: str) -> None:
    """Every place, changed at one position (and in one head), by a function and by a value."""
    name = f"blocks.0.{part}"

    def edit(value: torch.Tensor, hook: Any = None) -> torch.Tensor:
        value = value.clone()
        value[:, 5, ..., :3] += 0.7
        return value

    model.set_use_split_qkv_input(part.endswith(("q_input", "k_input", "v_input")))
    model.set_use_hook_mlp_in(part == "hook_mlp_in")
    with torch.inference_mode():
        hooked = model.run_with_hooks(tokens, fwd_hooks=[(name, edit)])
        run = forward.EditedForward.of(model)
        mine = logits(run, tokens, {name: edit})
        assert (mine - logits(run, tokens)).abs().max() > 1e-3  # the edit is felt
        torch.testing.assert_close(mine, hooked, atol=2e-4, rtol=0)
        value = run(run.embedded(tokens), {name: edit}, keep=[name])[1][name]
        torch.testing.assert_close(logits(run, tokens, {name: value}), mine, atol=1e-5, rtol=0)
    model.set_use_split_qkv_input(False)
    model.set_use_hook_mlp_in(False)


def test_gradients_of_edited_places_are_those_of_the_hooked_forward(model: Any, tokens: torch.Tensor) -> None:
    name, hooked = "blocks.0.attn.hook_z", {}
    with torch.enable_grad():

        def keep(value: torch.Tensor, hook: Any) -> torch.Tensor:
            value.retain_grad()
            hooked[name] = value
            return value

        model.run_with_hooks(tokens, fwd_hooks=[(name, keep)])[:, -1, 7].sum().backward()
        run = forward.EditedForward.of(model)
        zero = torch.zeros_like(hooked[name], requires_grad=True)
        logits(run, tokens, {name: lambda z: z + zero})[:, -1, 7].sum().backward()
    assert zero.grad is not None and zero.grad.abs().max() > 1e-4
    torch.testing.assert_close(zero.grad, hooked[name].grad, atol=1e-5, rtol=1e-4)
    model.zero_grad()


def test_outputs_of_heads_add_up(model: Any, tokens: torch.Tensor) -> None:
    with torch.inference_mode():
        run = forward.EditedForward.of(model)
        names = ["blocks.1.attn.hook_z", "blocks.1.hook_attn_out"]
        kept = run(run.embedded(tokens), keep=names)[1]
        z = kept[names[0]]
        whole = forward.head_changes(model, 1, z, torch.zeros_like(z)).sum(2) + model.blocks[1].attn.b_O
    torch.testing.assert_close(whole, kept[names[1]], atol=1e-5, rtol=1e-4)


def test_grouped_heads_share_their_keys() -> None:
    spec = Spec(32, 1, 4, d_vocab=VOCAB, n_ctx=CONTEXT, style="llama", n_key_value_heads=2)
    run = forward.EditedForward.of(models.build(spec))
    x = torch.randn(2, 5, 32)
    with torch.inference_mode():
        _, kept = run(x, keep=["blocks.0.hook_q_input", "blocks.0.hook_k_input", "blocks.0.attn.hook_k"])
        whole = run(x, keep=["blocks.0.attn.hook_k"])[1]
    assert kept["blocks.0.hook_q_input"].shape == (2, 5, 4, 32)
    assert kept["blocks.0.hook_k_input"].shape == (2, 5, 2, 32)
    torch.testing.assert_close(kept["blocks.0.attn.hook_k"], whole["blocks.0.attn.hook_k"])


def test_an_unknown_place_and_a_long_row_are_refused(model: Any, refused: Any) -> None:
    run = forward.EditedForward.of(model)
    with refused("'blocks.0.attn.hook_zz' cannot be edited. Did you mean 'blocks.0.attn.hook_z'"):
        run(torch.zeros(1, 2, 32), {"blocks.0.attn.hook_zz": torch.zeros(1)})
    with refused("A row of 13 tokens"):
        run.embedded(torch.zeros(1, 13, dtype=torch.long))
