"""The tuned lens: planted rotations, the ridge of scikit-learn, shards, refusals, and the real models."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
import torch

from tslens import models, plots, pos
from tslens.analysis import lens
from tslens.analysis.lens import tuning
from tslens.analysis.lens.ridge import CHECK, is_check
from tslens.analysis.lens.unembedding import Unembedding, hooks
from tslens.models import Spec, build
from tslens.scan import Shard, scan, states
from tslens.stories.identity import content_hash

FIELDS = ("tokens", "h", "u", "hh", "hu", "uu")


@pytest.fixture(scope="module", params=["gpt2", pytest.param("llama", marks=pytest.mark.thorough)])
def model(request: pytest.FixtureRequest, made_words, loud):
    tied = request.param == "gpt2"
    return loud(
        build(Spec(16, 2, 2, d_vocab=made_words.size, n_ctx=64, style=request.param, tied=tied), tokenizer=made_words)
    )


def rotated(tokenizer, seed: int = 0):
    """A model whose two blocks rotate the residual, which the unembedding expects: without them it says nothing.

    Embeddings are centred and of unit variance, so that layer norm leaves them as they are; neurons work far in the
    straight part of GELU, so that the MLP is linear; attention writes nothing. Token t predicts t + 1. Returns the
    model and the rotation of each block.
    """
    width, generator = 32, torch.Generator().manual_seed(seed)
    model = build(Spec(width, 2, 2, d_vocab=tokenizer.size, n_ctx=64, d_mlp=width, tied=False), tokenizer=tokenizer)
    basis = torch.linalg.qr(torch.cat([torch.ones(width, 1), torch.randn(width, width - 1, generator=generator)], 1))[0]
    turns = []
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "W_" in name or name.split(".")[-1].startswith("b_"):
                parameter.zero_()
        e = torch.randn(tokenizer.size, width, generator=generator)
        e = (e - e.mean(1, keepdim=True)) / e.std(1, keepdim=True, unbiased=False)
        model.embed.W_E.copy_(e)
        whole = torch.eye(width)
        for block in model.blocks:
            inside = torch.linalg.qr(torch.randn(width - 1, width - 1, generator=generator))[0]
            turn = basis @ torch.block_diag(torch.eye(1), inside) @ basis.T  # leaves the mean alone
            turns.append(turn)
            whole = whole @ turn
            block.mlp.W_in.copy_(torch.eye(width))
            block.mlp.b_in.fill_(12.0)
            block.mlp.W_out.copy_(turn - torch.eye(width))
            block.mlp.b_out.copy_(-12.0 * (turn - torch.eye(width)).sum(0))
        model.unembed.W_U.copy_((e @ whole).roll(-1, 0).T)
    return model, turns


def test_a_planted_rotation_is_undone_by_the_tuned_lens_and_not_by_the_logit_lens(made_words, made_stories) -> None:
    model, turns = rotated(made_words)
    fitted = scan(model, made_stories[:16], lens.Translators())
    judged = lens.lenses(model, made_stories[16:], fitted)
    assert (judged.kl[0, :2] > 5).all() and (judged.agreement[0, :2] < 0.1).all()
    assert (judged.kl[1] < 0.01).all() and (judged.agreement[1] > 0.99).all()
    assert (judged.gain_low[1, :2] > 5).all()
    read = torch.unique(torch.tensor([i for row in made_words.encode(made_stories[:16]) for i in row[1:64]]))
    seen = model.embed.W_E.detach()[read]
    for depth, turn in enumerate((turns[0] @ turns[1], turns[1])):
        before = seen if depth == 0 else seen @ turns[0]
        found = fitted.of(Unembedding.of(model), before, depth)
        assert torch.allclose(found, before @ turn, atol=0.02), depth


def test_the_closed_form_is_the_ridge_of_scikit_learn(model, made_stories) -> None:
    from sklearn.linear_model import Ridge

    found = scan(model, made_stories, lens.Translators(ridge=0.03), context=40)
    names = hooks(models.spec_of(model))
    rows = {name: [] for name in names}
    for text in made_stories:
        if is_check(torch.tensor([content_hash(text)])):
            continue
        ids = torch.tensor(made_ids(model, text)[:40])[None]
        _, cache = model.run_with_cache(ids)
        for name in names:
            rows[name].append(cache[name][0, :-1].detach())
    last = torch.cat(rows[names[-1]])
    kind = models.spec_of(model).style
    read = (lambda x: x - x.mean(-1, keepdim=True)) if kind == "gpt2" else (lambda x: x)
    assert found.tokens == len(last)
    for depth, name in enumerate(names[:-1]):
        h = read(torch.cat(rows[name])).double().numpy()
        u = read(last).double().numpy() - h
        oracle = Ridge(alpha=0.03 * ((h - h.mean(0)) ** 2).sum(0).mean()).fit(h, u)
        assert np.allclose(found.weight[depth], oracle.coef_.T, atol=1e-4)
        assert np.allclose(found.bias[depth], oracle.intercept_, atol=1e-4)


def made_ids(model, text: str) -> list[int]:
    return models.tokenizer_of(model).encode([text])[0]


def test_the_penalty_is_the_best_on_the_check_stories(model, made_stories) -> None:
    """The error from sums is the error token by token, and no other penalty has a smaller one."""
    from tslens.analysis.lens import ridge

    (state,) = states(model, made_stories, [lens.Translators()], context=40)
    chosen = lens.Translators().finish(state)
    for depth in range(2):
        errors = {p: ridge._error(state, depth, *ridge._solved(state, depth, p)) for p in ridge.PENALTIES}
        assert min(errors, key=errors.__getitem__) == pytest.approx(chosen.ridge[depth].item())
    total, unembedding = torch.zeros(2, dtype=torch.float64), Unembedding.of(model)
    for text in made_stories:
        if is_check(torch.tensor([content_hash(text)])):
            _, cache = model.run_with_cache(torch.tensor(made_ids(model, text)[:40])[None])
            seen = [cache[name][0, :-1].detach() for name in hooks(models.spec_of(model))]
            for depth in range(2):
                wrong = chosen.of(unembedding, seen[depth], depth) - unembedding.readable(seen[-1])
                total[depth] += (wrong.double() ** 2).sum()
    for depth in range(2):
        a, b = chosen.weight[depth].double(), chosen.bias[depth].double()
        assert ridge._error(state, depth, a, b) == pytest.approx(total[depth].item(), rel=1e-3)


def test_shards_merge_into_the_whole_in_any_batch_and_order(model, made_stories) -> None:
    asked = lens.Translators()
    (whole,) = states(model, made_stories, [asked])
    parts = [states(model, made_stories[::-1], [asked], shard=Shard(i, 3), batch_tokens=200)[0] for i in range(3)]
    merged = asked.merge(parts[0], asked.merge(parts[1], parts[2]))
    other = asked.merge(asked.merge(parts[0], parts[1]), parts[2])
    for name in FIELDS:
        scale = getattr(whole, name).abs().max()
        for found in (merged, other):
            assert torch.allclose(getattr(whole, name) / scale, getattr(found, name) / scale, atol=1e-6), name
    one, two = asked.finish(whole), asked.finish(merged)
    assert torch.equal(one.story_hashes, two.story_hashes) and torch.equal(one.ridge[:-1], two.ridge[:-1])
    assert torch.allclose(one.weight, two.weight, atol=1e-3 * one.weight.abs().max())


def test_the_last_depth_is_the_model_itself(model, made_stories) -> None:
    fitted = lens.translators(model, made_stories[:20], steps=2)
    assert fitted.how[-1] == "identity" and not fitted.weight[-1].any() and not fitted.bias[-1].any()
    judged = lens.lenses(model, made_stories[20:], fitted)
    assert (judged.kl[:, -1] == 0).all() and (judged.agreement[:, -1] == 1).all()
    alone = lens.by_depth(model, made_stories[20:])
    for name in ("loss", "kl", "agreement", "loss_low", "kl_high"):
        assert torch.allclose(getattr(judged, name)[0], getattr(alone, name), atol=1e-5, equal_nan=True)


@pytest.mark.thorough
def test_descent_lowers_the_divergence_and_repeats_itself(model, made_stories, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens.tuning, "STEP_TOKENS", 400)  # several batches, so that their order counts
    first, again = (lens.translators(model, texts, steps=20) for texts in (made_stories, made_stories[::-1]))
    assert (first.tuned_kl[:-1] < first.closed_kl[:-1]).all() and first.how == ["fine-tuned", "fine-tuned", "identity"]
    assert torch.allclose(first.weight, again.weight, atol=1e-5)
    other = lens.translators(model, made_stories, steps=20, seed=1)
    assert not torch.equal(other.weight, first.weight)
    plain = lens.translators(model, made_stories, steps=0)
    assert plain.how == ["closed form", "closed form", "identity"] and plain.tuned_kl.isnan().all()
    assert torch.allclose(plain.closed_kl, first.closed_kl, atol=1e-5)


def test_descent_takes_gradients_where_the_caller_has_switched_them_off(model, made_stories) -> None:
    usual = lens.translators(model, made_stories[:40], steps=3)
    for off in (torch.no_grad(), torch.inference_mode()):
        with off:
            found = lens.translators(model, made_stories[:40], steps=3)
        assert torch.equal(found.weight, usual.weight) and torch.equal(found.tuned_kl, usual.tuned_kl)


def test_descent_that_does_not_help_is_not_kept(model, made_stories, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens.tuning, "RATE", 3.0)
    wild = lens.translators(model, made_stories, steps=3)
    plain = lens.translators(model, made_stories, steps=0)
    assert (wild.tuned_kl[:-1] > wild.closed_kl[:-1]).all()
    assert wild.how == plain.how and torch.equal(wild.weight, plain.weight) and torch.equal(wild.bias, plain.bias)


def test_neither_stage_learns_from_the_check_stories(model, made_stories) -> None:
    """Other check stories leave both stages as they are."""
    chosen = is_check(torch.tensor([content_hash(text) for text in made_stories])).tolist()
    assert 0 < sum(chosen) < len(chosen) / 2 and CHECK == 5
    fit = [text for text, check in zip(made_stories, chosen, strict=True) if not check]
    candidates = (f"Story {i}. {text}" for i in range(50) for text in made_stories)
    others = [text for text in candidates if is_check(torch.tensor([content_hash(text)]))][:12]
    found = [
        lens.translators(model, [*fit, *check], steps=8, ridge=0.1)
        for check in ([text for text in made_stories if text not in fit], others)
    ]
    assert found[0].how[0] == found[1].how[0] == "fine-tuned"
    assert not torch.allclose(found[0].closed_kl[:-1], found[1].closed_kl[:-1], rtol=1e-3)
    assert torch.allclose(found[0].weight[0], found[1].weight[0], atol=1e-5)


def test_parts_of_speech_add_up_to_the_whole(model, made_stories) -> None:
    fitted = scan(model, made_stories[:12], lens.Translators())
    judged = lens.lenses(model, made_stories[12:], fitted, context=30)
    share = judged.tag_tokens / judged.tag_tokens.sum()
    for name in ("loss", "kl", "agreement", "gain"):
        whole = (getattr(judged, f"tag_{name}").nan_to_num() * share).sum(-1)
        assert torch.allclose(whole, getattr(judged, name), atol=1e-4)
    assert torch.allclose(judged.gain, judged.kl[0] - judged.kl, atol=1e-4)
    tokenizer, counts = models.story_tokenizer_of(model), dict.fromkeys(pos.TAGS, 0)
    for text in made_stories[12:]:
        for tag in pos.tag_tokens(text, tokenizer.offsets(text))[0][1:30]:
            counts[tag] += 1
    assert judged.tag_tokens.tolist() == list(counts.values()) and judged.tags == list(counts)


def test_parts_of_a_corpus_merge_into_the_whole(model, made_stories) -> None:
    fitted = scan(model, made_stories[:12], lens.Translators())
    asked = lens.Lenses({"logit lens": None, "tuned lens": fitted}, groups=6)
    whole = asked.finish(states(model, made_stories[12:], [asked])[0])
    parts = [states(model, made_stories[:11:-1], [asked], batch_tokens=150, shard=Shard(i, 3))[0] for i in range(3)]
    merged = asked.finish(asked.merge(parts[0], asked.merge(parts[1], pickle.loads(pickle.dumps(parts[2])))))
    assert (merged.stories, merged.tokens) == (whole.stories, whole.tokens)
    assert merged.null_kl == pytest.approx(whole.null_kl) and merged.null_agreement == whole.null_agreement
    for name, value in whole.tensors().items():
        torch.testing.assert_close(value, merged.tensors()[name], atol=1e-4, rtol=1e-3, equal_nan=True)


def test_the_null_ignores_the_context(model, made_stories) -> None:
    """Worked out from the hooked model: KL from every prediction to their mean, and the commonest likeliest token."""
    judged = lens.lenses(model, made_stories[12:], scan(model, made_stories[:12], lens.Translators()), context=30)
    with torch.no_grad():
        rows = [model(torch.tensor(made_ids(model, text)[:30])[None])[0, :-1] for text in made_stories[12:]]
    p = torch.cat(rows).double().softmax(-1)
    assert judged.null_kl == pytest.approx((p * (p.log() - p.mean(0).log())).sum(-1).mean().item(), abs=1e-4)
    assert judged.null_agreement == pytest.approx(p.argmax(-1).bincount().max().item() / len(p), abs=0.01)


def test_a_lens_that_is_fitted_where_it_reads_is_the_closed_form_of_each_model(model, made_stories) -> None:
    fit, read = made_stories[:16], made_stories[16:]
    asked = lens.Refitted(fit)
    (first,), (second,) = states(model, read[:3], [asked]), states(model, read[3:], [asked])
    found = asked.finish(asked.merge(first, second))
    alone = lens.lenses(model, read, lens.translators(model, fit, steps=0))
    for name in ("agreement", "kl", "loss"):
        assert torch.allclose(getattr(found, name), getattr(alone, name), atol=1e-4)
    labels = [
        f"of 1,000 positions settled {place} by the {one}"
        for one in found.lenses
        for place in ("before any block", "after block 0")
    ]
    assert found.counts() == dict(zip(labels, (1000 * found.agreement[:, :2]).round().flatten().tolist(), strict=True))
    twins = dataclasses.replace(found, of_twins={label: [100 * i, 900] for i, label in enumerate(labels)})
    lines = twins.figure().axes[1].lines
    assert [line.get_ydata().tolist() for line in lines[:2]] == [[0.2, 0.3, 1.0], [0.9, 0.9, 1.0]]  # the tuned lens


def test_stories_of_the_fit_cannot_judge_it(model, made_stories) -> None:
    fitted = scan(model, made_stories[:12], lens.Translators())
    with pytest.raises(ValueError, match=r"tuned lens was fitted on 1 of the 13 stories just read, such as number 12"):
        lens.lenses(model, [*made_stories[12:], made_stories[4]], fitted, batch_tokens=10**6)
    assert fitted.story_hashes.tolist() == sorted(content_hash(text) for text in made_stories[:12])


def test_the_gradient_in_closed_form_is_that_of_the_divergence(model) -> None:
    """Over more rows than logits exist of at a time, with the unembedding's bias where there is one."""
    unembedding, generator = Unembedding.of(model), torch.Generator().manual_seed(0)
    d, rows = unembedding.spec.d_model, [torch.randn(300, unembedding.spec.d_model, generator=generator) for _ in "ab"]
    maps = [tuple(torch.randn(*shape, generator=generator).mul(0.1).requires_grad_() for shape in ((d, d), (d,)))]
    found = tuning._backward(unembedding, maps, rows)
    of_closed_form = [part.grad.clone() for part in maps[0]]
    h = unembedding.readable(rows[0])
    final = unembedding.log_probabilities(rows[1])
    logp = unembedding.log_probabilities(h + h @ maps[0][0] + maps[0][1])
    kl = (final.exp() * (final - logp)).sum(-1).mean()
    for gradient, expected in zip(of_closed_form, torch.autograd.grad(kl, maps[0]), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-6)
    assert found == pytest.approx(float(kl.detach()), rel=1e-4)


@pytest.mark.thorough
def test_answers_draw_print_and_come_back(model, made_stories, tmp_path) -> None:
    fitted = lens.translators(model, made_stories[:14], steps=1)
    judged = lens.lenses(model, made_stories[14:], fitted)
    seen = lens.of_prompt(model, made_stories[0][:60], translators=fitted)
    for answer in (fitted, judged, seen):
        again = type(answer).load(answer.save(tmp_path))
        assert str(again) == str(answer) and plots.svg(answer.figure()).startswith("<svg")
    assert [name for name, _ in judged.figures()] == ["by-depth", "by-tag-logit-lens", "by-tag-tuned-lens"]
    assert "Tuned lens of" in plots.svg(judged.tag_figure("tuned lens"))
    assert list(judged.summary()["depth"]) == ["embed", "0", "1"]
    table = judged.by_tag()
    assert table["tokens"].is_monotonic_decreasing and (table["tokens"] > 0).all()
    assert len(table) == 6 * (judged.tag_tokens > 0).sum()
    assert "Tuned lens: the likeliest" in plots.svg(seen.figure()) and seen.lens == "tuned lens"


def test_the_lens_of_a_prompt_is_that_of_its_translators(model, made_stories) -> None:
    fitted = scan(model, made_stories[:12], lens.Translators())
    text, unembedding = made_stories[20][:50], Unembedding.of(model)
    plain, tuned = (lens.of_prompt(model, text, translators=each) for each in (None, fitted))
    ids = torch.tensor(made_ids(model, text))
    _, cache = model.run_with_cache(ids[None])
    for depth, name in enumerate(hooks(models.spec_of(model))):
        logp = unembedding.log_probabilities(fitted.of(unembedding, cache[name][0].detach(), depth))
        assert torch.allclose(tuned.top_probability[depth, :, 0], logp.max(-1).values.exp(), atol=1e-5)
    assert torch.equal(plain.top_ids[-1], tuned.top_ids[-1])
    assert not torch.equal(plain.top_probability[0], tuned.top_probability[0])


def test_refusals_name_the_bound_and_the_remedy(model, made_stories, made_words) -> None:
    with pytest.raises(ValueError, match=r"ridge=0 must be above 0"):
        lens.Translators(ridge=0)
    with pytest.raises(ValueError, match=r"steps=-1 is no number of steps"):
        lens.translators(model, made_stories, steps=-1)
    with pytest.raises(ValueError, match=r"1 stories are too few for a tuned lens"):
        lens.translators(model, made_stories[:1])
    wide = build(Spec(24, 2, 2, d_vocab=made_words.size, n_ctx=64), tokenizer=made_words)
    fitted = scan(model, made_stories[:12], lens.Translators())
    for refuse in (
        lambda: lens.lenses(wide, made_stories[12:], fitted),
        lambda: lens.of_prompt(wide, "a", translators=fitted),
    ):
        with pytest.raises(ValueError, match=r"is of a model of 2 layers and width 16, and this one has 2 and 24"):
            refuse()
    checks = [text for text in made_stories if is_check(torch.tensor([content_hash(text)]))]
    with pytest.raises(ValueError, match="all of them are check stories"):
        scan(model, checks, lens.Translators())


def test_a_model_that_says_nothing_has_a_lens_that_says_nothing(made_stories, made_words) -> None:
    empty = build(Spec(8, 1, 1, d_vocab=made_words.size, n_ctx=40), tokenizer=made_words)
    with torch.no_grad():
        for parameter in empty.parameters():
            parameter.zero_()
    fitted = lens.translators(empty, made_stories, steps=1)
    assert not fitted.weight.any() and fitted.how == ["closed form", "identity"]
    judged = lens.lenses(empty, made_stories[:4], dataclasses.replace(fitted, story_hashes=fitted.story_hashes[:0]))
    assert judged.kl.abs().max() < 1e-6


@pytest.mark.thorough
def test_real_models_know_sooner_by_the_tuned_lens(shared) -> None:
    real = models.load(f"llama2c:{shared}/data/models/stories260K.bin")
    path = shared / "data" / "stories" / "tinystories-v2.jsonl"
    texts = [json.loads(line)["text"][:400] for line in path.read_text().splitlines()[:60]]
    judged = lens.lenses(real, texts[50:], lens.translators(real, texts[:50], steps=10))
    assert (judged.gain_low[1, :-1] > 0).all()
    assert (judged.agreement[1, 1:-1] > judged.agreement[0, 1:-1]).all()
    assert (judged.kl[1].diff() < 0).all()
