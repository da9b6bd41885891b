"""Circuits: models whose circuit is built in, TransformerLens as the oracle, laws, refusals."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from tslens import load, models, stats
from tslens.analysis import circuits
from tslens.analysis.circuits.accuracy import both_margins, over_templates, share
from tslens.analysis.circuits.agreement import agreement
from tslens.analysis.circuits.clusters import over_clusters
from tslens.models import Spec
from tslens.stories import pairs
from tslens.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def stories2m() -> Any:
    return load("stories2M")


# Accuracy


@pytest.mark.thorough
def test_a_model_that_ignores_its_prompt_is_right_half_the_time(stories2m: Any) -> None:
    """Whatever words it prefers: a unigram model, made of the same model with nothing but an output bias."""
    spec, tokenizer = models.spec_of(stories2m), models.story_tokenizer_of(stories2m)
    unigram = models.build(spec, tokenizer=tokenizer)
    with torch.no_grad():
        for name, weight in unigram.named_parameters():
            if not name.startswith(("ln_final", "embed")):
                weight.zero_()
        unigram.ln_final.w.zero_()
        unigram.ln_final.b.copy_(torch.randn(spec.d_model))
    for task in pairs.TASKS:
        found = circuits.accuracy(unigram, task, n=40)
        assert found.accuracy == 0.5 and not found.does and abs(found.margin) < 1e-6
        assert "does not do the task" in found.verdict


def test_the_bundled_model_names_the_character_and_does_not_know_the_owner(stories2m: Any) -> None:
    character, owner = (circuits.accuracy(stories2m, task, n=60) for task in ("character", "owner"))
    assert character.does and character.accuracy > 0.9 and character.margin_low > 3
    assert not owner.does and 0.3 < owner.accuracy < 0.7
    assert character.to_frame().shape[0] == len(character.examples) == 6
    assert character.figure().axes and circuits.AccuracyResult.__name__ in repr(character)


def test_no_batch_size_changes_an_answer(stories2m: Any) -> None:
    found = [circuits.accuracy(stories2m, "colour", n=30, batch=batch) for batch in (7, 256)]
    assert found[0].accuracy == found[1].accuracy and found[0].margin == pytest.approx(found[1].margin, abs=1e-5)


def test_the_interval_of_correlated_prompts_by_hand() -> None:
    """Ten pairs of which five are wholly right: the prompts tell the same, so they count as ten."""
    together = share(np.array([[1.0, 1.0]] * 5 + [[0.0, 0.0]] * 5))
    apart = share(np.array([[1.0, 0.0]] * 10))
    assert (together.estimate, apart.estimate) == (0.5, 0.5)
    assert (together.low, together.high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert (apart.low, apart.high) == pytest.approx((0.2993, 0.7007), abs=1e-4)


def test_the_interval_over_templates_covers_where_templates_differ() -> None:
    """Six templates of 33 pairs, each with its own share of right answers, 0.7 on average: the interval over pairs
    holds 0.7 in about half of 400 draws, that over templates in 95%."""
    rng, template = np.random.default_rng(0), np.repeat(np.arange(6), 33)
    held = np.zeros(2)
    for _ in range(400):
        rate = rng.beta(5.6, 2.4, size=6)[template]
        hits = (rng.random((len(template), 2)) < rate[:, None]).astype(float)
        for i, found in enumerate((share(hits), over_templates(hits, template))):
            held[i] += found.low <= 0.7 <= found.high
    assert held[0] / 400 < 0.7 and 0.92 <= held[1] / 400 <= 0.99
    same = (rng.random((len(template), 2)) < 0.7).astype(float)
    wider, alone = over_templates(same, template), share(same)
    assert wider.low <= alone.low and alone.high <= wider.high and wider.estimate == alone.estimate
    assert over_templates(same, 0 * template) == alone


def test_a_ratio_over_templates_by_hand_and_where_templates_differ() -> None:
    """Three templates of ratios 0.8, 0.9 and 1, each left out once: the jackknife of 0.95, 0.9 and 0.85. Of templates
    that differ it holds the truth in 95% of 400 draws, over pairs in about half; one template is its pairs."""
    rng, template = np.random.default_rng(0), np.repeat(np.arange(3), 5)
    rows = np.stack([np.array([0.8, 0.9, 1.0])[template], np.ones(15)], axis=1)
    found = over_clusters(rows, template, lambda part: part[:, 0].mean() / part[:, 1].mean())
    reach = 4.302653 * np.sqrt(2 / 3 * 2 * 0.05**2)  # Student's t of two degrees of freedom
    assert (found.estimate, found.low, found.high) == pytest.approx((0.9, 0.9 - reach, 0.9 + reach), abs=1e-6)
    held, template = np.zeros(2), np.repeat(np.arange(6), 33)
    for _ in range(400):
        values = 0.9 + (0.1 * rng.normal(size=6))[template] + 0.2 * rng.normal(size=len(template))
        for i, of in enumerate((np.zeros_like(template), template)):
            held[i] += 0.9 in over_clusters(values, of)
    assert held[0] / 400 < 0.6 and 0.92 <= held[1] / 400 <= 0.98
    alone, mean = over_clusters(values, 0 * template), stats.mean_interval(values)
    assert (alone.low, alone.high) == pytest.approx((mean.low, mean.high))


def test_patching_has_its_intervals_over_templates(random_model: Any, stories2m: Any) -> None:
    made = pairs.pairs("object", models.story_tokenizer_of(stories2m), 24, context=64)
    several, one = (
        circuits.patching(random_model, dataclasses.replace(made, template=of))
        for of in (made.template, 0 * made.template)
    )
    assert len(made.template.unique()) > 2
    torch.testing.assert_close(several.effect, one.effect)
    assert not torch.allclose(several.high - several.low, one.high - one.low, rtol=0.05)
    assert all(-1 <= row["pearson_low"] <= row["pearson_high"] <= 1 for row in several.agreement)


def test_a_margin_is_the_difference_of_the_hooked_models_logits(stories2m: Any) -> None:
    made = pairs.pairs("pronoun", models.story_tokenizer_of(stories2m), 12, context=320)
    with torch.inference_mode():
        logits = stories2m(made.clean)[torch.arange(12), made.length - 1]
    expected = logits.gather(1, made.right[:, None]) - logits.gather(1, made.wrong[:, None])
    torch.testing.assert_close(both_margins(stories2m, made, 5)[:, 0].float(), expected[:, 0], atol=1e-3, rtol=0)


def test_a_tokenizer_without_the_words_is_told_so(refused: Any) -> None:
    tokenizer = Tokenizer.train(["the cat sat on the mat"] * 4, 270)
    model = models.build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    with refused("can express 0 pairs of the task 'object'.*more than one token"):
        circuits.accuracy(model, "object")


# Patching


@pytest.fixture(scope="module")
def few(stories2m: Any) -> pairs.Pairs:
    """Pairs of one template whose words stand at the same positions."""
    made = pairs.pairs("object", models.story_tokenizer_of(stories2m), 80, context=320)
    places = (made.clean != made.corrupt) * torch.arange(made.clean.shape[1])
    first = int((made.template == 0).nonzero()[0])
    return made[((places == places[first]).all(1) & (made.length == made.length[first])).nonzero().flatten()]


@pytest.fixture(scope="module")
def random_model(stories2m: Any, loud: Any) -> Any:
    """A small model with large random weights and the same tokens."""
    spec = Spec(24, 2, 3, d_vocab=2048, n_ctx=64)
    return loud(models.build(spec, tokenizer=models.story_tokenizer_of(stories2m)))


@pytest.mark.thorough
def test_patches_are_those_of_transformer_lens(random_model: Any, few: pairs.Pairs) -> None:
    """Its `patching` module, for the residual stream by position, MLPs and attention by position, heads at all."""
    from transformer_lens import patching as oracle

    names = {"residual": "resid_pre", "attention": "attn_out", "MLP": "mlp_out"}
    at = torch.arange(len(few))

    def margin(logits: torch.Tensor) -> torch.Tensor:
        ends = logits[at, few.length - 1]
        return (ends[at, few.right] - ends[at, few.wrong]).mean()

    with torch.inference_mode():
        cache = random_model.run_with_cache(few.clean)[1]
        base, top = (margin(random_model(side)) for side in (few.corrupt, few.clean))
        expected = {
            kind: getattr(oracle, f"get_act_patch_{name}")(random_model, few.corrupt, cache, margin)
            for kind, name in names.items()
        }
        by_head = oracle.get_act_patch_attn_head_out_all_pos(random_model, few.corrupt, cache, margin).flatten()
    assert len(few) >= 4
    found = circuits.patching(random_model, few)
    roles, masks = few.roles()
    for kind in names:
        rows = [i for i, place in enumerate(found.places) if place.startswith(kind)]
        for j, role in enumerate(roles):
            where = masks[j][0].nonzero().flatten()
            if len(where) == 1:
                by_layer = (expected[kind][:, int(where)] - base) / (top - base)
                torch.testing.assert_close(found.effect[rows, j], by_layer, atol=2e-4, rtol=1e-3, msg=f"{kind} {role}")
    heads = [i for i, place in enumerate(found.places) if place.startswith("head")]
    torch.testing.assert_close(found.effect[heads, -1], (by_head - base) / (top - base), atol=2e-4, rtol=1e-3)


def test_laws_of_patching(random_model: Any, few: pairs.Pairs) -> None:
    found = circuits.patching(random_model, few)
    frame = found.to_frame().set_index(["place", "role"])
    assert frame.loc[("residual 0", "all"), "effect"] == pytest.approx(1)  # the whole clean run
    assert frame.loc[("residual 0", "changed"), "effect"] == pytest.approx(1)  # only there do the embeddings differ
    assert frame.loc[("residual 1", "all"), "effect"] == pytest.approx(1)
    others = frame.loc[[("MLP 1", role) for role in found.roles if role not in ("last", "all")], "effect"]
    assert (others == 0).all()  # after the last block only the last token is read
    assert ((frame["low"] <= frame["effect"] + 1e-5) & (frame["effect"] <= frame["high"] + 1e-5)).all()
    assert found.figure().axes and len(found.summary()) <= 24


def test_attribution_is_exact_where_the_margin_is_linear(stories2m: Any, few: pairs.Pairs) -> None:
    """A model whose margin is linear in its last residual: the first order is the whole effect."""
    spec, tokenizer = models.spec_of(stories2m), models.story_tokenizer_of(stories2m)
    linear = models.build(dataclasses.replace(spec, n_layers=1), tokenizer=tokenizer)
    scale = 1e-4  # so small beside the embedding that the final norm does not move
    with torch.no_grad():
        for name, weight in linear.named_parameters():
            if name.endswith(("W_O", "W_out")):
                weight.copy_(scale * torch.randn_like(weight))
            elif name.endswith("W_E"):
                weight.copy_(torch.randn_like(weight))
    found = circuits.patching(linear, few)
    rows = [i for i, name in enumerate(found.places) if not name.startswith("residual")]
    difference = found.margin_clean - found.margin_corrupt
    exact, first = (part[rows] * difference for part in (found.effect, found.attribution))
    assert exact.abs().max() > 1e-5
    torch.testing.assert_close(first, exact, atol=1e-6, rtol=0.02)
    assert all(row["pearson"] > 0.99 for row in found.agreement if row["kind"] in ("head", "MLP"))


def test_the_agreement_by_hand() -> None:
    """Two places, two roles and their sum: the second estimate orders the places the other way round."""
    exact = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 2.0, 2.0]]]).repeat(6, 1, 1)
    template = np.array([0, 0, 1, 1, 2, 2])
    same = agreement("head", exact, 3 * exact, template)
    assert same["pearson"] == same["spearman"] == pytest.approx(1) and same["top_shared"] == 1
    other = agreement("head", exact, exact.flip(1), template)
    assert other["pearson"] == pytest.approx(-2.25 / 2.75) and other["top_shared"] == 0
