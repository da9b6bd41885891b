"""Labels that a grader gives to what models wrote after the prompts of a suite, and the controls of such a grader."""

import math
from collections.abc import Iterator, Sequence
from random import Random

from tslens.errors import InputError
from tslens.evaluation import suites
from tslens.evaluation.grading.controls import CONTROLS, ORDERS, ControlText, with_orders
from tslens.evaluation.grading.grade import grade
from tslens.evaluation.grading.graders import Grader
from tslens.evaluation.grading.result import INTACT, GradesResult
from tslens.evaluation.grading.rubrics import WRONG, rubric
from tslens.evaluation.grading.texts import GradedText
from tslens.evaluation.scores import partners
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import BETWEEN, Prompt, Suite
from tslens.stories.sentences import spans

RUBRIC = "verdict"
"""Whose answers are fail, partial and success."""
SWAPPED = "of another prompt"
"""A text that its model wrote for another prompt. It decides on no grader: a right one may stand there by chance."""


def texts_of(result: SuiteResult, suite: Suite) -> list[GradedText]:
    """The completions of a suite's prompts, by model and prompt, with what a right one says. InputError if nothing was
    written, or nothing could be."""
    if not suite.by_hand:
        raise InputError(f"{suite.name} has no prompt written by hand, after which a model writes what is graded.")
    found = [
        _text(prompt, said, model)
        for model, rows in zip(result.models, result.completions, strict=False)
        for prompt, row in zip(suite.by_hand, rows, strict=True)
        for said in row
    ]
    if not found:
        raise InputError(f"nothing was written for {suite.name} that could be graded; give --completions 1 or more.")
    return found


def _text(prompt: Prompt, completion: str, model: str = "") -> GradedText:
    right, wrong = (BETWEEN.join(endings) for endings in (prompt.accepted, prompt.rejected))
    return GradedText(prompt.text, completion, model, expected=right, rejected=wrong)


def controls_of(texts: Sequence[GradedText], suite: Suite, seed: int = 0) -> list[ControlText]:
    """For each of 25 prompts: its right ending, its wrong one, and the wrong one with orders to the grader. For each
    model and prompt of the suite: the first text of it that the model wrote for another prompt (`scores.partners`).

    The endings are those of the suite; a suite of fewer prompts borrows from those that come with tslens. A control
    looks like the `texts` to be graded: it has the mark of what is right, and goes on as one of them does after its
    first sentence. The right and the wrong control of a prompt differ in the ending alone.
    """
    rng = Random(f"{seed}:suite")
    longer = [text for text in texts if len(spans(text.completion)) > 1] or [GradedText("", " ")]
    found: dict[str, list[ControlText]] = {INTACT: [], WRONG: [], ORDERS: []}
    for number, prompt in zip(range(CONTROLS), _asked(suite, rng), strict=False):
        own = [text for text in longer if text.prompt == prompt.text]
        pattern = rng.choice(own or longer).completion
        right, wrong = (_beginning_with(ending[0], pattern) for ending in (prompt.accepted, prompt.rejected))
        for kind, said in ((INTACT, right), (WRONG, wrong), (ORDERS, with_orders(wrong, number))):
            found[kind].append(ControlText(_text(prompt, said), kind, number))
    return [control for kind in (*found.values(), _swapped(texts, suite)) for control in kind]


def _swapped(texts: Sequence[GradedText], suite: Suite) -> list[ControlText]:
    """The first text of every model and prompt, behind another prompt of the suite; by model, then by prompt."""
    first = {(text.model, text.prompt): text.completion for text in reversed(texts)}
    prompts, others = suite.by_hand, partners(len(suite.by_hand))
    return [
        ControlText(_text(prompt, first[model, prompts[j].text], model), SWAPPED, i)
        for model in dict.fromkeys(text.model for text in texts)
        for i, (prompt, j) in enumerate(zip(prompts, others, strict=False))
        if (model, prompts[j].text) in first
    ]


def _asked(suite: Suite, rng: Random) -> Iterator[Prompt]:
    """The prompts written by hand in random order, one of each pair before the others; those of tslens's own suites
    after those of the suite."""
    own = {prompt.text for prompt in suite.by_hand}
    for one in (suite, *map(suites.suite, suites.suites())):
        pairs = [rng.sample(one.by_hand[i : i + 2], 2) for i in range(0, len(one.by_hand), 2)]
        for side in zip(*rng.sample(pairs, len(pairs)), strict=True):
            yield from (prompt for prompt in side if one is suite or prompt.text not in own)


def _beginning_with(ending: str, pattern: str) -> str:
    """A completion with an ending of the suite in the place of its first sentence."""
    first = next(iter(spans(pattern)), (len(pattern), len(pattern)))
    stop = "" if ending[-1] in '.!?"”' else "."
    return pattern[: first[0]] + ending + stop + pattern[first[1] :]


def graded(
    result: SuiteResult, suite: Suite, grader: Grader, controls: Sequence[ControlText], *, seed: int = 0
) -> tuple[SuiteResult, GradesResult]:
    """The suite's result with a grader's labels of its completions and what its controls (`controls_of`) say of it; and
    the grades. A text that could not be graded has no label. The result of a rehearsal has none: they are no findings,
    and stay in its grades."""
    texts = texts_of(result, suite)
    grades = grade(texts, grader, rubric(RUBRIC), controls, seed=seed)
    if grades.is_rehearsal:
        return result, grades
    labels = map(_label, grades.of_texts(texts)[:, 0].tolist())
    rows = [[[next(labels) for _ in row] for row in of_model] for of_model in result.completions]
    scores, found = grades.first(grades.axes[0]), grades.of(SWAPPED)
    null = {(grades.models[i], int(grades.story[i])): _label(float(scores[i])) for i in found}
    models, prompts = (result.models, result.by_hand) if found else ([], 0)
    chance = [[[null.get((model, i))] for i in range(prompts)] for model in models]
    return result.with_labels(grader.name, rows, grades.trust[grades.axes[0]], chance), grades


def _label(score: float) -> int | None:
    return None if math.isnan(score) else int(score) - 1
