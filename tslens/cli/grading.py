"""The commands that grade texts, and rank models by preferences."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens import progress
from tslens.cli.delivery import Delivery, delivery
from tslens.cli.graders import (
    LARGE,
    Again,
    ControlsSource,
    Graders,
    charged,
    confirm_cost,
    controls_for,
    deliver_agreement,
    exit_code,
    graders_of,
    place_of,
)
from tslens.cli.large_model import LargeModel
from tslens.cli.options import Json, Models, Precision
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.grading import ControlText, GradedText, Grader, GradesResult, Rubric

Texts = Annotated[
    list[Path],
    Parameter(
        negative=(),
        help="A .jsonl or .csv with the columns `prompt`, `completion`, and perhaps `model`, `ending` (the true one) "
        "and `expected`, such as `tslens eval write` writes. May be repeated.",
    ),
]
RubricName = Annotated[str, Parameter(help="story, instructions, verdict, or your own TOML file.")]
Out = Annotated[Path | None, Parameter(help="A folder for figures (SVG), tables (CSV) and whole answers.")]


def grade(
    *,
    texts: Texts | None = None,
    model: Models = None,
    prompts: Annotated[
        str | None, Parameter(help="With --model: what they continue, as of `tslens eval write`.")
    ] = None,
    n: Annotated[int, Parameter(help="With --model: completions of each prompt.")] = 10,
    rubric: RubricName = "story",
    grader: Graders = None,
    controls: ControlsSource = None,
    again: Again = 20,
    margin: Annotated[float, Parameter(help="The difference that matters, decided before looking.")] = 0.5,
    preferences: Annotated[bool, Parameter(negative=(), help="Also rank the models by Bradley and Terry.")] = False,
    seed: Annotated[int, Parameter(help="Of the order, the damages, and the texts graded again.")] = 0,
    out: Out = None,
    precision: Precision = "float32",
    json_: Json = False,
    large: LargeModel | None = None,
) -> int:
    """Grade texts by a rubric: scores with intervals, controls, agreement, and which model writes better.

    Damaged true endings are among the texts of every run. A grader that does not tell them from the intact ones is
    called untrustworthy on the axis that the damage hits. The exit code is 3 if a model did not grade all.
    """
    from tslens.evaluation.grading import rubric as rubric_of
    from tslens.evaluation.grading.comparisons import check_margin

    check_margin(margin)
    if again < 0:
        raise InputError(f"--again is {again}; it must be 0 or more.")
    chosen, large = rubric_of(rubric), large or LargeModel()
    found = _texts(texts, model, prompts, n, seed, precision)
    made, ranked = controls_for(found, chosen, controls, seed)
    asked = graders_of(grader or [LARGE], ranked, chosen, large, precision)
    confirm_cost(asked, found, made, chosen, again, seed, large.yes)
    with charged(asked), delivery(out, json_) as deliver:
        _deliver(deliver, asked, found, made, chosen, again, margin, preferences, seed)
    return exit_code(asked)


def _deliver(
    deliver: Delivery,
    asked: "Sequence[Grader]",
    found: "Sequence[GradedText]",
    controls: "Sequence[ControlText]",
    rubric: "Rubric",
    again: int,
    margin: float,
    preferences: bool,
    seed: int,
) -> None:
    """Grade and deliver the answers, those of rehearsals apart."""
    from tslens.evaluation import grading

    made: list[GradesResult] = []
    for i, one in enumerate(asked):
        made.append(grading.grade(found, one, rubric, controls, again=again, seed=seed))
        place, which = place_of(deliver, made[-1]), "" if len(asked) == 1 else str(i + 1)
        place(made[-1], which)
        place(grading.controlled(made[-1], rubric), which)
        if len(made[-1].writers()) > 1:
            place(grading.compare(made[-1], margin), which)
            if preferences:
                _deliver_ranks(place, made[-1], rubric, which)
    deliver_agreement(deliver, made)


def _deliver_ranks(deliver: Delivery, grades: "GradesResult", rubric: "Rubric", which: str) -> None:
    """Rank the models by each axis that the grader scores and is not untrustworthy on."""
    from tslens.evaluation import grading
    from tslens.evaluation.grading.trust import TRUSTED, UNTRUSTWORTHY

    if grading.is_own(grades.grader, grades.writers()):
        progress.note(f"no ranking by {grades.grader}, which wrote some of the texts")
        return
    for axis in rubric.axes:
        told = grades.trust[axis.name]
        by = f"{grades.grader}, {axis.name}" + ("" if told == TRUSTED else f" ({told})")
        if told.startswith(UNTRUSTWORTHY):
            progress.note(f"no ranking by {by}")
            continue
        try:
            found = grading.bradley_terry(grading.preferences(grades, axis.name), by)
        except InputError as error:
            progress.note(f"no ranking by {by}: {error}")
            continue
        deliver(found, "-".join(filter(None, [which, axis.key])))


def rank(preferences: Path, /, *, out: Out = None, json_: Json = False) -> None:
    """Rank models by pairwise preferences of people or judges, by Bradley and Terry, with intervals over prompts.

    Parameters
    ----------
    preferences
        A .csv or .jsonl with the columns `prompt`, `first` and `second` (models), and `preferred`: one of them, or tie.
    """
    from tslens.evaluation.grading import bradley_terry, read_preferences

    found = bradley_terry(read_preferences(preferences), preferences.stem)
    with delivery(out, json_) as deliver:
        deliver(found)


def _texts(
    files: list[Path] | None, names: list[str] | None, prompts: str | None, n: int, seed: int, precision: str
) -> "list[GradedText]":
    """The texts of the files, or what the models write."""
    from tslens.evaluation.grading import GradedText, read_texts

    if bool(files) == bool(names):
        raise InputError("give --texts, a file of texts; or --model and --prompts, to grade what models write.")
    if files:
        return [text for path in files for text in read_texts(path)]
    if prompts is None:
        raise InputError("give --prompts, the beginnings that the models continue; or --texts.")
    from tslens.cli.writing import written
    from tslens.evaluation import writing

    settings = writing.WritingSettings(n, beams=0, seed=seed, precision=precision)
    begun = writing.prompts_of(prompts)
    answer = written(names or [], begun, settings, None)
    endings = {one.prompt: one.ending for one in begun}
    return [
        GradedText(row["prompt"], row["completion"], row["model"], endings.get(row["prompt"], ""))
        for row in answer.records()
    ]
