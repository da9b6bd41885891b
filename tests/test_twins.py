"""A model's labels beside its twins': counted on the same stories, ranked, kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tslens import corpus, halves, models, twins
from tslens.analysis import heads, lens, neurons
from tslens.corpus import Corpus, cache
from tslens.halves import reach
from tslens.models import Spec, build
from tslens.models.twins import KINDS, Twin
from tslens.scan import scan
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.twins import TwinsResult, counting, kept, reading, scoring

REDUCERS = [heads.Roles(positions=32, groups=4), neurons.Profiles(k=5, sample=60)]


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train(list(stories("made", limit=30)), 400)
    made = build(Spec(32, 2, 2, d_vocab=tokenizer.size, n_ctx=96), seed=2, tokenizer=tokenizer)
    with torch.no_grad():  # each neuron of the first layer reads one token
        made.blocks[0].mlp.W_in.copy_(10 * made.embed.W_E[-made.blocks[0].mlp.W_in.shape[1] :].T)
    return made


@pytest.mark.thorough
def test_the_parts_of_speech_of_a_trained_model_lead_and_its_words_do_not():
    found = twins.compare(models.load("stories2M"), stories("made", limit=60), [neurons.Profiles()], n=3, limit=30)
    leads = dict(zip(found.labels, found.leads.tolist(), strict=True))
    assert leads["part-of-speech neurons"] and not leads["one-word neurons"]


@pytest.fixture(scope="module")
def found(model):
    return twins.compare(model, stories("made", limit=30), REDUCERS, n=3, limit=24)


def test_every_count_has_its_twins(found):
    assert found.stories == 24 and found.twins == ["permuted twin 0", "fresh twin 0", "permuted twin 1"]
    assert (
        {f"{role} heads" for role in heads.EVIDENT} < set(found.labels) > {"part-of-speech neurons", "one-word neurons"}
    )
    assert found.of_twins.shape == (3, len(found.labels))
    assert torch.equal(found.most, found.of_twins.max(0).values)
    for i in range(len(found.labels)):
        as_many = int((found.of_twins[:, i] >= found.count[i]).sum())
        assert float(found.p[i]) == pytest.approx((1 + as_many) / 4)
        assert found.least[i] == found.of_twins[:, i].min() and found.most[i] == found.of_twins[:, i].max()
        assert found.leads[i] == (found.low[i] > found.most[i]) and found.low[i] <= found.count[i] <= found.high[i]
    assert found.to_frame()["label"].tolist() == found.labels


@pytest.mark.thorough
def test_a_second_call_reads_all_counts_and_another_corpus_does_not(found, model, monkeypatch):
    counted: list[str] = []
    real = reading.answers_of
    monkeypatch.setattr(reading, "answers_of", lambda m, *rest: counted.append(models.name_of(m)) or real(m, *rest))
    again = twins.compare(model, stories("made", limit=30), REDUCERS, n=3, limit=24)
    assert not counted and torch.equal(again.of_twins, found.of_twins) and torch.equal(again.low, found.low)
    more = twins.compare(model, stories("made", limit=30), REDUCERS, n=4, limit=24)
    assert len(counted) == 1 and torch.equal(more.of_twins[:3], found.of_twins)
    twins.compare(model, stories("made", limit=23), REDUCERS, n=1, limit=24)
    assert len(counted) == 2


@pytest.mark.thorough
def test_the_order_of_stories_changes_nothing(found, model):
    texts = list(stories("made", limit=24))
    again = twins.compare(model, texts[::-1], REDUCERS, n=1, limit=24)
    assert torch.equal(again.count, found.count) and torch.equal(again.low, found.low)


@pytest.mark.thorough
def test_thresholds_are_percentiles_of_the_scores_of_all_twins_and_are_kept(monkeypatch, refused):
    model, reducer, corpus_ = models.load("stories2M"), heads.Kinds(made=3), stories("made", limit=12)
    found = twins.control(model, corpus_, reducer, n=2)
    answers = [scan(Twin(kind, 0).of(model), [*corpus_, *reducer.texts], reducer) for kind in KINDS]
    pooled = torch.cat([one.score.flatten(1) for one in answers], 1).nan_to_num(-1.0).double().numpy()
    assert found.thresholds == pytest.approx(np.percentile(pooled, 99, axis=1).clip(min=0).tolist(), abs=1e-6)
    assert len(found.thresholds) == len(heads.KINDS) and max(found.thresholds) > 0.02
    by_the_other = [
        np.percentile(other.score.flatten(1).nan_to_num(-1.0).numpy(), 99, axis=1).clip(min=0)
        for other in reversed(answers)
    ]
    pairs = zip(answers, by_the_other, strict=True)
    held = [replace(one, threshold=torch.tensor(least).float()).held for one, least in pairs]
    assert found.named == tuple(int(of_twin.any(0).sum()) for of_twin in held)
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    assert twins.control(model, corpus_, reducer, n=2) == found
    assert scoring.control(model, corpus_, reducer, n=1).named == ()
    with refused("2 twins on 0 stories"):
        twins.control(model, [], reducer, n=2)


@pytest.mark.thorough
def test_twins_that_are_read_once_for_all_have_the_counts_of_a_scan_for_each(model, monkeypatch, tmp_path):
    """Two comparisons and two controls build each twin once, one state serves roles and kernels, and all is kept: also
    what both comparisons count on the model itself and on halves of the stories, read once."""
    monkeypatch.setattr(counting, "PAIRS", 1)
    monkeypatch.setattr(halves, "halves", lambda: iter([[0, 1, 2, 3], [4, 5, 6, 7]]))
    counted = [REDUCERS, [heads.Kernels(positions=32, groups=4), neurons.HeldOut(k=5, sample=60)]]
    scored = [heads.Kinds(made=3), heads.Writes()]
    texts = list(stories("made", limit=24))
    alone = {
        kind: [scan(Twin(kind, 0).of(model), texts, reducers) for reducers in counted]
        + [scan(Twin(kind, 0).of(model), [*texts, *reducer.texts], [reducer]) for reducer in scored]
        for kind in KINDS
    }
    own = [counting._on_halves(model, texts, [reducers])[0] for reducers in counted]
    built: list[str] = []
    begun: list[object] = []
    of, start = Twin.of, heads.Roles.start
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Twin, "of", lambda twin, m: built.append(str(twin)) or of(twin, m))
        patch.setattr(heads.Roles, "start", lambda roles, m: begun.append(m) or start(roles, m))
        twins.read_ahead(model, texts, counted=counted, scored=scored, n=2)
    assert built == ["permuted twin 0", "fresh twin 0"]
    assert len(begun) == len(built) + 1  # once for each twin, and once on the model itself
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    for i, reducers in enumerate(counted):
        found = twins.compare(model, texts, reducers, n=2)
        for row, kind in zip(found.of_twins.tolist(), KINDS, strict=True):
            assert dict(zip(found.labels, row, strict=True)) == counting._all_of(alone[kind][i])
        of_twins = {kind: counting._all_of(alone[kind][i]) for kind in KINDS}
        expected = counting.result_of(found.model, len(texts), own[i] | of_twins, list(KINDS))
        assert torch.equal(found.count, expected.count) and torch.equal(found.high, expected.high)
    for i, reducer in enumerate(scored, start=len(counted)):
        pooled = torch.cat([alone[kind][i][0].score.flatten(1) for kind in KINDS], 1).nan_to_num(-1.0).double().numpy()
        expected = np.percentile(pooled, 99, axis=1).clip(min=0).tolist()
        assert twins.control(model, texts, reducer, n=2).thresholds == pytest.approx(expected, abs=1e-6)


def test_nothing_is_read_ahead_where_nothing_can_be_kept(model, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("it would be read again"))
    assert not kept.is_writable(model)
    twins.read_ahead(model, stories("made", limit=24), counted=[REDUCERS])


def test_named_by_hand():
    """Two kinds, three twins of two heads. The other twins' heads score up to 0.2 and 0.1, so the first twin's second
    head has the first kind; the third twin's first head exceeds 0.1 by the second kind, but not the least of 0.3."""
    score = np.array([[[0.1, 0.9], [0, 0]], [[0.2, 0.1], [0.1, 0]], [[0.1, 0.2], [0.3, 0.1]]])
    assert scoring._named(score, score - 0.05, 0.0) == [1, 0, 1]
    assert scoring._named(score, score - 0.05, 0.3) == [1, 0, 0]
    assert scoring._named(score, score - 1.0, 0.0) == [0, 0, 0]
    assert scoring._named(score[:1], score[:1], 0.0) == []


@pytest.mark.thorough
def test_spoilt_counts_are_counted_again(found, model):
    for place in (cache() / "twins").iterdir():
        place.write_text('{"the model": 3}')
    again = twins.compare(model, stories("made", limit=30), REDUCERS, n=1, limit=24)
    assert torch.equal(again.count, found.count)


def test_what_is_said_and_drawn(found, tmp_path):
    at = found.place("one-word neurons")
    assert found.range_of("one-word neurons") in (f"{found.least[at]}", f"{found.least[at]} to {found.most[at]}")
    assert set(found.summary()["label"]) <= set(found.labels) and len(found.summary()) < len(found.labels)
    assert found.figure() is not None
    found.save(tmp_path / "kept")
    assert torch.equal(TwinsResult.load(tmp_path / "kept").of_twins, found.of_twins)
    with pytest.raises(ValueError, match="'verbs' was not counted"):
        found.place("verbs")


def test_counts_are_said_beside_their_twins():
    labels = ["nouns", "words", "verbs"]
    count, of_twins = torch.tensor([1501, 0, 0]), torch.tensor([[0, 2, 0], [0, 9, 0]])
    low, high = torch.tensor([1400.4, 0, 0]), torch.tensor([1601.6, 0, 0])
    least, most, p = of_twins.amin(0), of_twins.amax(0), torch.ones(3)
    by_hand = TwinsResult("a", 40, labels, ["b", "c"], count, low, high, least, most, p, low > most, of_twins)
    assert by_hand.said(["nouns", "words"]) == "1,501 nouns (1,400 to 1,602; twins: 0), 0 words (0 to 0; twins: 2 to 9)"
    assert by_hand.said(["verbs"]) == by_hand.said([]) == "no label"


@pytest.mark.thorough
def test_kernels_are_counted_on_twins(model):
    kernels = heads.kernels(scan(model, list(stories("made", limit=24)), REDUCERS[0]))
    assert str(kernels).endswith("No untrained twin was counted beside these labels.")
    more = twins.compare(model, stories("made", limit=24), [heads.Kernels(positions=32, groups=4)], n=1)
    beside = more.beside(kernels)
    assert str(beside).endswith(f"On 24 stories: {more.said(kernels.counts())}.")
    assert dict(zip(more.labels, more.count.tolist(), strict=True)) == kernels.counts()


def test_positions_that_the_lens_settles_are_counted_on_twins(model):
    texts = list(stories("made", limit=24))
    found = twins.compare(model, texts, [lens.ByDepth(groups=4)], n=2)
    assert found.labels == [f"of 1,000 positions settled {place}" for place in ("before any block", "after block 0")]
    for row, kind in zip(found.of_twins.tolist(), KINDS, strict=True):
        shares = scan(Twin(kind, 0).of(model), texts, lens.ByDepth(groups=4)).agreement[:-1]
        assert row == (1000 * shares).round().tolist()
    own = scan(model, texts, lens.ByDepth(groups=4))
    beside = found.beside(own)
    assert beside.beside_twins == f"On 24 stories: {found.said(own.counts())}."
    assert beside.of_twins == dict(zip(found.labels, found.of_twins.T.tolist(), strict=True))


@pytest.mark.thorough
def test_heads_that_matter_are_counted_on_twins_and_kept(model, monkeypatch, refused):
    texts = list(stories("made", limit=24))
    found = twins.ablated(model, texts, n=2, rows=20)
    alone = [heads.ablation(Twin(kind, 0).of(model), texts, rows=20).counts() for kind in KINDS]
    own = heads.ablation(model, texts, rows=20)
    assert found.labels == ["heads that matter"] and found.stories == 20
    assert [{found.labels[0]: row} for (row,) in found.of_twins.tolist()] == alone
    assert {found.labels[0]: int(found.count)} == own.counts()
    width = float(reach(torch.tensor(own.of_halves).double()))
    assert float(found.high - found.count) == pytest.approx(width, abs=1e-5)
    monkeypatch.setattr(heads, "ablation", lambda *_, **__: pytest.fail("all is kept"))
    again = twins.ablated(model, texts, n=2, rows=20)
    assert torch.equal(again.of_twins, found.of_twins) and torch.equal(again.low, found.low)
    with refused("2 twins on 19 stories are no control"):
        twins.ablated(model, texts[:19], n=2)


@pytest.mark.thorough
def test_heads_of_a_twin_are_held_against_every_kind_of_ablation(monkeypatch):
    trained, texts = models.load("stories2M"), [text[:150] for text in stories("made", limit=24)]
    monkeypatch.setattr(Twin, "of", lambda self, model: model)
    found = twins.ablated(trained, texts, n=1, rows=20)
    assert int(found.most) == int(found.count) > 0


def test_too_few_stories_and_no_twin_are_refused(model, refused):
    with refused("needs 20 different stories; there are 3"):
        twins.compare(model, ["a", "b", "c", "a"], REDUCERS)
    with refused("0 twins are no control"):
        twins.compare(model, stories("made", limit=30), REDUCERS, n=0)


def test_the_counts_of_the_bundled_model_come_with_it():
    """Those that its page shows by default: on the stories that it writes itself, by the rules of today."""
    model = models.load("stories2M")
    read = Corpus(tuple(map(str, range(twins.STORIES))), "itself", recipe=corpus._key(model))
    name = kept.key(str(counting.VERSION), model, read.texts, read, twins.QUESTIONS)
    found, _ = kept.read(model, name, counting.is_whole)
    assert sum(name.endswith(tuple("0123456789")) and "twin" in name for name in found) == twins.TWINS
    assert counting.is_whole(found)
