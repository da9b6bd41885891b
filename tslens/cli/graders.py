"""The graders of commands: by name, with true endings for the controls, the price before and the cost after."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens import progress
from tslens.cli.delivery import Delivery
from tslens.cli.large_model import INCOMPLETE, LargeModel, confirm, print_cost, tell_cost
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.grading import ControlText, GradedText, Grader, GradesResult, Rubric
    from tslens.llm import Budget, Outcome

LARGE = "large"
Graders = Annotated[
    list[str] | None,
    Parameter(
        negative=(),
        help="Who grades: `large` (the model of --large-model), another model's id that begins with `claude-`, a run "
        "or other model of tslens (its log-probabilities, without a key), or a .csv of scores by people or judges. "
        "May be repeated. Default: `large` where nothing but grading is asked for, else nobody.",
    ),
]
ControlsSource = Annotated[
    str | None,
    Parameter(
        help="Stories whose endings are the controls: a file, a dataset or `made`; for texts that follow instructions, "
        "stories behind instructions. Default: true endings in --texts, if 25 of them can be damaged; else `made`, or "
        "`made:instruct`."
    ),
]
Again = Annotated[int, Parameter(help="Texts that a large model grades a second time.")]
RANKED = 100
"""True endings among which a likelihood is ranked."""


def true_texts(found: "Sequence[GradedText]", source: str | None) -> "tuple[list[GradedText], list[GradedText]]":
    """The true endings of which controls are made, and others among which a likelihood is ranked: those that the texts
    themselves have, where these are enough, else those of the source, by default generated stories.

    They look like the texts: where all prompts are instructions they are whole stories behind instructions, and where
    texts have the mark of what is right, so have they, in the words of their first sentence.
    """
    from tslens.evaluation.grading import GradedText
    from tslens.evaluation.grading.controls import CONTROLS, can_be_damaged, true_endings, true_stories
    from tslens.evaluation.grading.likelihood import LEAST
    from tslens.stories import stories
    from tslens.stories.instruct import parse
    from tslens.stories.sentences import sentences

    told = bool(found) and all(parse(text.prompt).blocks for text in found)
    default = "made:instruct" if told else "made"
    own = list({t.prompt: GradedText(t.prompt, t.ending) for t in found if can_be_damaged(t.ending)}.values())
    limit = None if source not in (None, "made", "made:instruct") else 4 * (CONTROLS + RANKED)
    with progress.stage("reading stories for the controls"):
        read = stories(source or default, limit=limit)
        made = (true_stories if told else true_endings)(read, CONTROLS + RANKED)
    if any(text.expected for text in found):
        own, made = ([replace(t, expected=sentences(t.completion)[0]) for t in texts] for texts in (own, made))
    if source is None and len(own) >= CONTROLS:
        others = own[CONTROLS:][:RANKED]
        return own[:CONTROLS], others if len(others) >= LEAST else made[:RANKED]
    return made[:CONTROLS], made[CONTROLS:]


def controls_for(
    found: "Sequence[GradedText]", rubric: "Rubric", source: str | None, seed: int
) -> "tuple[list[ControlText], list[GradedText]]":
    """The controls among the texts, and the true endings among which a likelihood is ranked. They are damaged true
    endings (`true_texts`); where the rubric asks what is right, and texts come with right and wrong endings, these."""
    from tslens.evaluation.grading.controls import controls
    from tslens.evaluation.grading.rubrics import WRONG
    from tslens.evaluation.grading.suites import controls_of_answers, prompts_of

    true, ranked = true_texts(found, source)
    prompts = prompts_of(found) if all(WRONG in axis.hit_by for axis in rubric.axes) else []
    return (controls_of_answers(found, prompts, seed) if prompts else controls(true, seed)), ranked


def graders_of(
    names: Sequence[str], ranked: "Sequence[GradedText]", rubric: "Rubric", large: LargeModel, precision: str
) -> "list[Grader]":
    """The graders of these names; all that ask a large model share one limit.

    InputError for one named twice, or for one that cannot grade by the rubric: a faulty table costs nothing.
    """
    from tslens.llm import Budget

    budget = Budget(large.limit_usd)
    found = [_grader_of(name, ranked, large, precision, budget) for name in names]
    if len({one.name for one in found}) < len(found):
        raise InputError("two graders have the same name; give each once, and rename a table.")
    for one in found:
        one.check(rubric)
    return found


def _grader_of(
    name: str, ranked: "Sequence[GradedText]", large: LargeModel, precision: str, budget: "Budget"
) -> "Grader":
    """The grader of this name, as `--grader` takes it."""
    from tslens.evaluation.grading.graders import TableGrader

    if name.endswith((".csv", ".jsonl")):
        return TableGrader(Path(name))
    if name == LARGE or name.startswith("claude-"):
        from tslens.evaluation.grading.large import LargeModelGrader

        settings = (large if name == LARGE else replace(large, large_model=name)).settings()
        return LargeModelGrader(settings, budget=budget)
    from tslens.evaluation.grading.likelihood import LikelihoodGrader
    from tslens.models import load

    return LikelihoodGrader(load(name), ranked, precision)


def confirm_cost(
    asked: "Sequence[Grader]",
    found: "Sequence[GradedText]",
    controls: "Sequence[ControlText]",
    rubric: "Rubric",
    again: int,
    seed: int,
    yes: bool,
) -> None:
    """Say what all large models together will cost, and ask once."""
    from tslens.evaluation.grading.grade import plan
    from tslens.evaluation.grading.large import LargeModelGrader, request

    if not (large := [one for one in asked if isinstance(one, LargeModelGrader)]):
        return
    from tslens.llm import estimate

    items, second = plan(found, controls, again, seed)
    wanted = [(i, 0) for i in range(len(items))] + [(i, 1) for i in second]
    requests = [request(items[i].text, rubric, time) for i, time in wanted if not items[i].text.is_empty]
    confirm([estimate(requests, one.settings) for one in large], yes)


@contextmanager
def charged(asked: "Sequence[Grader]") -> Iterator[None]:
    """Print what large models cost at the end of the block, whatever happens inside."""
    told = False
    try:
        yield
    except BaseException as error:
        told = tell_cost(error)
        raise
    finally:
        if not told and (outcomes := _outcomes(asked)):
            print_cost(outcomes)


def place_of(deliver: Delivery, grades: "GradesResult") -> Delivery:
    """Where answers from these grades are delivered: those of a rehearsal in a folder of their own, `rehearsal`."""
    from tslens.evaluation.grading.graders import REHEARSAL

    if not grades.is_rehearsal:
        return deliver
    apart = Delivery(deliver.folder and deliver.folder / REHEARSAL, deliver.as_json)
    apart.printed = deliver.printed
    return apart


def deliver_agreement(deliver: Delivery, made: "Sequence[GradesResult]") -> None:
    """Deliver how far graders agree with one another, and with themselves, where any text was graded twice; of
    rehearsals apart."""
    from tslens.evaluation.grading import agreement

    for kind in (False, True):
        of_kind = [one for one in made if one.is_rehearsal == kind]
        if len(of_kind) > 1 or any(one.score.shape[2] > 1 for one in of_kind):
            try:
                place_of(deliver, of_kind[0])(agreement(of_kind))
            except InputError as error:  # what was paid for is delivered all the same
                progress.note(f"no agreement: {error}")


def exit_code(asked: "Sequence[Grader]") -> int:
    """The exit code: 3 if a model did not grade all."""
    from tslens.evaluation.grading.likelihood import LikelihoodGrader

    unread = any(isinstance(one, LikelihoodGrader) and one.failed for one in asked)
    return INCOMPLETE if unread or any(outcome.failure for outcome in _outcomes(asked)) else 0


def _outcomes(asked: "Sequence[Grader]") -> "list[Outcome]":
    from tslens.evaluation.grading.large import LargeModelGrader

    return [outcome for one in asked if isinstance(one, LargeModelGrader) for outcome in one.outcomes]
