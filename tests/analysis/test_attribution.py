"""Direct logit attribution: contributions add up to the logit, TransformerLens's own functions, and planted writers."""

import warnings

import pytest
import torch

from tslens import forward, models, plots, pos
from tslens.analysis import lens
from tslens.analysis.lens.by_component import half_away
from tslens.analysis.lens.components import Components, component_hooks, component_names, rows_of
from tslens.analysis.lens.ridge import is_check
from tslens.analysis.lens.unembedding import Unembedding, hooks
from tslens.models import Spec, build
from tslens.scan import Batch, Shard, batches, states
from tslens.stories.identity import content_hash
from tslens.tokenizer import Tokenizer

TEXT = "This is a story about a brave duck called Bramble."
KINDS = {
    "gpt2, tied": {},
    "gpt2, its own unembedding": {"tied": False},
    "llama": {"style": "llama", "tied": False},
    "llama, tied, grouped heads": {"style": "llama", "n_key_value_heads": 1},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, made_words: Tokenizer, loud):
    spec = Spec(16, 3, 2, d_vocab=made_words.size, n_ctx=64, **KINDS[request.param])
    return loud(build(spec, tokenizer=made_words))


@pytest.fixture(scope="module")
def gpt2(made_words: Tokenizer, loud):
    return loud(build(Spec(16, 3, 2, d_vocab=made_words.size, n_ctx=64), tokenizer=made_words))


def logits_of(model, text: str) -> tuple[list[int], torch.Tensor]:
    ids = models.tokenizer_of(model).encode([text])[0]
    with torch.no_grad():
        return ids, model(torch.tensor([ids]))[0]


@pytest.mark.parametrize("against", ["mean", "nothing", "token"])
def test_contributions_add_up_to_the_logit(model, against: str) -> None:
    options = {"mean": {}, "nothing": {"centred": False}, "token": {"contrast": "e"}}[against]
    found = lens.attribution(model, TEXT, **options)
    ids, logits = logits_of(model, TEXT)
    targets = [*ids[1:], int(logits[-1].argmax())]
    other = models.tokenizer_of(model).encode(["e"], bos=False)[0][0]
    reference = {"mean": logits.mean(-1), "nothing": torch.zeros(len(ids)), "token": logits[:, other]}[against]
    true = logits.gather(1, torch.tensor(targets)[:, None])[:, 0] - reference
    assert torch.allclose(found.contribution.sum(0), true, atol=1e-4) and torch.allclose(found.logit, true, atol=1e-4)
    assert found.remainder < 1e-4 and found.contribution.abs().max() > 0.1
    assert found.targets == models.tokenizer_of(model).pieces(targets)


def test_a_target_and_a_contrast_of_ones_own(model) -> None:
    found = lens.attribution(model, TEXT, target="a", contrast="e")
    _, logits = logits_of(model, TEXT)
    tokenizer = models.tokenizer_of(model)
    (a,), (e,) = (tokenizer.encode([word], bos=False)[0] for word in "ae")
    assert torch.allclose(found.contribution.sum(0), logits[:, a] - logits[:, e], atol=1e-4)
    assert set(found.targets) == {"a"} and found.against == "e"
    swapped = lens.attribution(model, TEXT, target="e", contrast="a")
    assert torch.allclose(swapped.contribution, -found.contribution, atol=1e-5)


def test_without_a_norm_a_contribution_is_a_product_with_the_unembedding() -> None:
    """The arithmetic of a model without norms: no centring, no scale, no gain; the unembedding's bias is its own."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    tokenizer = Tokenizer.train([TEXT], 300)
    shape = {"n_layers": 2, "d_model": 16, "n_ctx": 64, "d_head": 4, "d_vocab": tokenizer.size, "act_fn": "relu"}
    config = HookedTransformerConfig(**shape, normalization_type=None, device="cpu", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HookedTransformer(config)
    models.attach_tokenizer(model, tokenizer)
    with torch.no_grad():
        model.unembed.b_U.normal_()
        parts = Components.of(model)
        ids = torch.tensor(tokenizer.encode([TEXT]))
        names = component_hooks(models.spec_of(model))
        writes = rows_of(forward.activations(model, ids, names), names, torch.ones_like(ids, dtype=torch.bool))
        logits, cache = model.run_with_cache(ids)
        directions = parts.directions(ids[0], parts.vocabulary_mean())
        found = parts.contributions(writes, directions)
    named = component_names(models.spec_of(model))
    assert found.shape[1] == len(named) and named[-1] == "unembedding's bias"
    true = (logits[0] - logits[0].mean(-1, keepdim=True)).gather(1, ids[0][:, None])[:, 0]
    assert torch.allclose(found.sum(1), true, atol=1e-4)
    assert torch.allclose(parts.logits(writes, directions), true, atol=1e-4)
    centred = model.W_U - model.W_U.mean(1, keepdim=True)
    mlp = (cache["mlp_out", 1][0] * centred.T[ids[0]]).sum(-1)
    assert torch.allclose(found[:, named.index("MLP 1")], mlp, atol=1e-4)
    assert torch.allclose(found[:, -1], (model.b_U - model.b_U.mean())[ids[0]], atol=1e-6)


def processed(model, **options: bool):
    """A copy with TransformerLens's weight processing."""
    copy = models.untied(model)
    switches = {"fold_ln": True, "center_writing_weights": True, "center_unembed": True, "fold_value_biases": False}
    copy.load_and_process_state_dict(copy.state_dict(), **switches | options)
    copy.setup()  # the folded norms are new modules, whose hooks have no name yet
    return copy


def test_transformer_lens_attributes_the_same_on_weights_that_it_processed(model) -> None:
    """Its functions ignore the norm's gain unless it is folded in, so they are right on processed weights only; ours on
    raw weights must agree where the logit is less the mean of all: folding and centring change no such logit."""
    gpt2 = models.spec_of(model).style == "gpt2"
    other = processed(model, center_writing_weights=gpt2)
    found = lens.attribution(model, TEXT)
    ids, logits = logits_of(model, TEXT)
    with torch.no_grad():
        _, cache = other.run_with_cache(torch.tensor([ids]))
    targets = torch.tensor([*ids[1:], int(logits[-1].argmax())])

    def attributed(stack: torch.Tensor) -> torch.Tensor:
        return cache.logit_attrs(stack, targets[None], has_batch_dim=True)[:, 0]

    names = {name: i for i, name in enumerate(found.components)}
    stack, labels = cache.decompose_resid(layer=-1, mode="all", return_labels=True)
    theirs = dict(zip(labels, attributed(stack), strict=True))
    near = {"atol": 2e-4, "rtol": 1e-4}
    torch.testing.assert_close(found.contribution[names["embedding"]], theirs["embed"], **near)
    for layer in range(3):
        torch.testing.assert_close(found.contribution[names[f"MLP {layer}"]], theirs[f"{layer}_mlp_out"], **near)
    stack, labels = cache.stack_head_results(layer=-1, return_labels=True)
    for label, heads in zip(labels, attributed(stack), strict=True):
        layer, head = label[1:].split("H")
        torch.testing.assert_close(found.contribution[names[f"head {layer}.{head}"]], heads, **near)
    if gpt2:
        torch.testing.assert_close(found.contribution[names["position"]], theirs["pos_embed"], **near)
        biases = attributed(
            other.accumulated_bias(3, mlp_input=False, include_mlp_biases=False).expand(1, 1, len(ids), 16)
        )
        torch.testing.assert_close(found.contribution[names["attention biases"]], biases[0], **near)
        bias = (other.unembed.b_U - other.unembed.b_U.mean())[targets]
        torch.testing.assert_close(found.contribution[names["final norm's bias"]], bias, **near)


def test_folded_value_biases_move_from_heads_to_the_attention_biases_and_nothing_else(gpt2) -> None:
    other = processed(gpt2, fold_value_biases=True)
    found = lens.attribution(gpt2, TEXT)
    ids, logits = logits_of(gpt2, TEXT)
    with torch.no_grad():
        _, cache = other.run_with_cache(torch.tensor([ids]))
        targets = torch.tensor([*ids[1:], int(logits[-1].argmax())])
        stack = cache.stack_head_results(layer=-1)
        heads = cache.logit_attrs(stack, targets[None])[:, 0]
        bias = other.accumulated_bias(3, mlp_input=False, include_mlp_biases=False).expand(1, 1, len(ids), 16)
        biases = cache.logit_attrs(bias, targets[None])[0, 0]
    ours = found.contribution[torch.tensor(["head" in name for name in found.components])]
    own = found.contribution[found.components.index("attention biases")]
    assert not torch.allclose(ours, heads, atol=1e-2) and not torch.allclose(own, biases, atol=1e-2)
    torch.testing.assert_close(ours.sum(0) + own, heads.sum(0) + biases, atol=2e-4, rtol=1e-4)


def test_lenses_agree_on_raw_and_processed_weights(model, made_stories) -> None:
    """Logit lens: the same log-probabilities at every depth. Tuned lens: fitted on the centred stream of processed
    weights its closed form is the same map, because what centring removes is not read on raw weights either."""
    gpt2 = models.spec_of(model).style == "gpt2"
    other = processed(model, center_writing_weights=gpt2)
    fitted = lens.translators(model, made_stories, steps=0, ridge=0.01)
    unembedding = Unembedding.of(model)
    names = hooks(models.spec_of(model))
    rows: dict[str, list[torch.Tensor]] = {name: [] for name in names}
    ids, _ = logits_of(model, TEXT)
    with torch.no_grad():
        _, raw = model.run_with_cache(torch.tensor([ids]))
        _, cooked = other.run_with_cache(torch.tensor([ids]))
        for text in made_stories:
            if not is_check(torch.tensor([content_hash(text)])):
                cut = torch.tensor(models.tokenizer_of(model).encode([text]))[:, :64]
                _, seen = other.run_with_cache(cut)
                for name in names:
                    rows[name].append(seen[name][0, :-1])
        for depth, name in enumerate(names):
            theirs = other.unembed(other.ln_final(cooked[name]))[0].log_softmax(-1)
            assert torch.allclose(unembedding.log_probabilities(raw[name][0]), theirs, atol=2e-4)
            if depth == len(names) - 1:
                continue
            h = torch.cat(rows[name]).double()
            u = torch.cat(rows[names[-1]]).double() - h
            near, mean = h - h.mean(0), h.mean(0)
            penalty = 0.01 * near.pow(2).sum(0).mean()
            a = torch.linalg.solve(near.T @ near + penalty * torch.eye(16), near.T @ (u - u.mean(0)))
            moved = cooked[name][0].double()
            moved = (moved + moved @ a + u.mean(0) - mean @ a).float()
            theirs = other.unembed(other.ln_final(moved[None]))[0].log_softmax(-1)
            ours = unembedding.log_probabilities(fitted.of(unembedding, raw[name][0], depth))
            assert torch.allclose(ours, theirs, atol=2e-3)


def test_over_a_corpus_it_is_the_mean_of_prompts(model, made_stories) -> None:
    texts = [text[:70] for text in made_stories[:9]]
    found = lens.by_component(model, texts)
    rows, tags = [], []
    for text in texts:
        rows.append(lens.attribution(model, text).contribution[:, :-1])
        tags += pos.tag_tokens(text, models.story_tokenizer_of(model).offsets(text))[0][1:]
    whole = torch.cat(rows, dim=1)
    assert found.tokens == whole.shape[1] == len(tags) and found.stories == 9
    assert torch.allclose(found.contribution, whole.mean(1), atol=1e-4)
    assert found.logit == pytest.approx(whole.sum(0).mean().item(), abs=1e-3) and found.remainder < 1e-4
    noun = torch.tensor([tag == "NOUN" for tag in tags])
    assert torch.allclose(found.tag_contribution[:, pos.TAGS.index("NOUN")], whole[:, noun].mean(1), atol=1e-4)
    assert torch.allclose(found.specific, found.contribution - found.null, atol=1e-5)
    assert (found.contribution_low < found.contribution).all() and (found.contribution < found.contribution_high).all()


def test_the_null_asks_about_the_storys_own_tokens_elsewhere() -> None:
    tokens = torch.tensor([[9, 1, 2, 3, 4], [9, 5, 6, 9, 9]])
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    of = torch.zeros(2, dtype=torch.int64)
    found = half_away(Batch(tokens, mask, of, of, of, ("", "")))
    assert found[0].tolist() == [3, 4, 1, 2] and found[1, :2].tolist() == [6, 5]


def test_a_planted_writer_is_found(made_words, made_stories) -> None:
    """One MLP writes the next token wherever it reads the letters `th`; everything else writes nothing."""
    tokenizer, width = made_words, 32
    model = build(Spec(width, 2, 2, d_vocab=tokenizer.size, n_ctx=64, tied=False), tokenizer=tokenizer)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for block in model.blocks:
            block.attn.W_O.zero_()
            block.mlp.W_out.zero_()
        e = torch.linalg.qr(torch.randn(width, width, generator=generator))[0]
        model.pos_embed.W_pos.zero_()
        model.embed.W_E.copy_(e[torch.arange(tokenizer.size) % width])
        model.unembed.W_U.copy_(torch.randn(width, tokenizer.size, generator=generator))
        common = tokenizer.encode([" the"], bos=False)[0][0]
        model.blocks[1].mlp.b_out.copy_(model.unembed.W_U[:, common])
    found = lens.by_component(model, made_stories)
    table = found.to_frame().set_index("component")
    silent = table.drop(index=["embedding", "MLP 1"])
    assert silent["contribution"].abs().max() < 1e-6 and table.loc["MLP 1", "contribution"] > 0
    assert abs(table.loc["MLP 1", "specific"]) < 0.1 * table.loc["MLP 1", "contribution"]  # it writes the same always


def test_batches_order_and_shards_change_nothing(model, made_stories) -> None:
    asked, texts = lens.ByComponent(groups=8), made_stories[:12]
    whole = asked.finish(states(model, texts, [asked])[0])
    parts = [states(model, texts[::-1], [asked], batch_tokens=150, shard=Shard(i, 3))[0] for i in range(3)]
    merged = asked.finish(asked.merge(parts[0], asked.merge(parts[1], parts[2])))
    for name, value in whole.tensors().items():
        torch.testing.assert_close(value, merged.tensors()[name], atol=2e-5, rtol=1e-4, equal_nan=True)
    assert len(list(batches(texts, models.tokenizer_of(model), context=64, batch_tokens=150))) > 3


@pytest.mark.thorough
def test_answers_draw_print_and_come_back(gpt2, made_stories, tmp_path) -> None:
    one, many = lens.attribution(gpt2, TEXT), lens.by_component(gpt2, made_stories[:8])
    for answer in (one, many):
        again = type(answer).load(answer.save(tmp_path))
        assert str(again) == str(answer) and plots.svg(answer.figure()).startswith("<svg")
    assert one.summary()["component"].iloc[-1] == "sum"
    assert one.summary()["contribution"][:-1].sum() == pytest.approx(one.summary()["contribution"].iloc[-1], abs=1e-3)
    assert "specific contributions" in plots.svg(many.tag_figure())
    assert [name for name, _ in many.figures()] == ["all", "by-tag"]
    assert (tmp_path / "ByComponentResult/by-tag.csv").is_file()
    with pytest.raises(ValueError, match="no position 99"):
        one.figure(99)


def test_refusals_name_the_remedy(gpt2, refused) -> None:
    with refused(r"' brave duck' is \d+ tokens of 16x3x2: .*Give one, with the space before it"):
        lens.attribution(gpt2, TEXT, target=" brave duck")
    with refused("prompt is empty"):
        lens.attribution(gpt2, "")
    with refused("There is no story|nothing to predict"):
        lens.by_component(gpt2, [""])
