"""Instructions on the page: scores by rule with what they exceed, scores by graders of the same texts, kept answers."""

from dataclasses import replace

import pytest
import torch

from tslens import load
from tslens.evaluation.instruct import InstructGradesResult, InstructResult
from tslens.evaluation.instruct.rules import MEASURES
from tslens.evaluation.instruct.seen import GROUPS
from tslens.report import answers, instructions

EVIL = "<script>alert(1)</script>"
N = 12


@pytest.fixture(scope="module")
def told() -> InstructResult:
    """Two models; all instructions ask for words, of which the first has three quarters, none for anything else."""
    score = torch.full((2, N, len(MEASURES)), torch.nan)
    score[0, :, 0], score[1, :, 0] = 0.75, 0.5
    names = [f"Words: w{i}\nStory: \n\n" for i in range(N)]
    stories = [["a"] * N, ["b"] * N]
    group = torch.zeros(N, dtype=torch.int64)
    return InstructResult(
        ["m", EVIL], list(MEASURES), list(GROUPS), names, stories, 1, 0, score, score - 0.5, score, group
    )


def grades_of(told: InstructResult, grader: str) -> InstructGradesResult:
    return InstructGradesResult(
        grader=grader,
        models=told.models,
        axes=["instructions", "plot"],
        measures=told.measures,
        groups=told.groups,
        instructions=told.instructions,
        group=told.group,
        score=torch.stack([torch.full((2, N), 8.0), torch.full((2, N), torch.nan)], 2),
        rule=told.score,
        without_score=torch.zeros(2, N, dtype=torch.int64),
        failures=[],
        trust={"instructions": "untrustworthy (foreign)", "plot": "trusted"},
    )


def test_scores_by_rule_and_by_graders_stand_on_the_page(told: InstructResult) -> None:
    shown = instructions.section(replace(told, corpus=f"12 stories {EVIL}."), [grades_of(told, EVIL)])
    assert EVIL not in shown and f"{N} instructions" in shown and shown.count("<svg") == 1
    row = shown.partition(f"<b>{MEASURES[0]}, all</b>")[2].partition("</tr>")[0]
    assert "0.75 <span>[0.44, 0.92]</span><span>+0.50 [+0.24, +0.62]</span>" in row and "0.50 <span>" in row
    assert f"<b>{MEASURES[0]}, seen together</b>" in shown and f"<b>{MEASURES[1]}, all</b>" not in shown
    assert "8.00 <span>[" in shown and "untrustworthy" in shown and "<b>plot" not in shown
    assert instructions.section(None, []) == ""


def test_grades_are_read_with_the_texts_that_they_are_of(told: InstructResult) -> None:
    model = load("stories2M")
    assert answers.kept_instruct(model) == (None, [])
    answers.keep_instruct(model, told, [grades_of(told, "rehearsal (x)"), grades_of(told, "a"), grades_of(told, "b")])
    found, grades = answers.kept_instruct(model)
    assert found is not None and found.stories == told.stories
    assert [one.grader for one in grades] == ["a", "b"]
    answers.keep_instruct(model, replace(told, score=told.score / 2), [])
    assert answers.kept_instruct(model)[1] == []
