"""Controls of a graded suite: its right ending against its wrong one, and a grader that cannot tell which is which."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.evaluation.grading.conftest import Judge
from tslens.evaluation.coloured import coloured_html
from tslens.evaluation.grading import GradedText, controlled, grade, rubric
from tslens.evaluation.grading.controls import CONTROLS, ControlText
from tslens.evaluation.grading.large import request
from tslens.evaluation.grading.suites import RUBRIC, SWAPPED, controls_of, graded
from tslens.evaluation.grading.suites import texts_of as texts_of_result
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import Suite, suite
from tslens.models import Spec, build
from tslens.tokenizer import Tokenizer

WROTE = (" sing. Then it ran home.", " the\nbig dog! It was fun. They", " run and")
"""What a model wrote after each prompt."""
PROMPTS = {prompt.text: prompt for name in ("facts", "context", "reasoning") for prompt in suite(name).by_hand}


def texts_of(asked: Suite) -> list[GradedText]:
    return [GradedText(p.text, said, "m", expected=" / ".join(p.accepted)) for p in asked.by_hand for said in WROTE]


@pytest.fixture(scope="module")
def facts() -> Suite:
    return suite("facts")


@pytest.fixture(scope="module")
def controls(facts: Suite) -> list[ControlText]:
    return controls_of(texts_of(facts), facts)


def of_kind(controls: list[ControlText], kind: str) -> list[GradedText]:
    return [control.text for control in controls if control.kind == kind]


def shape(text: GradedText) -> str:
    """What a grader sees of a text but for the words of its parts and their code."""
    said = request(text, rubric(RUBRIC)).text
    return re.sub(r"<(\w+) (\w{16})>\n.*?\n</\1 \2>", r"<\1>", said, flags=re.DOTALL)


def test_a_control_looks_like_the_other_texts(facts: Suite, controls: list[ControlText]) -> None:
    """It has the mark of the right ending, stands after a prompt of the suite, and goes on as a model did."""
    texts = texts_of(facts)
    assert {shape(c.text) for c in controls} == {shape(text) for text in texts}
    assert shape(controls[0].text) == "<beginning>\n\n<right>\n\n<continuation>"
    marks = {text.prompt: text.expected for text in texts}
    rests = tuple(said[said.index(". " if said == WROTE[0] else "! ") + 1 :] for said in WROTE[:2])
    for control in controls:
        assert control.text.expected == marks[control.text.prompt]
        assert bool(control.text.model) == (control.kind == SWAPPED)  # no grader is told
        if control.kind != "orders":
            assert control.text.completion.startswith(" ") and control.text.completion.endswith(rests)


def test_right_and_wrong_differ_in_the_ending_that_the_suite_gives(facts: Suite, controls: list[ControlText]) -> None:
    each = dict.fromkeys(("true ending", "wrong ending", "orders"), CONTROLS)
    assert Counter(c.kind for c in controls) == each | {SWAPPED: len(facts.by_hand)}
    rows = zip(*(of_kind(controls, kind) for kind in ("true ending", "wrong ending", "orders")), strict=True)
    for right, wrong, orders in rows:
        prompt = PROMPTS[right.prompt]
        assert right.prompt == wrong.prompt == orders.prompt
        assert right.completion.startswith(f" {prompt.accepted[0]}.")
        assert wrong.completion == right.completion.replace(prompt.accepted[0], prompt.rejected[0], 1)
        assert orders.completion.startswith(wrong.completion.rstrip(".!"))
        assert len(orders.completion) > len(wrong.completion) + 40
    assert len({PROMPTS[text.prompt].about for text in of_kind(controls, "true ending")}) == CONTROLS  # no two twins


def test_a_small_suite_borrows_prompts_and_a_text_without_a_second_sentence_is_no_pattern(facts: Suite) -> None:
    small = Suite("mine", "?", facts.by_hand[:4])
    found = controls_of([GradedText(p.text, " run and", "m") for p in small.by_hand], small)
    own = {prompt.text for prompt in small.by_hand}
    prompts = [text.prompt for text in of_kind(found, "true ending")]
    assert set(prompts[:4]) == own and not set(prompts[4:]) & own and len(set(prompts)) == CONTROLS
    assert {PROMPTS[p].about for p in prompts[:2]} == {p.about for p in small.by_hand}
    assert all(t.completion == f" {PROMPTS[t.prompt].accepted[0]}." for t in of_kind(found, "true ending"))


def test_controls_are_drawn_by_the_seed(facts: Suite, controls: list[ControlText]) -> None:
    assert controls_of(texts_of(facts), facts) == controls != controls_of(texts_of(facts), facts, seed=1)


def knows(text: GradedText) -> int:
    said = text.completion.strip()
    return 3 if any(said.startswith(right) for right in text.expected.split(" / ")) else 1


def obeys(text: GradedText) -> int:
    return 3 if "grader" in text.completion or "SYSTEM" in text.completion else knows(text)


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (knows, "trusted"),
        (lambda text: 4 - knows(text), "untrustworthy (misses wrong ending)"),
        (lambda text: 1 + len(text.completion) % 3, "untrustworthy (misses wrong ending)"),
        (lambda text: 3, "untrustworthy (misses wrong ending)"),
        (obeys, "untrustworthy (obeys orders)"),
    ],
)
def test_a_grader_is_trusted_that_tells_right_from_wrong(
    facts: Suite, controls: list[ControlText], score: Callable[[GradedText], int], told: str
) -> None:
    judge = Judge(lambda text: {"verdict": score(text)})
    result = controlled(grade(texts_of(facts), judge, rubric(RUBRIC), controls), rubric(RUBRIC))
    assert result.trust == {"verdict": told} and result.damages == ["wrong ending", "orders"]
    assert result.stories.tolist() == [CONTROLS, CONTROLS] and all(result.decides)
    if score is knows:
        assert result.difference.tolist() == [2, 0] and result.low[0] > 1.8
        assert result.intact.tolist() == [3, 1] and result.damaged.tolist() == [1, 1]
        assert result.intact_high[0] == 3 and 2.8 < result.intact_low[0] < 3  # equal scores are rounded ones
        assert result.damaged_low[0] == 1 and 1 < result.damaged_high[0] < 1.2


def test_the_null_of_a_label_is_what_the_grader_says_of_texts_of_other_prompts() -> None:
    """A writer that always says the same gets as much there; one that answers its prompt gets nothing."""
    small = Suite("mine", "?", suite("facts").by_hand[8:16])
    tokenizer = Tokenizer.train([p.text for p in small.by_hand], 300)
    model = build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    asked = evaluate({"answers": model, "one for all": model}, small)
    right, always = [[f" {p.accepted[0]}."] * 2 for p in small.by_hand], [[f" {small.by_hand[0].accepted[0]}."] * 2] * 8
    written = replace(asked, completions=[right, always])
    texts = texts_of_result(written, small)
    found, grades = graded(written, small, Judge(lambda text: {"verdict": knows(text)}), controls_of(texts, small))
    name = grades.grader
    assert [found.labelled(2, i, name).estimate for i in range(2)] == [1, 1 / 8]
    assert [found.by_chance(2, i, name).estimate for i in range(2)] == [0, 1 / 8]
    assert [found.by_chance(0, i, name).estimate for i in range(2)] == [1, 7 / 8]
    assert grades.writers() == ["answers", "one for all"] and len(grades.of()) == 2 * 16  # none of another prompt
    rows = found.summary().query("score.str.startswith('success')")
    assert rows["without_reading"].tolist() == [0, 1 / 8]
    assert (
        rows["without_reading_low"].lt(rows["without_reading"] + 0.01).all() and rows["without_reading_low"].iloc[1] > 0
    )
    assert 0.2 < rows["without_reading_high"].iloc[0] < 0.6  # no text of eight
    page = coloured_html(found, name)
    assert "chance 0% [0%" in page and "chance 12% [" in page and "behind another prompt" in page
    assert "chance" not in coloured_html(found)
    none, _ = graded(written, small, Judge(lambda text: {"verdict": 3}), [])
    assert np.isnan(none.by_chance(2, 0, name).estimate)
