"""The logit lens: against the hooked model's own residuals, the last depth against the model itself, and refusals."""

import math
from dataclasses import replace

import pytest
import torch

from tslens import forward, plots
from tslens.analysis import lens
from tslens.analysis.lens import reducer
from tslens.analysis.lens.means import means
from tslens.analysis.lens.tags import tags_of_rows
from tslens.batching import batches
from tslens.generate import generate
from tslens.models import Spec, build, tokenizer_of
from tslens.scan import scan, states
from tslens.tables import wide
from tslens.tokenizer import Tokenizer

TEXTS = [
    "Tom had a red ball. Tom and Sue saw the ball roll down the hill.",
    "The cat sat on the mat. The dog saw the cat and the cat saw the dog.",
    "Sue made a cake. The cake was big.",
    "One day a bird came. The bird sang to the cat.",
    "Tom lost his hat. He looked for the hat on the hill.",
    "The sun was hot, and the dog lay by the tree.",
]


@pytest.fixture(scope="module", params=["gpt2", pytest.param("llama", marks=pytest.mark.thorough)])
def model(request: pytest.FixtureRequest):
    tokenizer = Tokenizer.train(TEXTS, size=280)
    options = {"gpt2": {}, "llama": {"style": "llama", "tied": False}}[request.param]
    made = build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=40, **options), tokenizer=tokenizer)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.2)
    return made


def hooked(model, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids, and log-probabilities `[depth pos d_vocab]` by TransformerLens's own cache, norm and unembedding."""
    ids = torch.tensor(tokenizer_of(model).encode([text]))
    with torch.no_grad():
        _, cache = model.run_with_cache(ids)
        residuals = [cache["resid_pre", 0], cache["resid_pre", 1], cache["resid_post", 1]]
        return ids[0], torch.stack([model.unembed(model.ln_final(r))[0].log_softmax(-1) for r in residuals])


def test_prompt_is_what_the_hooked_residuals_say(model) -> None:
    found = lens.of_prompt(model, TEXTS[3], k=3)
    ids, logp = hooked(model, TEXTS[3])
    assert found.depths == ["embed", "0", "1"]
    top = logp.topk(3)
    assert torch.equal(found.top_ids, top.indices)
    assert torch.allclose(found.top_probability, top.values.exp(), atol=1e-5)
    assert torch.allclose(found.entropy, torch.special.entr(logp.exp()).sum(-1), atol=1e-4)
    for layer in range(3):
        for pos in range(len(ids) - 1):
            true = logp[layer, pos, ids[pos + 1]]
            assert found.true_probability[layer, pos] == pytest.approx(true.exp().item(), abs=1e-5)
            assert found.true_rank[layer, pos] == 1 + int((logp[layer, pos] > true).sum())
    assert found.true_probability[:, -1].isnan().all() and (found.true_rank[:, -1] == 0).all()
    assert found.top_tokens[2][1] == tokenizer_of(model).pieces(found.top_ids[2, 1].tolist())


def test_a_model_of_zeros_knows_nothing() -> None:
    """Uniform over d_vocab tokens: probability 1/d_vocab, entropy log d_vocab, at every depth."""
    tokenizer = Tokenizer.train(TEXTS, size=280)
    empty = build(Spec(8, 1, 1, d_vocab=tokenizer.size, n_ctx=40), tokenizer=tokenizer)
    with torch.no_grad():
        for parameter in empty.parameters():
            parameter.zero_()
    found = lens.of_prompt(empty, TEXTS[3])
    assert found.entropy.max() == pytest.approx(math.log(tokenizer.size), abs=1e-5)
    assert found.entropy.min() == pytest.approx(math.log(tokenizer.size), abs=1e-5)
    assert found.true_probability[:, :-1].max() == pytest.approx(1 / tokenizer.size)
    by_depth = scan(empty, TEXTS, lens.ByDepth())
    assert torch.allclose(by_depth.loss, torch.full((2,), math.log(tokenizer.size)))
    assert by_depth.kl.abs().max() < 1e-6 and (by_depth.agreement == 1).all()


def test_by_depth_is_what_the_hooked_residuals_say(model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducer, "ROWS", 7)  # stories fall across the chunks
    found = scan(model, TEXTS, lens.ByDepth())
    loss, kl, agreement, n = torch.zeros(3), torch.zeros(3), torch.zeros(3), 0
    for text in TEXTS:
        ids, logp = hooked(model, text)
        ids, logp = ids[:40], logp[:, :39]
        final = logp[-1, : len(ids) - 1]
        for layer in range(3):
            row = logp[layer, : len(ids) - 1]
            loss[layer] -= row.gather(1, ids[1:, None]).sum()
            kl[layer] += (final.exp() * (final - row)).sum()
            agreement[layer] += (row.argmax(-1) == final.argmax(-1)).sum()
        n += len(ids) - 1
    assert found.tokens == n and found.stories == len(TEXTS)
    assert torch.allclose(found.loss, loss / n, atol=1e-4)
    assert torch.allclose(found.kl, kl / n, atol=1e-4)
    assert torch.allclose(found.agreement, agreement / n, atol=1e-5)
    assert (found.loss_low < found.loss).all() and (found.loss < found.loss_high).all()


def test_last_depth_is_the_model(model) -> None:
    found = scan(model, TEXTS[:1], lens.ByDepth())
    ids = torch.tensor(tokenizer_of(model).encode(TEXTS[:1]))[:, :40]
    total, count = forward.loss(model, ids)
    assert found.loss[-1] == pytest.approx((total / count).item(), abs=1e-4)
    assert found.kl[-1] == 0 and found.agreement[-1] == 1
    assert found.loss_low.isnan().all()  # one story has no interval


def test_two_halves_merge_into_the_whole(model) -> None:
    asked = lens.ByDepth(groups=2)
    (whole,) = states(model, TEXTS, [asked])
    parts = [states(model, part, [asked])[0] for part in (TEXTS[:4], TEXTS[4:])]
    merged = asked.merge(*parts)
    assert torch.equal(whole.tokens, merged.tokens) and torch.equal(whole.stories, merged.stories)
    assert torch.allclose(whole.sums, merged.sums, atol=1e-4)


def test_of_several_positions_one_is_read_whatever_the_order(model) -> None:
    asked = lens.ByDepth(groups=2, every=3)
    found, turned = (states(model, texts, [asked])[0] for texts in (TEXTS, TEXTS[::-1]))
    (whole,) = states(model, TEXTS, [lens.ByDepth(groups=2)])
    lengths = [min(len(ids), model.cfg.n_ctx) - 1 for ids in tokenizer_of(model).encode(TEXTS)]
    assert sum(n // 3 for n in lengths) <= found.tokens.sum() <= sum(-(-n // 3) for n in lengths) < whole.tokens.sum()
    assert torch.equal(found.tokens, turned.tokens) and torch.allclose(found.sums, turned.sums, atol=1e-4)
    (batch,) = batches(TEXTS, tokenizer_of(model), context=model.cfg.n_ctx)
    thinned, all_rows = reducer.predicted(batch, 3), reducer.predicted(batch)
    (rows,), targets = reducer.predicted_rows({"x": batch.tokens[..., None].float()}, ["x"], batch, every=3)
    assert len(rows) == len(targets) == len(reducer.groups_of_rows(batch, 2, every=3)) == thinned.sum()
    assert (thinned <= all_rows).all() and torch.equal(targets, batch.tokens[:, 1:][thinned])
    first = thinned.int().argmax(1)
    assert all(row[place::3].sum() == row.sum() for row, place in zip(thinned, first.tolist(), strict=True))
    assert len(first.unique()) > 1  # stories begin at different places
    tags = tags_of_rows(batch, tokenizer_of(model))
    assert torch.equal(tags_of_rows(batch, tokenizer_of(model), every=3), tags[thinned[all_rows]])


def test_answers_draw_print_and_come_back(model, tmp_path) -> None:
    of_prompt, by_depth = lens.of_prompt(model, TEXTS[0]), scan(model, TEXTS, lens.ByDepth())
    for answer in (of_prompt, by_depth):
        assert plots.svg(answer.figure()).startswith("<svg")
        again = type(answer).load(answer.save(tmp_path))
        assert str(again) == str(answer)
        assert type(answer).__name__ in answer._repr_html_()
    frame = of_prompt.to_frame()
    row = frame[(frame["depth"] == "1") & (frame["pos"] == 2)].iloc[0]
    assert row["token"] == of_prompt.tokens[2] and row["top_token"] == of_prompt.top_tokens[2][2][0]
    assert row["true_rank"] == of_prompt.true_rank[2, 2]
    ranks = of_prompt.summary()["its rank"]
    assert ranks.isna().tolist() == [False] * (len(ranks) - 1) + [True]  # after the last token none is known
    assert ranks[:-1].tolist() == of_prompt.true_rank[-1, :-1].tolist()
    assert list(by_depth.to_frame()["depth"]) == ["embed", "0", "1"]
    with pytest.raises(ValueError, match="no position 99"):
        of_prompt.figure(99)


def test_positions_are_counted_in_a_thousand_and_drawn_beside_their_twins(model) -> None:
    found = replace(scan(model, TEXTS, lens.ByDepth()), agreement=torch.tensor([0.1234, 0.5678, 1.0]))
    before, after = "of 1,000 positions settled before any block", "of 1,000 positions settled after block 0"
    assert found.counts() == {before: 123, after: 568}
    beside = replace(found, of_twins={before: [100, 300], after: [610, 930]})
    lines = beside.figure().axes[1].lines
    assert [line.get_ydata().tolist() for line in lines[:2]] == [[0.1, 0.61, 1.0], [0.3, 0.93, 1.0]]
    assert len(found.figure().axes[1].lines) == len(lines) - 2 == 1


def test_an_id_beyond_the_tokenizers_is_shown_by_a_name() -> None:
    """A vocabulary rounded up, as in many published models, with a model that always predicts what was added."""
    tokenizer = Tokenizer.train(TEXTS, size=270)
    padded = build(Spec(16, 2, 2, d_vocab=320, n_ctx=40), tokenizer=tokenizer)
    with torch.no_grad():
        padded.ln_final.w.zero_()
        padded.ln_final.b.copy_(torch.eye(16)[0])
        padded.embed.W_E[:, 0] = 0.0
        padded.embed.W_E[300, 0] = 50.0
    found = lens.of_prompt(padded, "The cat", k=320)
    assert found.top_tokens[0][0][0] == found.top_tokens[2][1][0] == "<unused 300>"
    assert found.top_probability[..., 0].min() > 0.99
    assert (found.to_frame()["top_token"] == "<unused 300>").all()
    assert "unused 300" in plots.svg(found.figure())
    assert generate(padded, ["The cat"], max_new_tokens=2) == ["The cat<unused 300><unused 300>"]
    with pytest.raises(ValueError, match="k is 321; it must be from 1 to the vocabulary's 320"):
        lens.of_prompt(padded, "The cat", k=321)


def test_refusals_name_the_bound_and_the_remedy(model) -> None:
    with pytest.raises(ValueError, match=r"this model's context is 40\. Cut it by at least \d+ tokens"):
        lens.of_prompt(model, TEXTS[0] * 2)
    with pytest.raises(ValueError, match="prompt is empty"):
        lens.of_prompt(model, "")
    with pytest.raises(ValueError, match="k is 0; it must be from 1 to"):
        lens.of_prompt(model, "The cat", k=0)
    with pytest.raises(ValueError, match="nothing to predict"):
        scan(model, [""], lens.ByDepth())


def test_real_model_learns_with_depth(shared) -> None:
    import json

    from tslens.models import load

    real = load(f"llama2c:{shared}/data/models/stories260K.bin")
    path = shared / "data" / "stories" / "tinystories-v2.jsonl"
    texts = [json.loads(line)["text"][:400] for line in path.read_text().splitlines()[:16]]
    found = scan(real, texts, lens.ByDepth())
    assert (found.loss.diff() < 0).all() and (found.kl.diff() < 0).all() and (found.agreement.diff() > 0).all()
    assert found.loss[-1] < 1.6
    assert lens.of_prompt(real, "Once upon a").top_tokens[-1][-1][0] == " time"


def test_the_interval_of_a_share_ends_where_the_share_does() -> None:
    sums, tokens = torch.tensor([0.0, 0, 0, 0, 0, 0, 0, 3]), torch.full((8,), 100.0)
    found = means(sums, tokens)
    assert found.low < 0 < found.named("kl")["kl_low"] + 1
    ends = found.named("tag_agreement")
    assert ends["tag_agreement_low"] == 0 and ends["tag_agreement_high"] == found.high < 1
    assert means(tokens - sums, tokens).named("agreement")["agreement_high"] == 1


def test_a_terminal_of_80_columns_shows_both_ends_of_an_interval_or_none(model, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = str(lens.by_depth(model, TEXTS)).splitlines()
    head = next(line.split() for line in printed if line.startswith("depth"))
    assert {"loss_low", "loss_high", "agreement_low", "agreement_high"} <= {*head} and "kl_low" not in head


def test_a_prompt_leads_with_the_finding_and_keeps_the_last_layer(model, monkeypatch) -> None:
    """Where a line has no room for all layers, those in the middle are left out, and named."""
    found = lens.of_prompt(model, TEXTS[3], k=2)
    right = int((found.true_rank[-1] == 1).sum())
    assert str(found).startswith(f"After the last block the true next token is the likeliest at {right} of ")
    depths = ["embed", *map(str, range(12))]
    many = {name: getattr(found, name)[[0, *[1] * 11, 2]] for name in found.tensors()}
    rows = [[["a long word"] * 2 for _ in found.tokens] for _ in depths]
    deep = replace(found, depths=depths, top_tokens=rows, **many)
    monkeypatch.setenv("COLUMNS", "80")
    _, head, *_ = str(deep).splitlines()
    left = str(deep).partition("More columns with --wide: ")[2]
    assert {"11", "embed", "true", "rank", "probability"} <= set(head.split()) and "5" not in head.split()
    assert all(len(line) <= 80 for line in str(deep).splitlines()[1:]) and left
    with wide(True):
        assert {*depths} <= set(str(deep).splitlines()[1].split())
