"""What is kept of an evaluation: by weights and prompts; a poorer answer takes no richer one's place."""

import dataclasses
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch

from tslens import models
from tslens.evaluation.card import CardResult
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Prompt, Suite, suites
from tslens.report import answers
from tslens.tokenizer import Tokenizer

FACTS = Suite(
    "facts",
    "What is it?",
    tuple(
        Prompt(text, (good,), (bad,), about)
        for about in ("cats", "mats")
        for text, good, bad in ((f"the {about}", "sat", "ran"), (f"no {about}", "ran", "sat"))
    ),
)
GIVEN = [[0, 2, 1]] * 4
"""A person's labels of three completions of four prompts."""


@pytest.fixture
def two(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Two models; the only suite is `FACTS`."""
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    monkeypatch.setattr(answers, "suites", lambda: ["facts"])
    monkeypatch.setattr(answers, "suite", lambda name: FACTS)
    spec = models.Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=64)
    model, other = (models.build(spec, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    return model, other


def labelled(result: SuiteResult) -> SuiteResult:
    return result.with_labels("Anna", [GIVEN] * len(result.models))


def test_answers_are_kept_beside_the_model_of_these_weights(two: tuple[Any, Any]) -> None:
    model, other = two
    found = evaluate({"m": model, "n": other}, FACTS)
    assert answers.kept_suites(model) == []
    answers.keep_suite(model, FACTS, dataclasses.replace(found, models=["older", "n"]))
    answers.keep_suite(model, FACTS, found)  # the last to a suite stays
    answers.keep_suite(model, dataclasses.replace(FACTS, name="mine"), found)  # not one that comes with tslens
    answers.keep_suite(model, dataclasses.replace(FACTS, prompts=FACTS.prompts[:2]), found)  # nor one of its name
    assert [(one.suite, one.models) for one in answers.kept_suites(model)] == [("facts", ["m", "n"])]
    assert answers.kept_suites(other) == []


def test_answers_to_other_prompts_are_not_read(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = two
    answers.keep_suite(model, FACTS, evaluate({"m": model}, FACTS))
    changed = dataclasses.replace(FACTS.prompts[0], accepted=("lay",))
    for suite in (dataclasses.replace(FACTS, prompts=(changed, *FACTS.prompts[1:])), FACTS):
        monkeypatch.setattr(answers, "suite", lambda name, suite=suite: suite)
        assert len(answers.kept_suites(model)) == (suite is FACTS)


def test_a_poorer_answer_loses_nothing_that_is_kept(two: tuple[Any, Any]) -> None:
    model, other = two
    found = labelled(evaluate({"m": model}, FACTS, written=3))
    answers.keep_suite(model, FACTS, found)
    alone = evaluate({"m": model}, FACTS)
    fewer, another = (evaluate({"m": model}, FACTS, written=n, seed=n) for n in (1, 3))
    for poorer in (alone, fewer, another, evaluate({"m": model}, FACTS, written=3)):
        answers.keep_suite(model, FACTS, poorer)
        (kept,) = answers.kept_suites(model)
        assert kept.completions == found.completions and kept.labels == found.labels
    answers.keep_suite(model, FACTS, evaluate({"n": other, "other name": model}, FACTS))
    (kept,) = answers.kept_suites(model)
    assert kept.models == ["n", "other name"] and kept.completions == [[[]] * 4, *found.completions]
    assert kept.labels == {by: [[[]] * 4, *rows] for by, rows in found.labels.items()}
    assert kept.chance == {"match": [[], *found.chance["match"]]} and found.chance["match"]
    assert kept.by_chance(2, 1).estimate == found.by_chance(2).estimate and math.isnan(kept.by_chance(2).estimate)
    assert kept.labelled(2, 1, "Anna").estimate == pytest.approx(1 / 3) and kept.verdicts("Anna").shape == (2, 4)
    more = labelled(another).with_labels("Ben", [GIVEN])
    answers.keep_suite(model, FACTS, more)  # richer: it takes the place
    (kept,) = answers.kept_suites(model)
    assert kept.completions == more.completions and list(kept.labels) == ["match", "Anna", "Ben"]


def test_labels_of_older_texts_are_added_and_those_of_another_model_are_not(two: tuple[Any, Any]) -> None:
    model, other = two
    mine, theirs = (evaluate({"m": one}, FACTS, written=3) for one in (model, other))
    both = answers.with_older(mine, labelled(mine).with_labels("match", [GIVEN]))
    assert both.labels == mine.labels | {"Anna": [GIVEN]}  # of the same kind the newer ones
    assert answers.with_older(mine, labelled(theirs)) is not theirs
    assert answers.with_older(mine, labelled(theirs)).labels == mine.labels
    assert answers.with_older(evaluate({"m": model}, FACTS), theirs).completions == []


def test_how_texts_were_drawn_goes_with_the_texts(two: tuple[Any, Any]) -> None:
    model, other = two
    more = evaluate({"m": model}, FACTS, written=3, seed=7)
    merged = answers.with_older(evaluate({"m": model, "n": other}, FACTS, written=2), more)
    assert merged.sampling == [
        "3 after each prompt, at temperature 1, seed 7, of at most 40 tokens",
        "2 after each prompt, at temperature 1, seed 0, of at most 40 tokens",
    ]
    unknown = dataclasses.replace(more, sampling=[])  # kept before it was recorded
    assert answers.with_older(evaluate({"m": model}, FACTS), unknown).sampling == [""]


def test_two_gradings_at_once_are_both_kept(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first has read what is kept and not yet written."""
    model, _ = two
    found = evaluate({"m": model}, FACTS, written=3)
    answers.keep_suite(model, FACTS, found)
    has_read, real = Event(), answers.with_older

    def slowly(newer: SuiteResult, older: SuiteResult) -> SuiteResult:
        merged = real(newer, older)
        if "Anna" in newer.labels:
            has_read.set()
            time.sleep(1)
        return merged

    monkeypatch.setattr(answers, "with_older", slowly)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(answers.keep_suite, model, FACTS, found.with_labels("Anna", [GIVEN]))
        assert has_read.wait(60)
        answers.keep_suite(model, FACTS, found.with_labels("Ben", [GIVEN]))
        first.result()
    assert list(answers.kept_suites(model)[0].labels) == ["match", "Anna", "Ben"]


REHEARSED = "rehearsal (claude-opus-4-1)"


def test_labels_of_a_rehearsal_are_not_kept(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor read where they were kept before, nor do they count as more graders."""
    model, _ = two
    found = evaluate({"m": model}, FACTS, written=3)
    rehearsed = labelled(found).with_labels(REHEARSED, [GIVEN], "trusted")
    for _ in range(2):  # the second time older answers are there
        answers.keep_suite(model, FACTS, rehearsed)
        with monkeypatch.context() as patch:
            patch.setattr(answers, "_findings", lambda result: result)  # what is on the disk
            (stored,) = answers.kept_suites(model)
        assert list(stored.labels) == ["match", "Anna"] and stored.trust == {}
    with monkeypatch.context() as patch:
        patch.setattr(answers, "_findings", lambda result: result)
        answers.keep_suite(model, FACTS, rehearsed.with_labels("Ben", [GIVEN], "trusted"))
    (kept,) = answers.kept_suites(model)
    assert list(kept.labels) == ["match", "Anna", "Ben"] and kept.trust == {"Ben": "trusted"}
    other = evaluate({"m": model}, FACTS, written=3, seed=1)
    for name in ("rehearsal (a)", "rehearsal (b)", "rehearsal (c)"):
        other = other.with_labels(name, [GIVEN], "trusted")
    answers.keep_suite(model, FACTS, other)
    assert answers.kept_suites(model)[0].completions == found.completions


def test_what_controls_say_of_a_grader_is_kept_with_its_labels(two: tuple[Any, Any]) -> None:
    model, other = two
    mine, theirs = (evaluate({"m": one}, FACTS, written=3) for one in (model, other))
    answers.keep_suite(model, FACTS, mine.with_labels("Anna", [GIVEN], "untrustworthy (misses cut)"))
    answers.keep_suite(model, FACTS, evaluate({"m": model}, FACTS))
    assert answers.kept_suites(model)[0].trust == {"Anna": "untrustworthy (misses cut)"}
    answers.keep_suite(model, FACTS, mine.with_labels("Anna", [GIVEN], "trusted"))  # graded again
    assert answers.kept_suites(model)[0].trust == {"Anna": "trusted"}
    both = evaluate({"m": model, "n": other}, FACTS, written=3)
    older = answers.with_older(mine, mine.with_labels("Anna", [GIVEN], "trusted"))
    for said, told in (("too few controls", "too few controls"), (None, "no control recorded"), ("trusted", "trusted")):
        merged = answers.with_older(answers.with_older(both, older), theirs.with_labels("Anna", [GIVEN], said))
        assert merged.labels["Anna"] == [GIVEN, GIVEN] and merged.trust == {"Anna": told}
    assert answers.with_older(mine, labelled(mine)).trust == {}


def card_of(rows: list[str], reference: str = "") -> CardResult:
    one = torch.ones(1, len(rows))
    bits = [torch.ones(1)] * 3
    return CardResult(["m"], rows, one, one, one, *bits, torch.tensor([-1]), reference, [])


def test_the_fullest_card_is_read(two: tuple[Any, Any]) -> None:
    model, other = two
    assert answers.kept_card(model) is None and answers.kept_copies(model) is None
    few, pairs, texts = card_of(["plot, pairs"]), card_of(["grammar, pairs"]), card_of(["plot, texts"], "made")
    for card, is_short, read in ((few, True, few), (pairs, False, pairs), (few, True, pairs), (texts, False, texts)):
        answers.keep_card(model, card, is_short=is_short)
        assert answers.kept_card(model).rows == read.rows
    answers.keep_card(model, pairs)
    assert answers.kept_card(model).rows == texts.rows
    assert answers.kept_card(other) is None


def test_the_bundled_model_brings_its_answers_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    model = models.load("stories2M")
    assert [found.suite for found in answers.kept_suites(model)] == suites()
    assert all(found.completions for found in answers.kept_suites(model))
    card = answers.kept_card(model)
    assert {row.rpartition(", ")[2] for row in card.rows} == {"pairs", "texts"} and len(card.twins) == 2
    assert float(card.bits_low[0]) < float(card.bits_per_byte[0]) < float(card.bits_high[0])
