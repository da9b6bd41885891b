"""Graded texts that follow instructions: means by hand, beside the rules, and controls that follow or do not."""

import math
import re

import pandas as pd
import pytest
import torch
from scipy.stats import t as student

from tests.evaluation.grading.conftest import Judge, noise
from tslens.evaluation.grading import GradedText, controlled, rubric
from tslens.evaluation.grading.controls import CONTROLS, ControlText, controls, true_stories
from tslens.evaluation.instruct import InstructGradesResult, InstructResult, graded
from tslens.evaluation.instruct.grades import RUBRIC, rank_correlation
from tslens.evaluation.instruct.rules import MEASURES
from tslens.evaluation.instruct.seen import GROUPS
from tslens.stories import stories
from tslens.stories.instruct import parse

N = 45  # instructions: of the first three groups in turn, each with five shares of words three times
FALL = {
    "foreign": {"instructions": 6},
    "shuffled": {"consistency": 4},
    "with errors": {"grammar": 4},
    "cut": {"plot": 5},
    "stopped": {"plot": 5},
    "orders": {"plot": 5},
}


@pytest.fixture(scope="module")
def answer() -> InstructResult:
    """What two models wrote for instructions, two stories each; `good` has the more of the words the higher i % 5."""
    rule = torch.full((2, N, len(MEASURES)), math.nan)
    rule[0, :, 0], rule[1, :, 0] = torch.arange(N) % 5 / 4, 0.5
    return InstructResult(
        models=["good", "poor"],
        measures=list(MEASURES),
        groups=list(GROUPS),
        instructions=[f"Words: w{i}, x\nStory: \n\n" for i in range(N)],
        stories=[[f"{model}: {i}, {k}" for i in range(N) for k in range(2)] for model in ("good", "poor")],
        samples=2,
        left_out=0,
        score=rule,
        other=rule,
        free=rule,
        group=torch.arange(N) % 3,
    )


def scores(text: GradedText) -> dict[str, int]:
    """By who wrote it, for which instruction: one less for held-out words, two more for the good model."""
    model, i, k = re.fullmatch(r"(good|poor): (\d+), (\d)", text.completion).groups()
    assert text.prompt == f"Words: w{i}, x\nStory: \n\n"
    followed = 2 + int(i) % 5 + int(k) - (int(i) % 3 == 2) + 2 * (model == "good")
    return {"instructions": followed, "grammar": 7, "consistency": 5, "plot": 3}


def value(table: pd.DataFrame, model: str, axis: str, group: str, what: str) -> pd.Series:
    rows = table.query("model == @model and axis == @axis and group == @group and what == @what")
    assert len(rows) == 1
    return rows.iloc[0]


def test_scores_stand_apart_by_what_was_seen_together_and_beside_the_rules(answer: InstructResult, tmp_path) -> None:
    found, grades = graded(answer, Judge(scores), [])
    table = found.summary()
    level = 1 - 0.05 / (~table["what"].str.contains("score$|rule|rank")).sum()  # of all that is compared, together
    above = (1 + level) / 2
    for group, n, mean in (("all", N, 6.5 - 1 / 3), (GROUPS[0], 15, 6.5), (GROUPS[1], 15, 6.5), (GROUPS[2], 15, 5.5)):
        row = value(table, "good", "instructions", group, "score")
        assert (row["n"], row["value"]) == (n, pytest.approx(mean)) and row["low"] < mean < row["high"]
        less = value(table, "poor", "instructions", group, "score less good's")
        reach = student.ppf(above, n - 1) * math.sqrt(2 / 12 / n)  # scores are rounded, so equal ones are not sure
        assert less["value"] == -2 and less["high"] == pytest.approx(-2 + reach)
    for group, lost in ((GROUPS[1], 0), (GROUPS[2], -1)):
        row = value(table, "poor", "instructions", group, "less seen together")
        assert row["value"] == pytest.approx(lost) and row["low"] < lost < row["high"]
    equal = value(table, "good", "grammar", GROUPS[2], "less seen together")
    assert equal["value"] == 0 and equal["low"] == pytest.approx(-student.ppf(above, 28) * math.sqrt(2 / 12 / 15))
    assert GROUPS[3] not in set(table["group"]) and set(table["grader_is"]) == {"untrustworthy (too few controls)"}
    alike = value(table, "good", "instructions", GROUPS[0], "rank correlation with words")
    assert (alike["n"], alike["value"], alike["low"], alike["high"]) == (15, pytest.approx(1), *[pytest.approx(1)] * 2)
    every = value(table, "good", "instructions", "all", "rank correlation with words")
    assert 0.9 < every["low"] < every["value"] < every["high"] < 1
    assert value(table, "good", "instructions", "all", "by rule: words")["value"] == pytest.approx(0.5)
    assert math.isnan(value(table, "poor", "instructions", "all", "rank correlation with words")["value"])
    assert len(grades.of()) == 4 * N and found.grader == "judge"
    again = InstructGradesResult.load(found.save(tmp_path))
    assert torch.equal(again.score, found.score) and again.figure().axes and "rubric instructions" in str(again)
    row = found.to_frame().query("model == 'poor' and instruction == 4").iloc[0]
    assert (row["group"], row["instructions"], row["by rule: words"]) == (GROUPS[1], 6.5, 0.5)


def test_a_story_without_a_score_is_counted_and_is_no_score(answer: InstructResult) -> None:
    gone = {"good: 4, 1", "good: 7, 0", "good: 7, 1"}
    found, _ = graded(answer, Judge(lambda text: {} if text.completion in gone else scores(text)), [])
    assert found.score[0, 4, 0] == 8 and found.score[0, 7].isnan().all()
    assert found.without_score[0, [4, 7, 8]].tolist() == [1, 2, 0] and len(found.failures) == 3
    table = found.summary()
    assert value(table, "good", "instructions", "all", "score")["n"] == N - 1
    assert value(table, "poor", "instructions", "all", "score less good's")["n"] == N - 1
    assert value(table, "good", "instructions", "all", "rank correlation with words")["n"] == N - 1
    assert "3 texts could not be graded" in str(found)
    nothing, _ = graded(answer, Judge(lambda text: {}), [])
    assert nothing.summary().empty and math.isnan(nothing.score_of("good", "plot").estimate)


def test_a_rank_correlation_by_hand() -> None:
    pairs = torch.tensor([[1.0, 2], [2, 1], [3, 4], [4, 3], [5, 5], [6, 6]]).double().numpy()
    found = rank_correlation(pairs)
    assert found.estimate == pytest.approx(1 - 6 * 4 / (6 * 35)) and found.low < found.estimate < found.high <= 1


@pytest.fixture(scope="module")
def made() -> list[ControlText]:
    return controls(true_stories(stories("made:instruct", limit=60), CONTROLS))


def test_controls_are_whole_stories_behind_instructions(made: list[ControlText]) -> None:
    told = {parse(text).head: parse(text).story for text in stories("made:instruct", limit=60)}
    of = {kind: [c.text for c in made if c.kind == kind] for kind in ("true ending", "foreign", "cut")}
    assert all(len(texts) == CONTROLS for texts in of.values())
    for true, foreign, cut in zip(*of.values(), strict=True):
        assert true.prompt == foreign.prompt == cut.prompt and true.completion == told[true.prompt]
        assert foreign.completion in set(told.values()) - {true.completion}
        assert true.completion.startswith(cut.completion)
    assert true_stories(["Tom ran. He fell.", "Words: a\nStory: \n\nTom ran."], 5) == []


@pytest.mark.parametrize("follows", [True, False])
def test_a_grader_must_score_a_story_for_another_instruction_lower(
    answer: InstructResult, made: list[ControlText], follows: bool
) -> None:
    kinds = {control.text: control.kind for control in made}

    def judge(text: GradedText) -> dict[str, int]:
        if text not in kinds:
            return scores(text)
        fall = FALL.get(kinds[text], {})
        axes = ("instructions", "grammar", "consistency", "plot")
        lower = {axis: fall.get(axis, 0) * (follows or axis != "instructions") for axis in axes}
        return {axis: 8 + noise(text.completion + axis) - lower[axis] for axis in axes}

    found, grades = graded(answer, Judge(judge), made)
    told = "trusted" if follows else "untrustworthy (misses foreign)"
    assert found.trust == {"instructions": told, "grammar": "trusted", "consistency": "trusted", "plot": "trusted"}
    assert controlled(grades, rubric(RUBRIC)).trust == found.trust
    shown = found.summary().query("what == 'score' and axis == 'instructions'")
    assert set(shown["grader_is"]) == {told} and found.score.shape == (2, N, 4)
