"""Fail, partial or success by story models' log-probabilities, with what their controls say, and by matching."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tslens.evaluation import grading
from tslens.evaluation.coloured import coloured_figure
from tslens.evaluation.grading.graders import lowest
from tslens.evaluation.grading.likelihood import LikelihoodGrader
from tslens.evaluation.grading.suites import RUBRIC, controls_of, texts_of
from tslens.evaluation.grading.trust import TRUSTED
from tslens.evaluation.matching import label
from tslens.plots import save
from tslens.stats import clustered_share

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
    answered: "SuiteResult",
    asked: "Suite",
    graders: "Mapping[str, LanguageModel]",
    true: Sequence[grading.GradedText],
    folder: Path,
) -> "SuiteResult":
    """The answers with the verdicts of every grader that its controls call trusted; a coloured table of each of these,
    the controls of all, how far any two agree, and what they say of sentences that have nothing to do with the prompt
    are saved in the folder. Half of the true endings are what verdicts are compared with, the others such sentences. An
    untrained grader reads one text of each prompt."""
    texts, by = texts_of(answered, asked), grading.rubric(RUBRIC)
    made, half, each = controls_of(texts, asked), len(true) // 2, len(answered.completions[0][0])
    one_each = texts[: len(asked.by_hand) * each : each]
    neither = [replace(text, completion=other.completion) for text in one_each for other in true[half : half + 5]]
    grades, controls, of_neither = [grading.grade(texts, Matching(asked), by, [])], [], []
    for name, model in graders.items():
        one = LikelihoodGrader(model, true[:half], name=f"likelihood of {name}")
        if name == UNTRAINED:
            labelled, found = answered, grading.grade(texts[::each], one, by, made)
        else:
            labelled, found = grading.graded(answered, asked, one, made)
        trust = found.trust[by.axes[0].name]
        grades.append(found)
        controls.append(grading.controlled(found, by).summary().assign(grader=one.name, trust=trust))
        of_neither.append({"grader": one.name} | _shares(grading.grade(neither, one, by, []).of_texts(neither)[:, 0]))
        if trust == TRUSTED and name != UNTRAINED:
            answered, table = labelled, labelled.by_label()
            save(coloured_figure(answered, one.name), folder / f"{asked.name}-{name}.svg", table[table.by == one.name])
    tables = {"controls": pd.concat(controls), "agreement": grading.agreement(grades).to_frame()}
    for name, table in (tables | {"neither": pd.DataFrame(of_neither)}).items():
        table.to_csv(folder / f"{asked.name}-{name}.csv", index=False)
        print(table.to_string())
    return answered


def _shares(scores: np.ndarray) -> dict[str, float]:
    """The shares of success and of fail, each with its interval over prompts; of each prompt five texts in a row."""
    found: dict[str, float] = {}
    for name, score in (("success", 3), ("fail", 1)):
        share = clustered_share(np.asarray(scores == score, dtype=float), np.arange(len(scores)) // 5)
        found |= {name: share.estimate, f"{name}, low": share.low, f"{name}, high": share.high}
    return found
