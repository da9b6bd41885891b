"""The audit of the bundled model: what it counts, what it says, and that it fails where it should."""

import contextlib
import dataclasses
import io
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tslens import cli, models, stats
from tslens.analysis import heads
from tslens.analysis.heads.kinds_weights import KINDS
from tslens.analysis.heads.kinds_words import CLASSES
from tslens.analysis.neurons import PatternsResult
from tslens.audit import AuditResult, Planted, Vocabulary, audit, keep, kept, running, tallies, verdict_of
from tslens.audit.copies import PURE_HEAD, Beginnings, copies, target
from tslens.audit.coverage import AT_LEAST, EXACT, covered
from tslens.audit.judging import ALL, ANY_KIND, ANY_WRITTEN, PART_OF_SPEECH, SETS, Controlled, Judged
from tslens.audit.label_intervals import KIND, TESTED, WITH_NULLS, WRITTEN
from tslens.audit.planted import plant
from tslens.audit.rests_on import NONE, SHARE, coverage
from tslens.audit.settings import WAYS, bits, changed, labels
from tslens.audit.tallies import Tally, more_found
from tslens.files import cache
from tslens.stats import Interval
from tslens.stories import stories
from tslens.tokenizer import Tokenizer


def made(label: str, truth: str, *, kind: str = "head", right: bool = True) -> Judged:
    return Judged(kind, (0, 0), truth, label, right)


def test_tallies_by_hand() -> None:
    judged = [
        made("previous token", "previous token"),
        made("unresolved", "previous token", right=False),
        made("previous token", "untrained", right=False),
        made("diffuse", "of high gain"),
        made("diffuse", "uniform"),
        made("NOUN", "nouns", kind="neuron"),
        made("", "nothing", kind="neuron"),
        made("VERB", "untrained", kind="neuron", right=False),
    ]
    found = tallies(judged)
    assert found["previous token"] == Tally("previous token", planted=2, named=1, random=2, false=1)
    assert found[PART_OF_SPEECH] == Tally(PART_OF_SPEECH, planted=1, named=1, random=1, false=1)
    assert found["self"] == Tally("self", random=2) and found["one word"] == Tally("one word", random=1)


def test_kinds_of_keys_by_hand() -> None:
    """A comma is a mark, so the last comma's head may be said to choose the last mark, and need not."""
    judged = [
        dataclasses.replace(made(label, truth), kinds=kinds)
        for label, truth, kinds in [
            ("BOS sink", "same name", ("same name",)),
            ("BOS sink", "same name", ()),
            ("previous token", "previous token", ("same name",)),
            ("diffuse", "untrained", ("topic word",)),
            ("unresolved", "last comma", ("last punctuation",)),
        ]
    ]
    found = tallies(judged)
    for label, numbers in {
        "kind of key: same name": (2, 1, 3, 1),
        "kind of key: last punctuation": (0, 0, 4, 0),
        ANY_KIND: (2, 1, 5, 2),
    }.items():
        assert found[label] == Tally(label, *numbers)


def test_what_other_questions_say_of_plants_by_hand() -> None:
    """A copying head writes what it copies, and a head of the token before has a kernel; a mixture may have one."""
    judged = [
        dataclasses.replace(made(label, truth, kind=kind), more=more)
        for kind, label, truth, more in [
            ("head", "self", "article before NOUN", ("offset kernels", "writes: NOUN", "writes: VERB")),
            ("head", "induction", "induction", ("writes: NOUN",)),
            ("head", "positional", "offset 3", ("local kernels",)),
            ("head", "previous token", "verb to its subject", ("previous token kernels",)),
            ("head", "positional", "untrained", ("local kernels",)),
            ("neuron", "", "set of words", (SETS,)),
            ("neuron", "", "of high gain", (SETS,)),
            ("neuron", "NOUN", "nouns", (SETS,)),
        ]
    ]
    found = tallies(judged)
    for label, numbers in {
        "writes: NOUN": (1, 1, 3, 0),
        ANY_WRITTEN: (1, 1, 4, 1),
        "offset kernels": (2, 1, 2, 0),
        "local kernels": (0, 0, 2, 1),
        SETS: (1, 1, 1, 1),
    }.items():
        assert found[label] == Tally(label, *numbers), label


def test_targets_of_copies_by_hand(vocabulary: Vocabulary) -> None:
    noun, other = int(vocabulary.flags["noun"].nonzero()[0]), int((~vocabulary.flags["noun"]).nonzero()[-1])
    tokens = torch.tensor([[vocabulary.tokenizer.bos, noun, other, noun]])
    assert target("previous token", tokens, vocabulary)[0].argmax(1).tolist() == [0, 0, 1, 2]
    assert target("fixed class", tokens, vocabulary)[0, 3].tolist() == [0, 0.5, 0, 0.5]
    assert target("offset 3", tokens, vocabulary)[0, :, 0].tolist() == [1, 1, 1, 1]


@pytest.mark.thorough
def test_a_copy_differs_in_its_plants_alone(texts: list[str]) -> None:
    model = models.load("stories2M")
    vocabulary = Vocabulary.of(models.story_tokenizer_of(model), texts)
    made, lost = copies(model, vocabulary, texts)
    before = models.weights(model)
    for planted in made:
        now = models.weights(planted.model)
        changed = {name for name in now if not torch.equal(now[name], before[name])}
        assert all(".W_Q" in n or ".b_Q" in n or "K" in n.split(".")[-1] or ".mlp." in n for n in changed)
    names = [name for planted in made for name in planted.heads.values()]
    assert {"BOS sink", "uniform"} <= set(names) and len(names) + sum("attention" in text for text in lost) == 6
    rows = Beginnings.of(model, texts).held_out
    for planted in made:  # all of its plants together leave each as pure as it was alone
        _, cache = planted.model.run_with_cache(rows)
        for (layer, head), name in planted.heads.items():
            wanted = target(name, rows, vocabulary)
            assert float(torch.minimum(cache["pattern", layer][:, head], wanted).sum(-1)[:, 2:].mean()) >= PURE_HEAD


def test_tokens_that_are_pieces_of_words_tell_no_part_of_speech(texts: list[str]) -> None:
    whole, pieces = Vocabulary.of_words(texts), Vocabulary.of(Tokenizer.train(texts, 500), texts)
    assert min(whole.told.values()) > 0.9 > 0.6 > max(pieces.told.values())


@pytest.mark.thorough
def test_no_way_of_reading_changes_a_label_of_a_planted_model(planted: Planted, texts: list[str]) -> None:
    controlled = running.controlled_by(planted.model, texts, 2, made=4)
    n, differing = changed(planted.model, texts[:20], controlled)
    assert differing == dict.fromkeys(WAYS, 0) and n == 3 * (len(planted.heads) + len(planted.neurons))


def test_kinds_written_classes_and_patterns_are_compared(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As the bits of a number, by head and by neuron."""
    model = plant(Vocabulary.of_words(texts), "gpt2").model
    for result in (heads.KindsResult, heads.WritesResult):
        monkeypatch.setattr(result, "held", property(lambda one: torch.ones_like(one.low) > 0))
    monkeypatch.setattr(PatternsResult, "predicts", property(lambda one: torch.ones_like(one.q) > 0))
    roles, chosen, written, label, predicting, patterns = labels(model, texts[:2], Controlled())
    assert chosen.shape == written.shape == roles.shape and patterns.shape == label.shape == predicting.shape
    assert set(chosen.flatten().tolist()) == {2 ** len(KINDS) - 1} and set(patterns.flatten().tolist()) == {3}
    assert set(written.flatten().tolist()) == {2 ** len(CLASSES) - 1}
    assert bits(torch.tensor([[True, False], [True, True]])).tolist() == [3, 2]


COMMAND = "audit --model stories2M --stories made --limit 120 --seeds 3 --twins 2 --runs 100"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the command wrote, and what it printed."""
    out, printed = tmp_path_factory.mktemp("audit") / "found", io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = cli.main([*COMMAND.split(), "--out", str(out), "--json"])
    assert AuditResult.load(out).failures == [] and code == 0
    return out, printed.getvalue()


@pytest.fixture(scope="module")
def found(told: tuple[Path, str]) -> AuditResult:
    return AuditResult.load(told[0])


@pytest.mark.thorough
def test_the_labels_pass_the_audit_on_the_bundled_model(found: AuditResult, tmp_path) -> None:
    assert found.wrong_labels == []
    assert "\n" not in found.verdict and found.verdict in str(found) and found.to_json()["verdict"] == found.verdict
    frame = found.to_frame().set_index("label")
    others = frame.drop(SETS)  # few top tokens may miss a word of a set
    assert (others["power"] == 1).all() and (others["named"] == others["planted"]).all()
    assert found.figure() is not None
    found.save(tmp_path)
    assert AuditResult.load(tmp_path).verdict == found.verdict


@pytest.mark.thorough
def test_without_benjamini_and_hochberg_it_fails_and_with_them_not(
    found: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model built by hand, whose own reading is quick: what is judged are the components that it has at random."""
    assert found.wrong_labels == []
    texts = list(stories("made", limit=120, seed=11))
    model = plant(Vocabulary.of_words(texts), "gpt2").model
    monkeypatch.setattr(running, "copies", lambda *_: ([], []))
    monkeypatch.setattr(running, "READ_AGAIN", 4)
    monkeypatch.setattr(running, "controlled_by", lambda *_: Controlled())
    of_labels = "roles and parts of speech are given to random components"
    assert of_labels not in audit(model, texts, seeds=2, n=1, runs=20).verdict
    monkeypatch.setattr(stats, "benjamini_hochberg", lambda p: np.asarray(p, dtype=float))
    without = audit(model, texts, seeds=2, n=1, runs=20)
    assert not without.passes and of_labels in without.verdict


@pytest.fixture
def perfect() -> AuditResult:
    """An audit in which nothing fails."""
    return AuditResult(
        model="m",
        stories=20,
        models=1,
        labels=["previous token", "one word"],
        count=torch.tensor([3, 8]),
        planted=torch.tensor([9, 9]),
        named=torch.tensor([9, 9]),
        power=torch.ones(2),
        power_low=torch.full((2,), 0.7),
        least_missed=torch.full((2,), 0.28),
        random=torch.tensor([40, 400]),
        false=torch.tensor([0, 3]),
        false_share=torch.tensor([0.0, 0.0075]),
        false_low=torch.tensor([0.0, 0.002]),
        false_high=torch.tensor([0.3, 0.02]),
        least_false=torch.tensor([0.07, 0.007]),
        coverage=torch.full((2,), 0.95),
        twins=1,
        of_twins=torch.zeros(2),
        plants=["previous token", "one word"],
        plant_n=torch.tensor([9, 9]),
        plant_right=torch.tensor([9, 9]),
        lost=[],
        tests=["loss", "p"],
        covers=["covers 95%", "covers 95%, near 1 or more"],
        test_kinds=["covers 95%", "uniform p"],
        test_value=torch.tensor([0.95, 0.01]),
        test_p=torch.tensor([0.5, 0.002]),
        test_detectable=torch.tensor([0.09, 0.2]),
        runs=100,
        ways=["three shards"],
        changed=torch.tensor([0]),
        read=299,
        command="tslens audit --model m",
    )


def test_the_verdict_by_hand(perfect: AuditResult) -> None:
    """A perfect audit passes; one missed plant, one interval that is wrong, or one label that moves fails it."""
    assert perfect.passes and ": all 18 plants" in perfect.verdict
    assert "0 of 440 random heads and neurons" in perfect.verdict
    assert "1 simulated intervals cover 95% and 0 cover 95% or more, which fail only below it (c" in perfect.verdict
    assert perfect.verdict.endswith("no way of reading 20 stories changes a label.")
    for field, value, phrase in [
        ("plant_right", torch.tensor([8, 9]), "1 of 9 plants 'previous token' are called something else"),
        ("false_low", torch.tensor([0.06, 0.0]), "0% of the labels 'previous token' are false discoveries (0)"),
        ("test_p", torch.tensor([9e-4, 0.5]), "loss: coverage 0.950"),
        ("test_p", torch.tensor([0.5, 9e-4]), "p is not uniform (distance 0.010)"),
        ("changed", torch.tensor([2]), "three shards changes 2 answers"),
    ]:
        failed = dataclasses.replace(perfect, **{field: value})
        assert failed.verdict == f"The audit fails: {phrase}."


def test_the_tables_say_of_which_sort_each_interval_is(perfect: AuditResult) -> None:
    assert list(perfect.summary()["covers"]) == ["covers 95%", "covers 95%, near 1 or more"]
    counts = dataclasses.replace(
        perfect, test_kinds=["covers 95% or more", "uniform p"], test_value=torch.tensor([0.999, 0.01]), runs=2000
    )
    assert counts.passes and "0 simulated intervals cover 95% and 1 cover 95% or more" in counts.verdict
    said = "1 of 1 intervals (counts, kinds of keys, areas and shares near 1, fractions of few stories, p over words) "
    said += "fail only where they cover less than 95%"
    assert said in str(counts) and "Surely more than 95% cover: loss (0.999)." in str(counts)
    assert "0 of 1 intervals" in str(perfect) and "Surely more than 95% cover: none." in str(perfect)
    assert counts.simulations()[["sort", "passes"]].values.tolist() == [
        ["covers 95% or more", "conservative"],
        ["uniform p", "yes"],
    ]


def test_twins_are_counted_without_turned_heads_as_plants_are(texts: list[str], monkeypatch) -> None:
    asked: list[dict[str, object]] = []

    def noted(*_: object, **options: object) -> heads.Control:
        asked.append(options)
        return heads.Control()

    monkeypatch.setattr(running, "control", noted)
    monkeypatch.setattr(running, "answers", lambda *_: SimpleNamespace(counts=Counter))
    model = models.load("stories2M")
    running._of_twins(model, texts, 2, running.controlled_by(model, texts, 2), lambda: None)
    assert [one["turns"] for one in asked] == [0] * 6


def test_a_wrong_kind_of_key_fails_it(perfect: AuditResult) -> None:
    """A kind that is missed, or more than a twentieth of all kinds; of a single kind few are given, and one may err."""
    rows = {"labels": ["previous token", "one word", "kind of key: same name", ANY_KIND], "planted": [9, 9, 3, 9]}
    rows |= {"named": [9, 9, 3, 9], "random": [40, 400, 57, 60], "false": [0, 3, 1, 1]}
    rows |= {"false_low": [0.0, 0.0, 0.06, 0.02], "false_share": [0.0, 0.01, 0.25, 0.04]}
    rows |= {"false_high": [0.3, 0.02, 0.7, 0.2]}
    given = {name: value if name == "labels" else torch.tensor(value) for name, value in rows.items()}
    found = dataclasses.replace(perfect, **given)
    assert found.passes and "9 of 9 heads that choose a kind of key have it, 1 of 60 have a wrong one" in found.verdict
    often = " Surely more than 5% false discoveries: 'same name' (1 of 4, 6% to 70%)."
    assert found.often_false == often and found.verdict.endswith(f"changes a label.{often}")
    failed = dataclasses.replace(found, test_p=torch.tensor([0.5, 9e-4]))
    assert failed.verdict == f"The audit fails: p is not uniform (distance 0.010).{often}"
    rarely = dataclasses.replace(
        found, false_low=torch.tensor([0.0, 0.0, 0.049, 0.06])
    )  # of any kind: a line of its own
    assert rarely.often_false == ""
    assert failed.simulations()["passes"].tolist() == ["yes", "no"]
    missed = dataclasses.replace(found, named=torch.tensor([9, 9, 2, 8]))
    assert missed.wrong_labels == ["1 of 3 plants are not given their 'kind of key: same name'"]
    wrong = dataclasses.replace(found, false_share=torch.tensor([0.0, 0.01, 0.25, 0.06]))
    assert wrong.wrong_labels == ["6% of the labels 'kind of key: any' are false discoveries (1)"]


def test_false_shares_have_wilsons_interval() -> None:
    """4 heads with a kind that they do not choose, beside 10 that choose it: 29%, 12% to 55%."""
    kind = "noun to its determiner or adjective"
    judged = [dataclasses.replace(made("", "noun to its modifier"), kinds=(kind,)) for _ in range(10)]
    judged += [dataclasses.replace(made("", "favourite tokens"), kinds=(kind,)) for _ in range(4)]
    tests = [covered(name, Interval(0.0, np.zeros(9), np.ones(9), 0.95, ""), 0.5) for name in NEEDED]
    found = running._by_label(judged, tests)
    at = list(ALL).index(f"kind of key: {kind}")
    shares = [float(found[name][at]) for name in ("false_share", "false_low", "false_high")]
    assert shares == pytest.approx([4 / 14, 0.1172, 0.5465], abs=1e-4)


NEEDED = ("positional fraction", "AUROC", f"{TESTED}, auroc", WRITTEN, SHARE, *(f"{KIND}, {n} " for n in WITH_NULLS))


def test_a_label_has_the_coverage_of_its_own_interval_or_none() -> None:
    """A family of kernels has no interval, so none is borrowed; a kind of key has that of as many nulls as it has."""
    wide = Interval(0.0, np.zeros(9), np.ones(9), 0.95, "")
    tests = [covered(name, wide, 0.5, least=name.startswith(KIND)) for name in NEEDED if "10" not in name]
    tests.append(covered(f"{KIND}, 10 equal nulls", Interval(0.0, np.zeros(9), np.zeros(9), 0.95, ""), 0.5, least=True))
    found = {label: coverage(label, tests) for label in ALL}
    assert {label for label, (value, sort) in found.items() if np.isnan(value) and sort == NONE} == {
        f"{family} kernels" for family in ("previous token", "offset", "local", "slow decay")
    }
    assert found["writes: NOUN"] == found["writes: any"] == found["self"] == (1.0, EXACT)
    assert found["kind of key: opening quotation mark"] == found[ANY_KIND] == (0.0, AT_LEAST)
    assert found["kind of key: sentence start"] == (1.0, AT_LEAST)
    assert coverage("writes: NOUN", [t for t in tests if not t.name.startswith(WRITTEN)])[1] == NONE
    assert sorted(WITH_NULLS) == [4, 6, 8, 10]


def test_sets_of_words_are_said_by_themselves(perfect: AuditResult) -> None:
    rows = {"planted": [9, 4, 10], "named": [9, 4, 8], "random": [40, 57, 400], "false": [0, 0, 60]}
    given = {name: torch.tensor(value) for name, value in rows.items()}
    said = more_found(["previous token", "writes: NOUN", SETS], *given.values())
    assert said == (
        "4 of 4 kernels and written classes are found, 8 of 10 sets of words (15% of random neurons have one; no audit "
        "fails by them), "
    )
    assert more_found(["previous token"], *(one[:1] for one in given.values())) == ""


def test_every_table_says_what_it_can_detect_and_how_to_make_it_again(perfect: AuditResult) -> None:
    text = str(perfect)
    assert list(perfect.summary()["false_high"]) == pytest.approx([0.3, 0.02]) and "false_low" in text
    assert "least_missed" in text and "least_false" in text and "detectable" in text
    assert "three shards: 0 answers changed of 299 in each, a label or none (a share of 1.00% is detectable)" in text
    assert text.startswith(perfect.verdict) and text.endswith("Made by: tslens audit --model m")
    n = torch.tensor([9, 59, 0])
    assert running._detectable(n).tolist() == pytest.approx([1 - 0.05 ** (1 / 9), 1 - 0.05 ** (1 / 59), 0.95])
    assert (1 - running._detectable(n)[1]) ** 59 == pytest.approx(0.05)  # so rare a miss stays unseen once in twenty


def test_a_verdict_is_kept_beside_these_weights_alone(perfect: AuditResult) -> None:
    """For the page: of a model with other weights it says nothing, and the bundled model is not written to."""
    tokenizer = models.story_tokenizer_of(models.load("stories2M"))
    shape = models.Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=16)
    model, other = (models.build(shape, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    keep(model, perfect)
    found = verdict_of(model)
    assert found is not None and found.passes and found.verdict == perfect.verdict and found.command == perfect.command
    assert verdict_of(other) is None
    keep(model, dataclasses.replace(perfect, models=perfect.models - 1, command="tslens audit --seeds 1"))
    assert verdict_of(model) == found  # that of the larger audit stays
    keep(model, dataclasses.replace(perfect, command="again"))
    assert verdict_of(model).command == "again"
    place = kept._places(model)[0]
    assert place.parent == cache() / "audit"
    place.write_text('{"passes": 1}')
    assert verdict_of(model) is None


def test_the_verdict_on_the_bundled_model_comes_with_it() -> None:
    """By the rules of today: whoever changes them, audits again."""
    found = verdict_of(models.load("stories2M"))
    assert found is not None and found.verdict.startswith("The audit passes")
    assert "--model stories2M" in found.command


@pytest.mark.thorough
def test_the_command_says_it_in_one_document(told: tuple[Path, str]) -> None:
    out, printed = told
    answer = json.loads(printed)
    assert answer["verdict"].startswith("The audit ") and [row["label"] for row in answer["rows"]] == answer["labels"]
    assert sorted(p.name for p in out.iterdir()) == ["AuditResult", "audit.csv", "audit.svg"]
    kept = verdict_of(models.load("stories2M"))
    assert kept is not None and kept.command != answer["command"]  # that of a larger audit, which comes with it, stays
    assert answer["command"] == f"tslens {COMMAND}"


def test_what_cannot_be_audited_is_refused(texts: list[str], refused) -> None:
    model = models.load("stories2M")
    with refused("An audit needs 20 different stories; there are 2"):
        audit(model, ["Tom ran.", "Sue sat.", "Tom ran."])
    with refused("an audit needs one of each"):
        audit(model, texts, seeds=0)
    with refused("no noun or no adjective"):
        Vocabulary.of(models.story_tokenizer_of(model), ["..."])
