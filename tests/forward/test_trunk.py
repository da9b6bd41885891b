"""The trunk as a HookedTransformer over pairs: what it sees is what the compressor's own trunk sees."""

from typing import Any

import pytest
import torch

from tslens import forward, models
from tslens.analysis import heads, lens, neurons
from tslens.forward.trunk import trunk
from tslens.generate import generate
from tslens.scan import scan
from tslens.stories.identity import content_hash


def test_activations_are_those_inside_the_compressor(compressor: Any, made_stories: list[str], made_words: Any) -> None:
    view = trunk(compressor, made_stories)
    tokens, pairs = (
        torch.tensor([t.encode(made_stories[:1])[0]])[:, :n]
        for t, n in ((made_words, 31), (models.tokenizer_of(view), 16))
    )
    assert tokens.shape[1] == 31 and pairs.shape[1] == 16
    hooks = ["hook_embed", "blocks.0.attn.hook_q", "blocks.1.mlp.hook_post", "blocks.1.hook_resid_post"]
    with torch.no_grad():
        _, inside = compressor.run_with_cache(tokens, names_filter=hooks)
        _, hooked = view.run_with_cache(pairs, names_filter=hooks, return_type=None)
        fast = forward.activations(view, pairs, hooks)
    for name in hooks:
        assert inside[name].shape[1] == 16 and inside[name].std() > 0.01
        torch.testing.assert_close(hooked[name], inside[name], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(fast[name], inside[name], atol=1e-4, rtol=1e-4)


def test_pairs_are_cut_from_the_first_word_on(compressor: Any, made_stories: list[str], made_words: Any) -> None:
    cut = models.tokenizer_of(trunk(compressor, made_stories))
    (row,), (pairs,) = made_words.encode(made_stories[:1]), cut.encode(made_stories[:1])
    assert pairs[0] == made_words.bos and len(pairs) == (len(row) + 1) // 2
    assert cut.pieces(pairs[1:3]) == ["".join(made_words.pieces(row[i : i + 2])) for i in (1, 3)]
    assert made_stories[0].startswith(cut.decode(pairs)) and len(made_stories[0]) - len(cut.decode(pairs)) < 20
    assert cut.pieces([made_words.bos, 5]) == made_words.pieces([made_words.bos, 5])
    with pytest.raises(ValueError, match="in none of the stories"):
        cut.encode(["zzzz qqqq"])


def test_scan_heads_and_neurons_work_on_it(compressor: Any, made_stories: list[str], made_words: Any) -> None:
    roles, profiles = scan(compressor, iter(made_stories), [heads.Roles(groups=4), neurons.Profiles(k=3, sample=50)])
    assert roles.role_code.shape == (2, 3) and roles.stories == len(made_stories)
    assert roles.model == f"{compressor.spec.name}'s trunk"
    read = sum(min(len(row), 31) for row in made_words.encode(made_stories))
    assert abs(2 * profiles.n_tokens - read) <= 2 * len(made_stories)  # pairs, BOS left out
    assert profiles.max.shape == (2, 96)
    layer, neuron = 1, 3
    shown = profiles.pieces[int(profiles.top_tokens[layer, neuron, 0])]
    found, place = profiles.story_hashes[profiles.top_story[layer, neuron, 0]], int(profiles.top_pos[layer, neuron, 0])
    story = next(text for text in made_stories if content_hash(text) == found)
    tokens = torch.tensor([made_words.encode([story])[0][: 2 * place + 1]])
    assert shown == "".join(made_words.pieces(tokens[0, -2:].tolist()))
    with torch.no_grad():
        _, inside = compressor.run_with_cache(tokens, names_filter="blocks.1.mlp.hook_post")
    torch.testing.assert_close(inside["blocks.1.mlp.hook_post"][0, place, neuron], profiles.max[layer, neuron])


def test_a_neurons_effect_is_on_the_first_of_the_next_two_tokens(
    compressor: Any, made_stories: list[str], made_words: Any
) -> None:
    """With the decoder's blocks silent and the norm's scale set apart, the push is what `promoted` says."""
    profiles = scan(compressor, made_stories, neurons.Profiles(k=3, sample=50, effect=4))
    out = compressor.blocks[1].mlp.W_out[5].detach()
    push = ((out - out.mean()) * compressor.ln_final.w) @ compressor.embed.W_E.T
    assert profiles.promoted_tokens[1, 5].tolist() == push.topk(4).indices.tolist()
    assert int(profiles.promoted_tokens.max()) < made_words.size


def test_what_needs_logits_is_refused_in_a_line(compressor: Any, made_stories: list[str]) -> None:
    view = trunk(compressor, made_stories)
    for ask in (
        lambda: heads.ablation(view, made_stories),
        lambda: scan(view, made_stories, lens.ByDepth()),
        lambda: generate(view),
        lambda: view(torch.tensor([[0, 1]])),
        lambda: forward.loss(view, torch.tensor([[0, 1]])),
    ):
        with pytest.raises(ValueError, match="no logits of its own"):
            ask()
    with pytest.raises(ValueError, match="no single HookedTransformer"):
        heads.ablation(compressor)
    assert models.spec_of(view).n_ctx == 16
