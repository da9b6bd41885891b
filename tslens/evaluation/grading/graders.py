"""Graders: whatever gives the scores of a rubric to texts; and scores that are read from a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from tslens.errors import InputError
from tslens.evaluation.grading.rubrics import Axis, Rubric
from tslens.evaluation.grading.texts import COMPLETION, PROMPT, GradedText, text_of
from tslens.parsing import rows

REHEARSAL = "rehearsal"
"""What a grader is called whose server is on this machine: its scores are no findings."""
LIKELIHOOD = "likelihood of"
"""How the name of a grader by a model's log-probabilities begins."""


def rehearses(grader: str) -> bool:
    """Whether the grader of this name is a rehearsal."""
    return grader.startswith(f"{REHEARSAL} (")


@dataclass(frozen=True)
class Grade:
    """The scores of a text by axis; an axis that the grader cannot score is left out."""

    scores: Mapping[str, int]


@dataclass(frozen=True)
class Failure:
    """Why a text has no score."""

    why: str


@runtime_checkable
class Grader(Protocol):
    """Gives scores to texts. It is told nothing of who wrote a text, nor which texts are controls."""

    name: str
    """What its scores are called in results."""
    is_settled: bool
    """Whether it gives a text the same scores every time, so that asking again says nothing."""

    def check(self, rubric: Rubric) -> None:
        """InputError if it cannot grade by this rubric: known before another grader is paid."""
        ...

    def grade(self, texts: Sequence[GradedText], rubric: Rubric, repetition: int = 0) -> list[Grade | Failure]:
        """The grade of each text, or why it has none; another `repetition` asks again."""
        ...

    def grade_empty(self, text: GradedText, rubric: Rubric, repetition: int = 0) -> Grade | Failure:
        """The grade of an empty text, without asking: the lowest score on each axis that the grader can score."""
        ...


@runtime_checkable
class TrainedGrader(Grader, Protocol):
    """A grader that was made by training, so that others like it can be made without."""

    def twins(self) -> Iterator[Grader]:
        """Untrained graders of the same kind."""
        ...


def lowest(axes: Iterable[Axis]) -> Grade:
    """The grade of an empty text on these axes."""
    return Grade({axis.name: 1 for axis in axes})


@dataclass
class TableGrader:
    """The scores that people, or others' judges, gave: a CSV or JSONL file with the texts and a column for each axis.

    A score is a number of the axis's scale or one of its answers in words; an empty one is missing. If a text has
    several rows, repetition n takes the n-th; a table where none has is settled.
    """

    path: Path
    name: str = ""
    is_settled: bool = False
    found: dict[tuple[str, str], list[dict[str, str]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.path.stem
        for where, row in rows(self.path):
            key = text_of(row, PROMPT, where).strip(), text_of(row, COMPLETION, where).strip()
            scores = {str(name): str(value) for name, value in row.items() if value not in (None, "")}
            self.found.setdefault(key, []).append(scores | {"": where})
        if not self.found:
            raise InputError(f"{self.path} holds no scores; give one row a text.")
        self.is_settled = all(len(given) == 1 for given in self.found.values())

    def check(self, rubric: Rubric) -> None:
        """InputError for a table without a column of the rubric, or with a score off the scale, of whatever text."""
        if not self._axes(rubric):
            wanted = ", ".join(axis.key for axis in rubric.axes)
            raise InputError(f"{self.path} has no score by the rubric {rubric.name!r}; give a column of {wanted}.")
        for given in self.found.values():
            for row in given:
                _scores(row, rubric)

    def grade(self, texts: Sequence[GradedText], rubric: Rubric, repetition: int = 0) -> list[Grade | Failure]:
        """The scores of the table. InputError as `check` has it."""
        self.check(rubric)
        return [self._grade(text, rubric, repetition) for text in texts]

    def grade_empty(self, text: GradedText, rubric: Rubric, repetition: int = 0) -> Grade | Failure:
        """The scores of the table, if it has the text; else the lowest on the axes of which it has a column."""
        if (text.prompt.strip(), text.completion.strip()) in self.found:
            return self._grade(text, rubric, repetition)
        return lowest(self._axes(rubric))

    def _axes(self, rubric: Rubric) -> list[Axis]:
        """The axes of which the table has a score."""
        columns = {name for given in self.found.values() for row in given for name in row}
        return [axis for axis in rubric.axes if not columns.isdisjoint({axis.key, axis.name})]

    def _grade(self, text: GradedText, rubric: Rubric, repetition: int) -> Grade | Failure:
        given = self.found.get((text.prompt.strip(), text.completion.strip()), [])
        if given and repetition >= len(given):
            return Grade({})  # who scored a text once has not failed
        if not given:
            return Failure(f"no score in {self.path.name}")
        scores = _scores(given[repetition], rubric)
        return Grade(scores) if scores else Failure(f"no score in {self.path.name}")


def _scores(row: Mapping[str, str], rubric: Rubric) -> dict[str, int]:
    """The scores of a table's row by axis. InputError for one off the scale."""
    scores = {}
    for axis in rubric.axes:
        said = row.get(axis.key, row.get(axis.name))
        if said is not None:
            score = axis.score(said)
            if score is None:
                allowed = ", ".join(axis.values) or f"1 to {axis.top}"
                raise InputError(f"{row['']}: {axis.name} is {said!r}; it may be {allowed}.")
            scores[axis.name] = score
    return scores
