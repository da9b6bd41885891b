"""Labels that a grader gives to what models wrote after the prompts of a suite."""

import math
from collections import defaultdict
from collections.abc import Sequence

from tslens.errors import InputError
from tslens.evaluation.grading.grade import grade
from tslens.evaluation.grading.graders import Grader
from tslens.evaluation.grading.result import GradesResult
from tslens.evaluation.grading.rubrics import rubric
from tslens.evaluation.grading.texts import GradedText
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Suite

RUBRIC = "verdict"
"""Whose answers are fail, partial and success."""


def texts_of(result: SuiteResult, suite: Suite) -> list[GradedText]:
    """The completions of a suite's prompts, by model and prompt, with what a right one says. InputError if nothing was
    written, or nothing could be."""
    if not suite.by_hand:
        raise InputError(f"{suite.name} has no prompt written by hand, after which a model writes what is graded.")
    found = [
        GradedText(prompt.text, said, model, expected=" / ".join(prompt.accepted))
        for model, rows in zip(result.models, result.completions, strict=False)
        for prompt, row in zip(suite.by_hand, rows, strict=True)
        for said in row
    ]
    if not found:
        raise InputError(f"nothing was written for {suite.name} that could be graded; give --completions 1 or more.")
    return found


def graded(
    result: SuiteResult, suite: Suite, grader: Grader, true: Sequence[GradedText], *, seed: int = 0
) -> tuple[SuiteResult, GradesResult]:
    """The suite's result with a grader's labels of its completions and what its controls say of it; and the grades,
    with controls of the `true` endings among them. A text that could not be graded has no label."""
    texts = texts_of(result, suite)
    grades = grade(texts, grader, rubric(RUBRIC), true, seed=seed)
    given = defaultdict[tuple[str, str, str], list[int | None]](list)
    for i in grades.of():
        score = float(grades.score[i, 0, 0])
        given[grades.models[i], grades.prompts[i], grades.completions[i]].append(
            None if math.isnan(score) else int(score) - 1
        )
    labels = iter([given[text.model, text.prompt, text.completion].pop() for text in texts])
    rows = [[[next(labels) for _ in row] for row in of_model] for of_model in result.completions]
    return result.with_labels(grader.name, rows, grades.trust[grades.axes[0]]), grades
