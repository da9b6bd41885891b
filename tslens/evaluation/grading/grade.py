"""Grade texts by one grader, with controls among them, blind and in random order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.errors import InputError
from tslens.evaluation.grading.controls import ORDERS, ControlText
from tslens.evaluation.grading.graders import Failure, Grade, Grader, TrainedGrader
from tslens.evaluation.grading.result import INTACT, GradesResult
from tslens.evaluation.grading.rubrics import DAMAGED, WRONG, Rubric
from tslens.evaluation.grading.texts import GradedText
from tslens.evaluation.grading.trust import TRUSTED, controlled


def grade(
    texts: Sequence[GradedText],
    grader: Grader,
    rubric: Rubric,
    controls: Sequence[ControlText],
    *,
    again: int = 0,
    seed: int = 0,
) -> GradesResult:
    """The scores of texts and of the controls among them (`controls.controls`, `suites.controls_of`), by one grader.

    The grader reads all of them in an order drawn from the seed, without being told which are controls or who wrote
    what. An empty text gets the lowest score on each axis that the grader can score, without being asked about.
    `again` texts, drawn at random, are graded a second time, unless the grader always says the same. The untrained
    twins of a grader that has some (`TrainedGrader`) grade the controls too, where it would be trusted. InputError for
    no text.
    """
    if not texts:
        raise InputError("there is no text to grade.")
    asked, chosen = plan(texts, controls, again, seed)
    found = [_graded(asked, range(len(asked)), grader, rubric, 0)]
    if chosen and not grader.is_settled:
        found.append(_graded(asked, chosen, grader, rubric, 1))
    result = GradesResult(
        grader=grader.name,
        rubric=rubric.name,
        axes=[axis.name for axis in rubric.axes],
        tops=[axis.top for axis in rubric.axes],
        models=[item.text.model for item in asked],
        prompts=[item.text.prompt for item in asked],
        completions=[item.text.completion for item in asked],
        kinds=[item.kind for item in asked],
        story=torch.tensor([item.story for item in asked]),
        score=torch.stack([_scores(graded, len(asked), rubric) for graded in found], dim=-1),
        twins=torch.empty(0, len(asked), len(rubric.axes)),
        failures=[
            f"text {i}{' again' if repetition else ''}: {one.why}"
            for repetition, graded in enumerate(found)
            for i, one in graded.items()
            if isinstance(one, Failure)
        ],
        trust={},
        usd=sum(outcome.usd + outcome.lost_usd for outcome in getattr(grader, "outcomes", ())),
    )
    trust = controlled(result, rubric).trust
    if TRUSTED in trust.values() and isinstance(grader, TrainedGrader):
        result = replace(result, twins=_by_twins(asked, grader, rubric))
        trust = controlled(result, rubric).trust
    return replace(result, trust=trust)


def plan(
    texts: Sequence[GradedText], controls: Sequence[ControlText], again: int = 0, seed: int = 0
) -> tuple[list[ControlText], list[int]]:
    """Texts (of no kind) and controls in the order in which a grader reads them, and which texts it reads again."""
    items = [*(ControlText(text, "", -1) for text in texts), *controls]
    Random(f"{seed}:order").shuffle(items)
    own = [i for i, item in enumerate(items) if not item.kind]
    return items, sorted(Random(f"{seed}:again").sample(own, min(again, len(own))))


def _by_twins(asked: Sequence[ControlText], grader: TrainedGrader, rubric: Rubric) -> Float[Tensor, "twin text axis"]:
    """The scores of the controls that decide, by each of the grader's untrained twins."""
    chosen = [i for i, item in enumerate(asked) if item.kind in (INTACT, *DAMAGED, WRONG, ORDERS)]
    graded = (_graded(asked, chosen, twin, rubric, 0) for twin in grader.twins())
    return torch.stack([_scores(one, len(asked), rubric) for one in graded])


def _scores(graded: Mapping[int, Grade | Failure], texts: int, rubric: Rubric) -> Float[Tensor, "text axis"]:
    """The scores of the graded texts by number; NaN for the others, and for what could not be graded."""
    scores = torch.full((texts, len(rubric.axes)), torch.nan)
    for i, one in graded.items():
        given = one.scores if isinstance(one, Grade) else {}
        scores[i] = torch.tensor([given.get(axis.name, torch.nan) for axis in rubric.axes])
    return scores


def _graded(
    asked: Sequence[ControlText], chosen: Sequence[int], grader: Grader, rubric: Rubric, repetition: int
) -> dict[int, Grade | Failure]:
    """The grades of the chosen items by their number."""
    anonymous = {i: replace(asked[i].text, model="", ending="") for i in chosen}
    found = {i: grader.grade_empty(text, rubric, repetition) for i, text in anonymous.items() if text.is_empty}
    rest = [i for i in chosen if i not in found]
    return found | dict(zip(rest, grader.grade([anonymous[i] for i in rest], rubric, repetition), strict=True))
