"""The command that grades texts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, delivery
from tslens.cli.large_model import INCOMPLETE, LargeModel, confirm, print_cost
from tslens.cli.options import Json, Models, Precision
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.grading import GradedText, Grader, GradesResult, Rubric

LARGE = "large"
Texts = Annotated[
    list[Path],
    Parameter(
        negative=(),
        help="A .jsonl or .csv with the columns `prompt`, `completion`, and perhaps `model`, `ending` (the true one) "
        "and `expected`, such as `tslens eval write` writes. May be repeated.",
    ),
]
RubricName = Annotated[str, Parameter(help="story, instructions, verdict, or your own TOML file.")]
Graders = Annotated[
    list[str] | None,
    Parameter(
        negative=(),
        help="Who grades: `large` (the model of --large-model), another model's id that begins with `claude-`, a run "
        "or other model of tslens (its log-probabilities, without a key), or a .csv of scores by people or judges. "
        "May be repeated. Default: large.",
    ),
]
ControlsSource = Annotated[
    str | None,
    Parameter(
        help="Stories whose endings are the controls: a file, a dataset or `made`. Default: true endings in --texts, "
        "if 25 of them can be damaged; else `made`."
    ),
]
RANKED = 100
"""True endings among which a likelihood is ranked."""


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
    again: Annotated[int, Parameter(help="Texts that a large model grades a second time.")] = 20,
    margin: Annotated[float, Parameter(help="The difference that matters, decided before looking.")] = 0.5,
    preferences: Annotated[bool, Parameter(negative=(), help="Also rank the models by Bradley and Terry.")] = False,
    seed: Annotated[int, Parameter(help="Of the order, the damages, and the texts graded again.")] = 0,
    out: Annotated[Path | None, Parameter(help="A folder for figures (SVG), tables (CSV) and whole answers.")] = None,
    precision: Precision = "float32",
    json_: Json = False,
    large: LargeModel | None = None,
) -> int:
    """Grade texts by a rubric: scores with intervals, controls, agreement, and which model writes better.

    Damaged true endings are among the texts of every run. A grader that does not tell them from the intact ones is
    called untrustworthy on the axis that the damage hits. The exit code is 3 if a large model did not grade all.
    """
    from tslens.evaluation.grading import rubric as rubric_of
    from tslens.evaluation.grading.comparisons import check_margin

    check_margin(margin)
    if again < 0:
        raise InputError(f"--again is {again}; it must be 0 or more.")
    chosen, large = rubric_of(rubric), large or LargeModel()
    found = _texts(texts, model, prompts, n, seed, precision)
    true, ranked = true_texts(found, controls)
    asked = [grader_of(name, ranked, large, precision) for name in grader or [LARGE]]
    if len({one.name for one in asked}) < len(asked):
        raise InputError("two graders have the same name; give each once, and rename a table.")
    confirm_cost(asked, found, true, chosen, again, seed, large.yes)
    with delivery(out, json_) as deliver:
        return _delivered(deliver, asked, found, true, chosen, again, margin, preferences, seed)


def _delivered(
    deliver: Delivery,
    asked: "Sequence[Grader]",
    found: "Sequence[GradedText]",
    true: "Sequence[GradedText]",
    rubric: "Rubric",
    again: int,
    margin: float,
    preferences: bool,
    seed: int,
) -> int:
    """Grade and deliver the answers; the exit code."""
    from tslens.evaluation import grading

    made: list[GradesResult] = []
    for i, one in enumerate(asked):
        made.append(grading.grade(found, one, rubric, true, again=again, seed=seed))
        which = "" if len(asked) == 1 else str(i + 1)
        deliver(made[-1], which)
        deliver(grading.controlled(made[-1], rubric), which)
        if len(made[-1].writers()) > 1:
            deliver(grading.compare(made[-1], margin), which)
            for axis in rubric.axes if preferences else ():
                by = f"{one.name}, {axis.name}"
                wanted = grading.preferences(made[-1], axis.name)
                deliver(grading.bradley_terry(wanted, by), "-".join(filter(None, [which, axis.key])))
    if len(made) > 1 or made[0].score.shape[2] > 1:
        deliver(grading.agreement(made))
    return spent(asked)


def spent(asked: "Sequence[Grader]") -> int:
    """Print what large models cost; the exit code: 3 if one of them did not grade all."""
    from tslens.evaluation.grading.large import LargeModelGrader

    outcomes = [outcome for one in asked if isinstance(one, LargeModelGrader) for outcome in one.outcomes]
    if outcomes:
        print_cost(outcomes)
    return INCOMPLETE if any(outcome.failure for outcome in outcomes) else 0


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
    from tslens.evaluation import writing
    from tslens.files import cache
    from tslens.models import load

    settings = writing.WritingSettings(n, beams=0, seed=seed, precision=precision)
    begun = writing.prompts_of(prompts)
    answer = writing.write((load(name) for name in names or ()), begun, settings, cache() / writing.STORE)
    endings = {one.prompt: one.ending for one in begun}
    return [
        GradedText(row["prompt"], row["completion"], row["model"], endings.get(row["prompt"], ""))
        for row in answer.records()
    ]


def true_texts(found: "Sequence[GradedText]", source: str | None) -> "tuple[list[GradedText], list[GradedText]]":
    """The true endings of which controls are made, and others among which a likelihood is ranked.

    InputError for a source with too few stories.
    """
    from tslens import progress
    from tslens.evaluation.grading import GradedText
    from tslens.evaluation.grading.controls import CONTROLS, can_be_damaged, true_endings
    from tslens.stories import stories

    own = list({t.prompt: GradedText(t.prompt, t.ending) for t in found if can_be_damaged(t.ending)}.values())
    limit = None if source not in (None, "made") else 4 * (CONTROLS + RANKED)
    with progress.stage("reading stories for the controls"):
        made = true_endings(stories(source or "made", limit=limit), CONTROLS + RANKED)
    if source is None and len(own) >= CONTROLS:
        return own[:CONTROLS], made[:RANKED]
    return made[:CONTROLS], made[CONTROLS:]


def grader_of(name: str, ranked: "Sequence[GradedText]", large: LargeModel, precision: str) -> "Grader":
    """The grader of this name, as `--grader` takes it."""
    from tslens.evaluation.grading.graders import TableGrader

    if name.endswith((".csv", ".jsonl")):
        return TableGrader(Path(name))
    if name == LARGE or name.startswith("claude-"):
        from tslens.evaluation.grading.large import LargeModelGrader

        return LargeModelGrader((large if name == LARGE else replace(large, large_model=name)).settings())
    from tslens.evaluation.grading.likelihood import LikelihoodGrader
    from tslens.models import load

    return LikelihoodGrader(load(name), ranked, precision)


def confirm_cost(
    asked: "Sequence[Grader]",
    found: "Sequence[GradedText]",
    true: "Sequence[GradedText]",
    rubric: "Rubric",
    again: int,
    seed: int,
    yes: bool,
) -> None:
    """Say what large models will cost, and ask."""
    from tslens.evaluation.grading.grade import plan
    from tslens.evaluation.grading.large import LargeModelGrader, request

    if not (large := [one for one in asked if isinstance(one, LargeModelGrader)]):
        return
    from tslens.llm import estimate

    items, second = plan(found, true, again, seed)
    wanted = [(i, 0) for i in range(len(items))] + [(i, 1) for i in second]
    requests = [request(items[i].text, rubric, time) for i, time in wanted if not items[i].text.is_empty]
    for one in large:
        confirm(estimate(requests, one.settings), yes)
