"""Fail, partial or success by story models' log-probabilities, with what their controls say, and by matching."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tslens.evaluation import grading
from tslens.evaluation.coloured import coloured_figure
from tslens.evaluation.grading.controls import TRUSTED
from tslens.evaluation.grading.graders import lowest
from tslens.evaluation.grading.likelihood import LikelihoodGrader
from tslens.evaluation.grading.suites import RUBRIC, controls_of, texts_of
from tslens.evaluation.matching import label
from tslens.plots import save

if TYPE_CHECKING:
    from tslens.evaluation.suite_result import SuiteResult
    from tslens.evaluation.suites import Suite
    from tslens.models import LanguageModel


UNTRAINED = "untrained"


class Matching:
    """The labels by matching as a grader, so that agreement with others can be measured."""

    name, is_settled = "match", True

    def __init__(self, suite: "Suite") -> None:
        self.prompts = {prompt.text: prompt for prompt in suite.by_hand}

    def check(self, rubric: grading.Rubric) -> None:
        """Any rubric of one axis with the answers fail, partial and success will do."""

    def grade(
        self, texts: Sequence[grading.GradedText], rubric: grading.Rubric, repetition: int = 0
    ) -> list[grading.Grade | grading.Failure]:
        """What a text of the suite says first."""
        axis = rubric.axes[0].name
        return [grading.Grade({axis: 1 + label(text.completion, self.prompts[text.prompt])}) for text in texts]

    def grade_empty(self, text: grading.GradedText, rubric: grading.Rubric, repetition: int = 0) -> grading.Grade:
        """Fail."""
        return lowest(rubric.axes)


def judged(
    answered: "SuiteResult", asked: "Suite", graders: "Mapping[str, LanguageModel]", folder: Path
) -> "SuiteResult":
    """The answers with the verdicts of every grader that its controls call trusted; a coloured table of each of these,
    the controls of all, and how far any two agree are saved in the folder. An untrained grader reads one text of each
    prompt, with the controls."""
    texts, by = texts_of(answered, asked), grading.rubric(RUBRIC)
    made = controls_of(texts, asked)
    grades, controls = [grading.grade(texts, Matching(asked), by, [])], []
    for name, model in graders.items():
        one = LikelihoodGrader(model, name=f"likelihood of {name}")
        if name == UNTRAINED:
            labelled, found = answered, grading.grade(texts[:: len(answered.completions[0][0])], one, by, made)
        else:
            labelled, found = grading.graded(answered, asked, one, made)
        trust = found.trust[by.axes[0].name]
        grades.append(found)
        controls.append(grading.controlled(found, by).summary().assign(grader=one.name, trust=trust))
        if trust == TRUSTED and name != UNTRAINED:
            answered, table = labelled, labelled.by_label()
            save(coloured_figure(answered, one.name), folder / f"{asked.name}-{name}.svg", table[table.by == one.name])
    told, agreed = pd.concat(controls), grading.agreement(grades)
    told.to_csv(folder / f"{asked.name}-controls.csv", index=False)
    agreed.to_frame().to_csv(folder / f"{asked.name}-agreement.csv", index=False)
    print(told, agreed, sep="\n")
    return answered
