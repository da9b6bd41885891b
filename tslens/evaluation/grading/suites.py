"""Labels that a grader gives to what models wrote after the prompts of a suite, and the controls of such a grader."""

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from random import Random

from tslens.errors import InputError
from tslens.evaluation import suites
from tslens.evaluation.grading.controls import CONTROLS, ORDERS, ControlText, with_orders
from tslens.evaluation.grading.grade import grade
from tslens.evaluation.grading.graders import Grader
from tslens.evaluation.grading.result import INTACT, GradesResult
from tslens.evaluation.grading.rubrics import WRONG, rubric
from tslens.evaluation.grading.stated import can_be_judged, endings
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
    """The controls of a suite's prompts (`controls_of_answers`); and for each model and prompt the first text that the
    model wrote for another prompt (`scores.partners`)."""
    return [*controls_of_answers(texts, suite.by_hand, seed), *_swapped(texts, suite)]


def prompts_of(texts: Sequence[GradedText]) -> list[Prompt]:
    """The prompts of texts of one's own that have right and wrong endings, each once."""
    found = {text.prompt: text for text in texts if can_be_judged(text)}
    return [Prompt(text, endings(one.expected), endings(one.rejected), "") for text, one in found.items()]


def controls_of_answers(texts: Sequence[GradedText], prompts: Sequence[Prompt], seed: int = 0) -> list[ControlText]:
    """For each of 25 prompts: its right ending, its wrong one, and the wrong one with orders to the grader.

    The endings are those of the prompts; of fewer prompts than 25, those of tslens's suites come after them. A control
    looks like the `texts` to be graded: it has the mark of what is right, and goes on as one of them does after its
    first sentence. The right and the wrong control of a prompt differ in the ending alone.
    """
    rng = Random(f"{seed}:suite")
    longer = [text for text in texts if len(spans(text.completion)) > 1] or [GradedText("", " ")]
    found: dict[str, list[ControlText]] = {INTACT: [], WRONG: [], ORDERS: []}
    for number, prompt in zip(range(CONTROLS), _asked(prompts, rng), strict=False):
        own = [text for text in longer if text.prompt == prompt.text]
        pattern = rng.choice(own or longer).completion
        right, wrong = (_beginning_with(ending[0], pattern) for ending in (prompt.accepted, prompt.rejected))
        for kind, said in ((INTACT, right), (WRONG, wrong), (ORDERS, with_orders(wrong, number))):
            found[kind].append(ControlText(_text(prompt, said), kind, number))
    return [control for kind in found.values() for control in kind]


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


def _asked(prompts: Sequence[Prompt], rng: Random) -> Iterator[Prompt]:
    """The prompts in random order, one of each pair before the others; those of tslens's own suites after them."""
    own = {prompt.text for prompt in prompts}
    for one in (prompts, *(suites.suite(name).by_hand for name in suites.suites())):
        pairs = [rng.sample(one[i : i + 2], len(one[i : i + 2])) for i in range(0, len(one), 2)]
        for side in zip_longest(*rng.sample(pairs, len(pairs))):
            yield from (prompt for prompt in side if prompt and (one is prompts or prompt.text not in own))


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
