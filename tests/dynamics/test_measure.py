"""The scores of a snapshot: those of the analyses themselves, kept, and read again."""

from pathlib import Path

import pytest
import torch

from tslens import dynamics, models
from tslens.analysis import heads, lens, neurons
from tslens.dynamics import measure as module
from tslens.dynamics import untrained
from tslens.dynamics.points import points
from tslens.dynamics.snapshot import BOS, INDUCTION, LOSS, POSITIONAL, PREVIOUS, REPETITION, UNITS, units_of
from tslens.models.twins import KINDS, Twin
from tslens.stories import stories

TEXTS = 20


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made", limit=TEXTS))


@pytest.mark.thorough
def test_scores_are_those_of_the_analyses(there: Path, texts: list[str]) -> None:
    found = dynamics.snapshots("one", texts)
    assert [each.step for each in found] == [0, 1, 2, 3] and {each.stories for each in found} == {TEXTS}
    model = models.load("one")
    roles, profiles, depth = heads.roles(model, texts), neurons.profiles(model, texts), lens.by_depth(model, texts)
    end, of = found[-1], dict(zip(found[-1].scores, found[-1].value.tolist(), strict=True))
    assert of[LOSS] == pytest.approx(float(depth.loss[-1]), abs=1e-5)
    torch.testing.assert_close(end.lens, depth.loss, atol=1e-5, rtol=0)
    for score, claim in ((PREVIOUS, "previous token"), (BOS, "BOS sink")):
        assert of[score] == pytest.approx(float(roles.claim_effect[heads.CLASSES.index(claim)].max()), abs=1e-5)
    assert of[INDUCTION] == pytest.approx(float(roles.induction_random.max()), abs=1e-5)
    # A nearly uniform head has next to no nats, so float32 sums of other batches tell.
    assert of[POSITIONAL] == pytest.approx(float(roles.positional_fraction.clamp(min=0).mean()), abs=1e-3)
    assert {name: of[name] for name in (roles.counts() | profiles.counts())} == roles.counts() | profiles.counts()
    assert torch.equal(end.role_code, roles.role_code) and end.labels == [*profiles.tags, "one word"]
    assert int((end.label == len(profiles.tags)).sum()) == int(profiles.by_word.sum())
    assert bool((end.low <= end.value).all() and (end.value <= end.high).all())
    counts = [part[len(UNITS) :] for part in (end.low, end.high, units_of(end.scores, end.role_code, end.label))]
    assert bool((counts[0] >= 0).all() and (counts[0] < counts[1]).all() and (counts[1] <= counts[2]).all())
    assert end.texts[-1].startswith(end.prompts[-1])


@pytest.mark.thorough
def test_a_second_call_reads_and_other_stories_are_measured(
    there: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dynamics.snapshots("two", texts)
    measured: list[int] = []
    real = module.measure
    monkeypatch.setattr(module, "measure", lambda model, step, on: measured.append(step) or real(model, step, on))
    again = dynamics.snapshots("two", texts)
    kept = dynamics.kept_snapshots("two", texts)
    assert not measured and all(torch.equal(a.value, b.value) for a, b in zip(first, again, strict=True))
    assert [each.step for each in kept] == [0, 1, 2, 3]
    assert dynamics.kept_snapshots("two", [*texts[1:], "Tom had a red ball."]) == []
    place = next((there / "two" / "dynamics").glob("step-000002-*"))
    (place / "SnapshotResult" / "result.json").write_text("{}")
    assert dynamics.kept_snapshots("two", texts) == []
    assert torch.equal(dynamics.snapshots("two", texts)[2].value, first[2].value) and measured == [2]


def test_the_key_changes_with_stories_weights_and_rules(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = points("one")
    keys = {module.key_of(point, on, on) for point in (first, second) for on in (["a", "b"], ["ab"], ["b", "a"])}
    assert len(keys) == 6
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    assert module.key_of(first, ["a", "b"], ["a", "b"]) not in keys


def test_a_model_without_weights_gains_nothing_from_repetition(made_words) -> None:
    """Every token is as likely as any other, and every key gets the same attention."""
    model = models.build(models.Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=101), tokenizer=made_words)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    found = module._on_repeated_tokens(model)
    assert found[REPETITION].estimate == pytest.approx(0.0, abs=1e-6)
    uniform = sum(1 / (48 + i + 1) for i in range(1, 49)) / 48  # the query at 48 + i sees as many keys and its own
    assert found[INDUCTION].estimate == pytest.approx(uniform, abs=1e-5)


def test_a_model_that_copies_gains_what_copying_is_worth(made_words, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses of 5 in the first half and 2 in the second: a gain of 3, whatever the first token of each half costs."""
    model = models.build(models.Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=41), tokenizer=made_words)

    def losses(_model, tokens):
        length = (tokens.shape[1] - 1) // 2
        of = torch.cat([torch.full((length,), 5.0), torch.full((length,), 2.0)])
        of[0], of[length] = 99.0, 99.0
        return of.expand(len(tokens), -1)

    monkeypatch.setattr(module.forward, "token_losses", losses)
    assert module._on_repeated_tokens(model)[REPETITION].estimate == pytest.approx(3.0)


def test_too_few_stories_and_a_compressor_are_refused(there: Path, refused, compressor) -> None:
    with refused("one run has nothing to agree with"):
        dynamics.stability(["one"], ["a"] * TEXTS)
    with refused("needs 20 different stories; there are 2"):
        dynamics.snapshots("one", ["a", "b", "a"])
    with refused("compressor"):
        module.measure(compressor, 0, ["a"] * 30)


@pytest.mark.thorough
def test_twins_of_the_finished_model_are_measured_once_and_kept(
    there: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = dynamics.snapshots("two", texts)
    assert not snapshots[0].of_twins and not dynamics.beside_kept_twins("two", snapshots, texts)[0].of_twins
    found = dynamics.beside_twins("two", snapshots, texts, n=2)
    assert [each.step for each in found] == [0, 1, 2, 3] and found[0].of_twins == found[-1].of_twins
    assert list(found[0].of_twins) == snapshots[0].scores
    for i, kind in enumerate(KINDS):
        twin = module.measure(Twin(kind, 0).of(models.load("two")), 0, texts)
        for name, value in zip(twin.scores, twin.value.tolist(), strict=True):
            assert found[0].of_twins[name][i] == pytest.approx(value, abs=1e-3), (kind, name)
    monkeypatch.setattr(untrained, "scores_of", lambda *_: pytest.fail("all is kept"))
    again = dynamics.beside_twins("two", snapshots, texts, n=2)
    kept = dynamics.beside_kept_twins("two", snapshots, texts)
    assert again[0].of_twins == kept[0].of_twins == found[0].of_twins
    (place,) = (there / "two" / "dynamics").glob("twins-of-step-000003-*.json")
    place.write_text('{"permuted twin 0": 3}')
    assert not dynamics.beside_kept_twins("two", snapshots, texts)[0].of_twins
