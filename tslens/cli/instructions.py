"""The command that scores models on instructions, by rules and by graders."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, delivery
from tslens.cli.graders import (
    Again,
    ControlsSource,
    Graders,
    charged,
    confirm_cost,
    deliver_agreement,
    exit_code,
    graders_of,
    place_of,
    true_texts,
)
from tslens.cli.large_model import LargeModel
from tslens.cli.options import Json, Limit, LossStories, Models, Precision

if TYPE_CHECKING:
    from tslens.evaluation.grading import ControlText, Grader
    from tslens.evaluation.instruct import InstructGradesResult, InstructResult
    from tslens.models import LanguageModel


def instruct(
    *,
    model: Models = None,
    stories: LossStories = None,
    limit: Limit = 300,
    samples: Annotated[int, Parameter(help="Stories for each instruction.")] = 2,
    limit_tokens: Annotated[int, Parameter(help="Largest number of tokens of a story.")] = 256,
    grader: Graders = None,
    controls: ControlsSource = None,
    again: Again = 20,
    seed: int = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
    large: LargeModel | None = None,
) -> int:
    """Measure how far models write what instructions ask for, beyond what they write anyway.

    By rule: words, dialogue, a moral, the given sentence, overlap with the summary. Beside stories for other
    instructions and for none; for combinations asked for together in training, and for those held out of it. By each
    --grader: the rubric `instructions`, beside the rules. The exit code is 3 if a model did not grade all.

    Parameters
    ----------
    seed
        Of the stories, of the order and the damages of graded texts, and of those graded again.
    out
        A folder for the figure (SVG), the scores of every instruction (CSV) and the whole answer.
    """
    from tslens.cli.options import corpus_of, load_models
    from tslens.evaluation import instruct as suite

    large = large or LargeModel()
    named = load_models(model)
    loaded = list(named.values())
    corpus = corpus_of(loaded[0], stories, limit, self_written=False)
    asked, made = _graders(grader or (), controls, corpus.texts, large, seed, precision)
    with delivery(out, json_) as deliver:
        answer = suite.instruct(
            loaded, corpus.texts, samples=samples, max_new_tokens=limit_tokens, seed=seed, precision=precision
        )
        deliver(answer := replace(answer, models=list(named), corpus=corpus.description))
        _keep(loaded, answer)
        if asked:
            _keep(loaded, answer, _grade(deliver, answer, asked, made, again, seed, large.yes))
    return exit_code(asked)


def _keep(
    models: "Sequence[LanguageModel]", answer: "InstructResult", grades: "Sequence[InstructGradesResult]" = ()
) -> None:
    """Keep the scores by rule and by graders for the page of each model."""
    from tslens.report.answers import keep_instruct

    for model in models:
        keep_instruct(model, answer, grades)


def _graders(
    names: Sequence[str], source: str | None, texts: Sequence[str], large: LargeModel, seed: int, precision: str
) -> "tuple[list[Grader], list[ControlText]]":
    """The graders, and the controls that are made of the source, or else of the stories behind the instructions.
    Neither needs what models write, so a grader that cannot grade is refused before they do."""
    if not names:
        return [], []
    from tslens.evaluation.grading import GradedText, rubric
    from tslens.evaluation.grading.controls import controls
    from tslens.evaluation.instruct.grades import RUBRIC
    from tslens.stories.instruct import documents

    true, ranked = true_texts([GradedText(told.head, "", ending=told.story) for told in documents(texts)], source)
    return graders_of(names, ranked, rubric(RUBRIC), large, precision), controls(true, seed)


def _grade(
    deliver: Delivery,
    answer: "InstructResult",
    asked: "Sequence[Grader]",
    controls: "Sequence[ControlText]",
    again: int,
    seed: int,
    yes: bool,
) -> "list[InstructGradesResult]":
    """Say the price, grade what was written and deliver the scores of each grader with its controls."""
    from tslens.evaluation import grading
    from tslens.evaluation.instruct import graded
    from tslens.evaluation.instruct.grades import RUBRIC, texts_of

    rubric = grading.rubric(RUBRIC)
    confirm_cost(asked, texts_of(answer), controls, rubric, again, seed, yes)
    made: list[grading.GradesResult] = []
    scores: list[InstructGradesResult] = []
    with charged(asked):
        for number, one in enumerate(asked, 1):
            found, grades = graded(answer, one, controls, again=again, seed=seed)
            place, which = place_of(deliver, grades), "" if len(asked) == 1 else str(number)
            place(found, which)
            place(grading.controlled(grades, rubric), which)
            made.append(grades)
            scores.append(found)
        deliver_agreement(deliver, made)
    return scores
