"""Heads by their weights, and the paths between them: TransformerLens's oracles, a copying head, an induction pair."""

import dataclasses
import math
import re
import sys
from typing import Any

import pytest
import torch

from tslens import models
from tslens.analysis import circuits
from tslens.analysis.circuits import matrices
from tslens.analysis.circuits.paths import repeated, second
from tslens.analysis.circuits.tokens import read_tokens
from tslens.models import Spec
from tslens.models.twins import twins
from tslens.tokenizer import Tokenizer

GPT2 = Spec(24, 3, 4, n_ctx=40)
SPECS = {
    "gpt2": GPT2,
    "llama": dataclasses.replace(GPT2, style="llama"),
    "grouped": dataclasses.replace(GPT2, style="llama", n_key_value_heads=2),
}


@pytest.fixture(params=SPECS)
def model(request: pytest.FixtureRequest, tokenizer: Tokenizer, loud: Any) -> Any:
    return loud(models.build(dataclasses.replace(SPECS[request.param], d_vocab=tokenizer.size), tokenizer=tokenizer))


# Composition


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_composition_scores_are_those_of_transformer_lens(name: str, tokenizer: Tokenizer, loud: Any) -> None:
    """Of the same model with its weights processed there: norms folded in, writing weights centred."""
    made = loud(models.build(dataclasses.replace(SPECS[name], d_vocab=tokenizer.size), tokenizer=tokenizer))
    found = circuits.composition(made)
    processed = models.untied(made)
    processed.process_weights_()
    for kind, scores in zip("QKV", found.score, strict=True):
        expected = processed.all_composition_scores(kind).flatten(0, 1).flatten(1, 2)
        there = ~scores.isnan()
        assert int(there.sum()) == 3 * 16 and scores.shape == (12, 12)
        torch.testing.assert_close(scores[there], expected[there].detach(), atol=1e-4, rtol=1e-3)


def test_a_reader_of_what_a_head_writes_is_far_above_chance(tokenizer: Tokenizer) -> None:
    """Head 1.2 reads as keys, and only as keys, what head 0.1 writes; all else is random."""
    made = models.build(dataclasses.replace(GPT2, d_vocab=tokenizer.size, n_layers=2), tokenizer=tokenizer)
    with torch.no_grad():
        made.blocks[1].attn.W_K[2] = made.blocks[0].attn.W_O[1].T.clone()
    found = circuits.composition(made, n=2)
    assert found.above >= 1 and len(found.of_twins) == 2 and max(found.of_twins) <= 4
    as_many = sum(n >= found.above for n in found.of_twins)
    assert found.p == pytest.approx((1 + as_many) / 3)
    beside = f"(untrained twins: {min(found.of_twins)} to {max(found.of_twins)}; p = {found.p:.2f}; no interval"
    assert beside in str(found) and dataclasses.replace(found, of_twins=[]).said().endswith(
        "(untrained twins: not counted)"
    )
    frame = found.to_frame().set_index(["kind", "source", "target"])
    planted, rest = frame.loc[("K", "0.1", "1.2")], frame.drop(("K", "0.1", "1.2")).dropna()
    assert planted["score"] - planted["null"] > 0.15 and planted["q"] < 0.01
    assert len(rest) == 47 and ((rest["score"] - rest["null"]).abs() < 0.1).all() and (rest["q"] < 0.05).sum() <= 3
    assert found.summary().iloc[0][["kind", "source", "target"]].tolist() == ["K", "0.1", "1.2"]
    assert found.figure().axes


@pytest.mark.parametrize("decay", [0.0, 0.4])
def test_the_null_of_random_weights_is_their_own_scores(decay: float, tokenizer: Tokenizer) -> None:
    """z of random heads is as a standard normal's, and few have a small p, also where one direction of a head outweighs
    the others: the tail of such scores is far from normal."""
    spec = dataclasses.replace(GPT2, d_vocab=tokenizer.size, n_layers=5, n_heads=8, d_model=48)
    above, z = 0, []
    for seed in range(6):
        made = models.build(spec, tokenizer=tokenizer, seed=seed)
        with torch.no_grad():
            for block in made.blocks:
                for weight in (block.attn.W_Q, block.attn.W_K, block.attn.W_V):
                    weight *= torch.exp(-decay * torch.arange(6))
        found = circuits.composition(made)
        above, z = above + found.above, [*z, found.z[~found.z.isnan()]]
    assert len(z[0]) == 3 * 640 and above == 0  # by the normal tail 4 where one direction outweighs
    assert abs(float(torch.cat(z).mean())) < 0.1 and 0.85 < float(torch.cat(z).std()) < 1.15


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_the_null_is_what_drawn_rotations_give(name: str, tokenizer: Tokenizer, loud: Any) -> None:
    """Mean and standard deviation of the score of two heads, of which one is turned at random: also of a head of which
    one direction outweighs the others."""
    made = loud(models.build(dataclasses.replace(SPECS[name], d_vocab=tokenizer.size), tokenizer=tokenizer))
    with torch.no_grad():
        made.blocks[0].attn.W_V[1, :, 0] *= 3
    found, generator = circuits.composition(made), torch.Generator().manual_seed(0)
    first, last = (matrices.head_matrices(made, layer) for layer in (0, 2))
    written = first["V"][1] @ first["O"][1]
    for kind, read in enumerate((last["Q"][3] @ last["K"][3].T, last["K"][3] @ last["Q"][3].T)):
        turns = torch.stack([matrices.rotation(24, generator, SPECS[name]) for _ in range(2000)])
        drawn = (written @ turns @ read).norm(dim=(1, 2)) / (written.norm() * read.norm())
        assert found.null[kind, 1, 11] == pytest.approx(float(drawn.mean()), abs=0.1 * float(drawn.std()))
        spread = (found.score - found.null)[kind, 1, 11] / found.z[kind, 1, 11]
        assert float(spread) == pytest.approx(float(drawn.std()), rel=0.08)


def test_rotations_turn_and_keep_the_mean() -> None:
    generator = torch.Generator().manual_seed(0)
    for spec in (SPECS["gpt2"], SPECS["llama"]):
        turn = matrices.rotation(24, generator, spec)
        torch.testing.assert_close(turn @ turn.T, torch.eye(24), atol=1e-5, rtol=0)
        kept = turn @ torch.ones(24)
        assert torch.allclose(kept, torch.ones(24), atol=1e-4) == (spec.style == "gpt2")


# Tokens


def test_tokens_of_a_head_are_those_of_the_whole_product(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The QK and OV circuits written out in full, by TransformerLens's own matrices, against ours made row by row."""
    from transformer_lens import FactoredMatrix

    monkeypatch.setattr(sys.modules[read_tokens.__module__], "CELLS", 3000)  # a few rows at a time
    layer, head, k = 1, 3, 12
    found = circuits.tokens(model, layer, head, k=k, through_mlp=False, draws=19)
    with torch.inference_mode():
        attention = model.blocks[layer].attn
        read = model.blocks[layer].ln1(model.W_E[None])[0]
        queries, keys = (read @ getattr(attention, f"W_{n}")[head] + getattr(attention, f"b_{n}")[head] for n in "QK")
        scores = FactoredMatrix(queries, keys.T).AB / attention.cfg.attn_scale
        scores = scores - scores.mean(1, keepdim=True)
        towards = model.ln_final.w[:, None] * model.W_U
        if model.cfg.normalization_type == "LN":
            towards = towards - towards.mean(0)
        writes = FactoredMatrix(read @ attention.W_V[head], attention.W_O[head] @ towards)
        logits = writes.AB - writes.AB.mean(0)
        logits = logits - logits.mean(1, keepdim=True)
        own = logits.diagonal()
    for values, ours in ((scores, found.qk), (logits, found.ov)):
        torch.testing.assert_close(ours, values.flatten().topk(k).values, atol=1e-4, rtol=1e-4)
    place = divmod(int(logits.argmax()), logits.shape[1])
    pieces = models.story_tokenizer_of(model).pieces(place)
    assert [found.attended[0], found.promoted[0]] == pieces
    assert found.copied == pytest.approx(float(((logits > own[:, None]).sum(1) < 5).float().mean()))
    eigenvalues = torch.linalg.eigvals(logits.double())
    assert found.copying == pytest.approx(float(eigenvalues.sum().real / eigenvalues.abs().sum()), abs=1e-3)
    assert len(found.to_frame()) == k and found.figure().axes


@pytest.mark.parametrize("sign", [1, -1])
def test_a_head_that_copies_is_told_from_one_that_does_the_opposite(sign: int, tokenizer: Tokenizer) -> None:
    made = models.build(Spec(64, 1, 2, d_vocab=tokenizer.size, n_ctx=16), tokenizer=tokenizer)
    with torch.no_grad():
        made.blocks[0].attn.W_V[1] = torch.eye(64)[:, :32]
        made.blocks[0].attn.W_O[1] = sign * torch.eye(64)[:32]
    found = circuits.tokens(made, 0, 1, draws=39)
    assert sign * found.copying > 0.95 and found.copying_p == pytest.approx(1 / 40) and abs(found.copying_null) < 0.2
    assert (found.copied > 0.9) if sign == 1 else (found.copied < 0.05)
    assert (found.attended == found.promoted) == (sign == 1)


def test_tokens_through_the_first_mlp_are_what_the_model_computes(model: Any) -> None:
    """The stream after block 0 of a model whose attention there writes nothing, at position 0 without its embedding."""
    with torch.inference_mode():
        for name in ("W_O", "b_O"):
            getattr(model.blocks[0].attn, name).zero_()
        if model.cfg.positional_embedding_type == "standard":
            model.pos_embed.W_pos.zero_()
        tokens = torch.arange(20)[:, None]
        expected = model.run_with_cache(tokens)[1]["blocks.0.hook_resid_post"][:, 0]
        torch.testing.assert_close(read_tokens(model, True)[:20], expected, atol=1e-4, rtol=1e-4)


def test_a_head_that_is_not_there_is_refused(model: Any, refused: Any) -> None:
    with refused("no head 3.0; heads are written LAYER.HEAD, from 0.0 to 2.3"):
        circuits.tokens(model, 3, 0)


# Paths


@pytest.fixture(scope="module")
def induction(tokenizer: Tokenizer) -> Any:
    """Head 0.0 writes the previous token beside each token; head 1.0 looks for its own token there and copies the token
    that it finds. Coordinates: 64 for the token's code, 64 for the previous token's, 64 for the position."""
    made = models.build(Spec(192, 2, 2, d_vocab=tokenizer.size, n_ctx=64, tied=False), tokenizer=tokenizer)
    at, code = torch.arange(64), torch.eye(192)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if not name.endswith("ln1.w") and "ln" not in name:
                weight.zero_()
        generator = torch.Generator().manual_seed(0)
        made.embed.W_E[:, :64] = torch.nn.functional.normalize(torch.randn(tokenizer.size, 64, generator=generator)) * 8
        made.pos_embed.W_pos[at, 128 + at] = 8
        first, last = made.blocks[0].attn, made.blocks[1].attn
        first.W_Q[0, 129:, :63] = 2 * torch.eye(63)
        first.W_K[0, 128:, :64] = 2 * torch.eye(64)
        first.W_V[0, :64, :64] = torch.eye(64)
        first.W_O[0, :64, 64:128] = 8 * torch.eye(64)
        last.W_Q[0], last.W_K[0] = 2 * code[:, :96], 0
        last.W_Q[0, 64:] = 0
        last.W_K[0, 64:128, :64] = 2 * torch.eye(64)
        last.W_V[0, :64, :64] = torch.eye(64)
        last.W_O[0, :64, :64] = 30 * torch.eye(64)
        made.unembed.W_U[:64] = made.embed.W_E[:, :64].T / 4
    return made


def test_the_path_of_an_induction_pair_goes_through_its_keys(induction: Any) -> None:
    found = circuits.paths(induction, rows=6, most=2)
    assert found.copies and found.second_half < 0.5 < found.first_half
    assert (found.sources[0], found.targets[0]) == ("0.0", "1.0")
    assert found.previous[0] > 0.9 and found.induction[0] > 0.9
    frame = found.to_frame().set_index(["kind", "source", "target"])
    key = frame.loc[("K", "0.0", "1.0")]
    assert key["effect"] > 2 and key["low"] > 1 and key["q"] < 0.01
    others = frame.drop(("K", "0.0", "1.0"))["effect"].dropna()
    assert len(others) >= 2 and (others.abs() < 0.02 * key["effect"]).all()
    assert found.summary().iloc[0][["kind", "source", "target"]].tolist() == ["K", "0.0", "1.0"]
    assert found.figure().axes and "does not copy" not in found.figure().axes[0].get_title(loc="left")


def test_paths_stand_beside_those_of_untrained_twins(induction: Any) -> None:
    found = circuits.paths(induction, rows=6, most=2, n=3)
    surely_more = ((found.q < 0.05) & (found.low > 0)).sum()
    assert found.matter == int(surely_more) >= 1 and len(found.of_twins) == 3 and max(found.of_twins) < 12
    least, most = min(found.of_twins), max(found.of_twins)
    assert f"(6 rows: no interval; untrained twins: {least} to {most}; p = " in str(found)
    assert "not counted" in dataclasses.replace(found, of_twins=[]).said()
    again = circuits.paths(twins(3)[0].of(induction), rows=6, most=2)
    assert again.matter == found.of_twins[0]


def test_the_number_of_paths_has_an_interval_over_rows(induction: Any) -> None:
    found = circuits.paths(induction, rows=24, most=2, n=1)
    assert len(found.of_halves) == 14 and min(found.of_halves) >= 1 and max(found.of_halves) <= 12
    within = re.search(r"paths matter on repeated random tokens \((\d+) to (\d+); untrained twins", found.said())
    assert within and int(within[1]) <= found.matter <= int(within[2]) <= 12


@pytest.mark.parametrize("model", ["gpt2", "llama"], indirect=True)
def test_a_path_is_what_hooks_of_transformer_lens_make_of_it(model: Any) -> None:
    """The keys of head 1.2 computed from a stream in which head 0.1 wrote what it wrote on the row before."""
    tokens = repeated(model, None, 4, 0)
    found = circuits.paths(model, rows=4, most=12)
    with torch.inference_mode():
        model.set_use_attn_result(True)
        written = model.run_with_cache(tokens)[1]["blocks.0.attn.hook_result"][:, :, 1]
        model.set_use_attn_result(False)
        model.set_use_split_qkv_input(True)

        def edit(value: torch.Tensor, hook: Any) -> torch.Tensor:
            value = value.clone()
            value[:, :, 2] += written.roll(1, 0) - written
            return value

        losses = [
            model.run_with_hooks(tokens, return_type="loss", loss_per_token=True, fwd_hooks=hooks)[
                :, second(tokens)
            ].mean()
            for hooks in ([("blocks.1.hook_k_input", edit)], [])
        ]
        model.set_use_split_qkv_input(False)
    effect = found.to_frame().set_index(["kind", "source", "target"]).loc[("K", "0.1", "1.2"), "effect"]
    assert abs(effect) > 1e-4 and effect == pytest.approx(float(losses[0] - losses[1]), abs=2e-4)


def test_a_model_that_does_not_copy_is_said_not_to(model: Any) -> None:
    found = circuits.paths(model, rows=4, most=2)
    assert not found.copies and found.second_half > math.log(models.spec_of(model).d_vocab) - 1
    assert "does not copy" in found.figure().axes[0].get_title(loc="left")
    assert found.said().startswith("Repeated random tokens are not copied: no evidence")
    assert found.q.isnan().all() and found.matter == 0


def test_texts_are_repeated_from_their_beginnings(induction: Any, made_stories: list[str], refused: Any) -> None:
    rows = repeated(induction, ["a cat", *made_stories], 5, 0)
    length = (rows.shape[1] - 1) // 2
    assert rows.shape == (5, 63) and torch.equal(rows[:, 1 : 1 + length], rows[:, 1 + length :])
    ids = models.story_tokenizer_of(induction).encode([made_stories[0]], bos=False)[0]
    assert rows[0, 1 : 1 + length].tolist() == ids[:length]
    assert circuits.paths(induction, made_stories, rows=3, most=1).on == "stories"
    with refused("0 of the texts have 31 tokens or more"):
        repeated(induction, ["a cat"], 5, 0)
    with refused("needs 2 rows or more"):
        repeated(induction, None, 1, 0)
