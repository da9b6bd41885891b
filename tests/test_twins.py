"""A model's labels beside its twins': counted on the same stories, ranked, kept."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from tslens import corpus, halves, models, twins
from tslens.analysis import circuits, heads, lens, neurons
from tslens.analysis.circuits.accuracy import DOES, RIGHT
from tslens.corpus import Corpus
from tslens.files import cache
from tslens.models import Spec, build
from tslens.models.twins import KINDS, TURNED, Twin
from tslens.scan import scan
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.twins import LayersResult, TwinsResult, counting, kept, reading, scoring
from tslens.twins.layers import REDUCERS as BY_LAYER
from tslens.twins.layers import _flat, _is_whole

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
    doubts = [found.doubt(label) for label in ("part-of-speech neurons", "one-word neurons")]
    assert doubts == ["too few twins to say that this is training", "this says nothing about training"]
    many = replace(found, leads=found.low > found.most)
    assert not many.doubt("part-of-speech neurons") and many.doubt("one-word neurons")


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
    found = twins.control(model, corpus_, reducer, n=2, turns=0)
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
    assert found.turned == ()
    both = twins.control(model, corpus_, reducer, n=2, turns=2)
    of_turned = [scan(Twin(TURNED, i).of(model), [*corpus_, *reducer.texts], reducer) for i in range(2)]
    pooled = torch.cat([one.score.flatten(1) for one in of_turned], 1).nan_to_num(-1.0).double().numpy()
    least = np.maximum(np.percentile(pooled, 99, axis=1), found.thresholds)
    assert both.thresholds == pytest.approx(least.tolist(), abs=1e-6) and max(least - found.thresholds) > 0.02
    alone = np.percentile(of_turned[1].score.flatten(1).nan_to_num(-1.0).double().numpy(), 99, axis=1)
    without_it = replace(of_turned[0], threshold=torch.tensor(np.maximum(alone, found.thresholds)).float())
    assert both.turned[0] == int(without_it.held.any(0).sum()) and len(both.turned) == 2
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    assert twins.control(model, corpus_, reducer, n=2, turns=2) == both
    assert scoring.control(model, corpus_, reducer, n=1, turns=0).named == ()
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
    assert built == ["permuted twin 0", "fresh twin 0", *map(str, scoring.turned())]
    assert len(begun) == 2 + 1  # once for each twin, and once on the model itself
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    for i, reducers in enumerate(counted):
        found = twins.compare(model, texts, reducers, n=2)
        for row, kind in zip(found.of_twins.tolist(), KINDS, strict=True):
            assert dict(zip(found.labels, row, strict=True)) == counting._all_of(alone[kind][i])
        of_twins = {kind: counting._all_of(alone[kind][i]) for kind in KINDS}
        of = {label: counting.units(model, label) for label in found.labels}
        expected = counting.result_of(found.model, len(texts), own[i] | of_twins, list(KINDS), of)
        assert torch.equal(found.count, expected.count) and torch.equal(found.high, expected.high)
    for i, reducer in enumerate(scored, start=len(counted)):
        pooled = torch.cat([alone[kind][i][0].score.flatten(1) for kind in KINDS], 1).nan_to_num(-1.0).double().numpy()
        expected = np.percentile(pooled, 99, axis=1).clip(min=0).tolist()
        assert twins.control(model, texts, reducer, n=2, turns=0).thresholds == pytest.approx(expected, abs=1e-6)


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

    def having(below: float, least: list[float], n: int = 3) -> list[int]:
        return scoring._Scores(score[:n], score[:n] - below).having(np.array(least))

    assert having(0.05, [0.0, 0.0]) == [1, 0, 1] and having(0.05, [0.3, 0.3]) == [1, 0, 0]
    assert having(0.05, [0.9, 0.0]) == [0, 0, 1] and having(1.0, [0.0, 0.0]) == [0, 0, 0]
    assert having(0.05, [0.0, 0.0], n=1) == []
    none = scoring._Scores(score[:0], score[:0])
    assert none.thresholds() == 0 and none.having(np.zeros(2)) == []


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
    said = "1,501 nouns (1,400 to 1,602; twins: 0; p = 1.00), 0 words (0 to 0; twins: 2 to 9; p = 1.00)"
    assert by_hand.said(["nouns", "words"]) == said
    assert by_hand.said(["verbs"]) == by_hand.said([]) == "no label"


@pytest.mark.thorough
def test_kernels_are_counted_on_twins(model):
    kernels = heads.kernels(scan(model, list(stories("made", limit=24)), REDUCERS[0]))
    assert "\nNo untrained twin was counted (--twins, " in str(kernels)
    more = twins.compare(model, stories("made", limit=24), [heads.Kernels(positions=32, groups=4)], n=1)
    beside = more.beside(kernels)
    assert str(beside).splitlines()[1] == f"On 24 stories: {more.said(kernels.counts())}."
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
    alone = [heads.ablation(Twin(kind, 0).of(model), texts, rows=20, context=64).counts() for kind in KINDS]
    own = heads.ablation(model, texts, rows=20, context=64)
    assert found.labels == ["heads that matter"] and found.stories == 20
    assert [{found.labels[0]: row} for (row,) in found.of_twins.tolist()] == alone
    assert {found.labels[0]: int(found.count)} == own.counts()
    ends = halves.around(found.count[0], torch.tensor(own.of_halves), torch.tensor(own.mattering.numel()))
    assert [float(found.low), float(found.high)] == pytest.approx(list(map(float, ends)), abs=1e-5)
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


@pytest.mark.thorough
def test_labelled_neurons_that_are_missed_are_counted_on_twins_and_kept(model, monkeypatch, refused):
    texts = list(stories("made", limit=24))
    found = twins.ablated_neurons(model, texts, n=2, rows=20)

    def counted(one):
        profiles = neurons.profiles(one, texts)
        named = bool(profiles.is_labelled.any())
        return (
            neurons.mean_ablation(one, texts, profiles, rows=20).counts() if named else dict.fromkeys(found.labels, 0)
        )

    assert dict(zip(found.labels, found.count.tolist(), strict=True)) == counted(model) and found.stories == 20
    for row, kind in zip(found.of_twins.tolist(), KINDS, strict=True):
        assert dict(zip(found.labels, row, strict=True)) == counted(Twin(kind, 0).of(model))
    own = neurons.mean_ablation(model, texts, neurons.profiles(model, texts), rows=20)
    beside = found.beside(own)
    assert beside.of_twins.keys() == own.counts().keys() and "twins: " in str(beside) and "p = " in str(beside)
    monkeypatch.setattr(neurons, "mean_ablation", lambda *_, **__: pytest.fail("all is kept"))
    again = twins.ablated_neurons(model, texts, n=2, rows=20)
    assert torch.equal(again.of_twins, found.of_twins) and torch.equal(again.low, found.low)
    with refused("2 twins on 19 stories are no control"):
        twins.ablated_neurons(model, texts[:19], n=2)


def test_a_twin_without_a_labelled_neuron_counts_none(model, monkeypatch):
    """Labels are blanked on the model and its twins, so that nothing is left to ablate."""
    real = neurons.profiles

    def blank(one, texts):
        found = real(one, texts)
        return replace(found, label=torch.full_like(found.label, -1), by_word=torch.zeros_like(found.by_word))

    monkeypatch.setattr(neurons, "profiles", blank)
    found = twins.ablated_neurons(model, list(stories("made", limit=20)), n=1, rows=20, most=199)
    assert found.count.tolist() == found.of_twins[0].tolist() == [0] * 4
    assert found.low.tolist() == [0] * 4 and 0 < found.high.amax() < 4  # of 199: 0 to 3.8 by Wilson


def test_rules_that_are_no_roles_and_silent_neurons_are_counted(found, model):
    texts = list(stories("made", limit=24))
    roles, profiles = scan(model, texts, REDUCERS)
    of = dict(zip(found.labels, found.count.tolist(), strict=True))
    assert of[heads.PUBLISHED] == int(roles.published_positional.sum())
    assert of[heads.GROWING] == int((roles.r_causal > 0.5).sum())
    assert of[heads.FADING] == int((roles.r_causal < -0.5).sum())
    assert of[heads.MOSTLY] == int((roles.positional_low > 0.5).sum())
    assert of[neurons.SILENT] == int((profiles.firing_rate == 0).sum())


@pytest.fixture(scope="module")
def on_object():
    """What the bundled model does on 24 pairs of a task."""
    trained = models.load("stories2M")
    able, patched = circuits.accuracy(trained, "object", n=24), circuits.patching(trained, "object", n=24)
    return trained, able, patched


@pytest.mark.thorough
def test_untrained_twins_do_not_do_a_task_and_patching_says_so(on_object, monkeypatch, refused):
    trained, able, patched = on_object
    found = twins.on_task(trained, "object", able, patched, n=2, pairs=24)
    assert found.unit == "pairs" and found.stories == able.pairs == 24
    at = found.place(RIGHT)
    assert found.count[at] == round(48 * able.accuracy)
    assert found.low[at] <= 48 * able.low + 1e-4 and 48 * able.high - 1e-4 <= found.high[at] <= 48
    of = {label: found.of_twins[:, found.place(label)].tolist() for label in found.labels}
    for right, does, kind in zip(of[RIGHT], of[DOES], KINDS, strict=True):
        alone = circuits.accuracy(Twin(kind, 0).of(trained), "object", n=24)
        assert right == round(2 * 24 * alone.accuracy) and does == int(alone.does) == 0
    assert of["heads with an effect"] == of["MLPs with an effect"] == [0, 0]
    assert {label: int(found.count[found.place(label)]) for label in patched.counts()} == patched.counts()
    assert patched.counts()["heads with an effect"] > 0 and len(patched.of_halves) == 14
    said = str(twins.beside_task(found, patched))
    low, high = (f"{end / 48:.3f}" for end in (min(of[RIGHT]), max(of[RIGHT])))
    assert f"None of 2 untrained twins does the task (accuracy {low} to {high}; chance 0.5)" in said
    assert "On 24 pairs: " in said and "heads with an effect (" in said and "twins: 0; p = 0.33" in said
    # Not on every half: twelve pairs of five templates are few.
    assert "model that does the task (0.2 to 1.0; twins: 0; p = 0.33)" in str(found.beside(able))
    monkeypatch.setattr(circuits, "accuracy", lambda *_, **__: pytest.fail("all is kept"))
    assert torch.equal(twins.on_task(trained, "object", able, patched, n=2, pairs=24).of_twins, found.of_twins)
    with refused("0 twins on 24 pairs are no control"):
        twins.on_task(trained, "object", able, patched, n=0, pairs=24)


@pytest.mark.thorough
def test_a_twin_that_does_the_task_is_patched(on_object, monkeypatch, tmp_path):
    trained, able, patched = on_object
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    monkeypatch.setattr(Twin, "of", lambda self, model: model)
    found = twins.on_task(trained, "object", able, patched, n=1, pairs=24)
    assert torch.equal(found.of_twins[0], found.count) and not found.leads.any()
    assert "1 of 1 untrained twins do the task" in str(twins.beside_task(found, patched))


def test_a_model_that_does_not_do_the_task_stands_beside_its_twins_too(monkeypatch, tmp_path):
    trained = models.load("stories2M")
    able = circuits.accuracy(trained, "owner", n=24)
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    found = twins.on_task(trained, "owner", able, n=1, pairs=24)
    assert (
        not able.does and found.count[found.place(DOES)] == 0 and found.count[found.place("heads with an effect")] == 0
    )


def test_too_few_stories_and_no_twin_are_refused(model, refused):
    with refused("needs 20 different stories; there are 3"):
        twins.compare(model, ["a", "b", "c", "a"], REDUCERS)
    with refused("0 twins are no control"):
        twins.compare(model, stories("made", limit=30), REDUCERS, n=0)
    with refused("needs 20 different stories; there are 2"):
        twins.layers(model, ["a", "b"])


def test_the_counts_of_the_bundled_model_come_with_it():
    """Those that its page shows by default: on the stories that it writes itself, by the rules of today."""
    model = models.load("stories2M")
    read = Corpus(tuple(map(str, range(twins.STORIES))), "itself", recipe=corpus._key(model))
    name = kept.key(str(counting.VERSION), model, read.texts, read, twins.QUESTIONS)
    found, _ = kept.read(model, name, counting.is_whole)
    assert sum(name.endswith(tuple("0123456789")) and "twin" in name for name in found) == twins.TWINS
    assert counting.is_whole(found)


def by_layer(name, predict, of_twins):
    """A model of 10 neurons a layer: by layer those whose label NOUN predicts, one more that prefers it; by twin."""
    count = torch.tensor([[predict, predict], [[n + 1 for n in predict]] * 2])
    twin = torch.tensor(of_twins)[:, None, None].expand(-1, 2, 2, -1).contiguous()
    low, most = (count - 1.0).clamp(min=0), twin.amax(0)
    p = (1 + (twin >= count).sum(0)).float() / (1 + len(twin))
    return LayersResult(
        stories=40,
        twins=[f"fresh twin {i}" for i in range(len(twin))],
        tags=["any", "NOUN"],
        models=[name] * len(predict),
        layer=torch.arange(len(predict)),
        depth=torch.arange(1, len(predict) + 1) / len(predict),
        neurons=torch.full((len(predict),), 10),
        count=count,
        low=low,
        high=count + 1.0,
        least=twin.amin(0),
        most=most,
        p=p,
        leads=low > most,
        of_twins=twin,
    )


@pytest.fixture
def drawable(monkeypatch):
    """The charts of what was counted by hand: it has no adjectives."""
    charts = (("predicts", "NOUN", "NOUN"), ("prefers", "any", "any"))
    monkeypatch.setattr("tslens.twins.layers_result.CHARTS", charts)


def test_models_of_different_depth_stand_side_by_side(drawable, refused, tmp_path):
    small, large = by_layer("small", [0, 4], [[0, 1], [2, 0]]), by_layer("large", [0, 6, 3], [[0, 0, 0], [0, 0, 1]])
    both = twins.side_by_side([small, large])
    assert both.depth.tolist() == pytest.approx([1 / 2, 1, 1 / 3, 2 / 3, 1])
    table = both.summary().set_index(["tag", "model", "layer"])
    row = table.loc[("NOUN", "small", 1)]
    assert (row["predict"], row["low"], row["high"], row["twins_most"], row["prefer"]) == (4, 3, 5, 1, 5)
    assert row["p"] == pytest.approx(1 / 3) and row["leads"]
    assert table.loc[("NOUN", "small", 0)]["twins_most"] == 2  # only twins have one
    assert ("NOUN", "large", 0) not in table.index and ("any", "large", 0) in table.index
    assert "Of the 10 neurons of each layer of large 0, 6 and 3 have a part of speech that predicts" in str(both)
    assert "(twins: at most 2 and 1), 1 and 5 prefer one" in str(both)
    chart = both._chart("predicts", "NOUN", "nouns")
    assert chart["series"]["large"].tolist() == pytest.approx([0, 0.6, 0.3])
    assert chart["series"]["twins of small"].tolist() == pytest.approx([0.1, 0.05])
    assert [end.tolist() for end in chart["bands"]["twins of small"]] == [[0, 0], pytest.approx([0.2, 0.1])]
    assert chart["x"]["large"].tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert small._chart("predicts", "NOUN", "nouns")["x"]["small"].tolist() == [0, 1]
    assert both.figure() is not None and "model" not in small.summary()
    both.save(tmp_path)
    assert torch.equal(LayersResult.load(tmp_path).of_twins, both.of_twins)
    frame = both.to_frame()
    assert len(frame) == 2 * 2 * 5 and frame["model"].tolist()[:5] == ["small"] * 2 + ["large"] * 3
    with refused("small and small have the same name"):
        twins.side_by_side([small, small])
    with refused("different stories"):
        twins.side_by_side([small, replace(large, stories=41)])
    with refused("'huge' was not counted; the models are small, large"):
        both.places_of("huge")


def test_counts_by_layer_as_they_are_kept():
    rows = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]  # by rule, part of speech and layer
    assert list(_flat(rows).values()) == [4, 6, 1, 2, 3, 4, 12, 14, 5, 6, 7, 8]
    whole = {"the model": rows} | {f"half {i}": rows for i in range(14)}
    assert _is_whole(whole) and _is_whole(whole | {"fresh twin 0": rows})
    for spoilt in (rows, {}, {"the model": rows}, whole | {"half 3": rows[:1]}, whole | {"half 3": [[[1]], [[2, 3]]]}):
        assert not _is_whole(spoilt)


@pytest.mark.thorough
def test_neurons_are_counted_layer_by_layer(monkeypatch):
    """The layers add up to what the reducers count on model and twins; a second call reads all."""
    monkeypatch.setattr(sys.modules["tslens.twins.layers"], "PAIRS", 1)
    monkeypatch.setattr(halves, "halves", lambda: iter([[0, 1, 2, 3], [4, 5, 6, 7]]))
    model, texts = models.load("stories2M"), list(stories("made", limit=24))
    found = twins.layers(model, texts, n=2)
    each = [model, *(Twin(kind, 0).of(model) for kind in KINDS)]
    for counted, of in zip([found.count, *found.of_twins], each, strict=True):
        tested, profiles = scan(of, texts, BY_LAYER)
        for rule, counts in enumerate((tested.counts(), profiles.counts())):
            expected = list(counts.values())[: len(found.tags)]  # parts of speech alone
            assert counted[rule].sum(1).tolist() == expected
        nouns = (profiles.label == profiles.tags.index("NOUN")).sum(1)
        assert counted[1, found.tags.index("NOUN")].tolist() == nouns.tolist()
    assert int(found.count[1, 0].sum()) > 20 > int(found.most[1, 0].sum())
    assert not found.leads.any() and bool((found.low <= found.count).all())  # two twins are too few
    assert found.neurons.tolist() == [768] * 4 and found.stories == 24
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    monkeypatch.setattr(halves, "states", lambda *_: pytest.fail("all is kept"))
    assert torch.equal(twins.layers(model, texts, n=2).low, found.low)
