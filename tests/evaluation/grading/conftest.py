"""True endings of made stories, and judges whose scores are known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pytest

from tslens.evaluation.grading import Failure, Grade, GradedText, Rubric, rubric
from tslens.evaluation.grading.controls import CONTROLS, controls, true_endings
from tslens.evaluation.grading.graders import lowest
from tslens.stories import stories

FALL = {
    "with errors": {"grammar": 4},
    "shuffled": {"consistency": 4},
    "foreign": {"consistency": 6},
    "cut": {"plot": 5},
    "stopped": {"plot": 3},
    "orders": {"plot": 5},
}


def noise(text: str, most: int = 1) -> int:
    """A number from 0 to `most` that depends on the text alone."""
    return blake2b(text.encode(), digest_size=2).digest()[0] % (most + 1)


@pytest.fixture(scope="session")
def true() -> list[GradedText]:
    return true_endings(stories("made", limit=100), CONTROLS)


@pytest.fixture(scope="session")
def kinds(true: list[GradedText]) -> dict[GradedText, str]:
    """The kind of each control, of seed 0."""
    return {control.text: control.kind for control in controls(true)}


@pytest.fixture(scope="session")
def scores_of(kinds: dict[GradedText, str]) -> Callable[[GradedText], dict[str, int]]:
    """A good judge's scores of a text: each damage costs the axis that it hits."""

    def scores(text: GradedText) -> dict[str, int]:
        fall = FALL.get(kinds.get(text, ""), {})
        names = ("grammar", "creativity", "consistency", "plot")
        found = {name: 8 + noise(text.completion + name) - fall.get(name, 0) for name in names}
        return found | {"age group": 3 + noise(text.completion, 2)}

    return scores


@dataclass
class Judge:
    """A grader in the tests' own hands."""

    scores: Callable[[GradedText], dict[str, int]]
    name: str = "judge"
    is_settled: bool = False
    again: int = 0
    """Added to every score of a second grading."""

    def check(self, rubric: Rubric) -> None:
        """Any rubric will do."""

    def grade(self, texts: Sequence[GradedText], rubric: Rubric, repetition: int = 0) -> list[Grade | Failure]:
        self.seen = list(texts)
        found = [self.scores(text) for text in texts]
        return [
            Grade({a.name: min(a.top, one[a.name] + self.again * repetition) for a in rubric.axes})
            if one
            else Failure("x")
            for one in found
        ]

    def grade_empty(self, text: GradedText, rubric: Rubric, repetition: int = 0) -> Grade:
        return lowest(rubric.axes)


@pytest.fixture(scope="session")
def story() -> Rubric:
    return rubric("story")


@pytest.fixture(scope="session")
def texts() -> list[GradedText]:
    """Texts of two models on 30 prompts, three each."""
    return [
        GradedText(f"Prompt {p} is", f"{model} wrote text {i} of {p}.", model)
        for p in range(30)
        for model in ("good", "poor")
        for i in range(3)
    ]
