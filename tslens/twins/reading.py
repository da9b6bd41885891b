"""Untrained twins, each built once and read in one pass for all that is asked of it and not kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tslens.memory import give_back
from tslens.models.twins import Twin
from tslens.progress import bar, note, off
from tslens.scan import Begun, Reducer, concluded, reading, states
from tslens.threads import in_threads
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass(frozen=True)
class Question:
    """What is asked of every twin, and what is kept of the answers."""

    reducers: Sequence[Reducer[Any, Any]]
    shorten: Callable[[Sequence[Any]], Any]
    """What is kept of the reducers' answers, as JSON."""
    kept: dict[str, Any]
    """What is known so far, by the twin's name."""
    place: Path
    """The file that keeps it."""
    own: Sequence[str] = ()
    """Stories that these reducers read besides."""

    def open_to(self, twin: Twin) -> bool:
        """Whether the twin's answer is not known."""
        return str(twin) not in self.kept


def ask(model: "LanguageModel", texts: Sequence[str], questions: Sequence[Question], chosen: Sequence[Twin]) -> None:
    """Complete what is kept of every question by the answers of these twins of a model on the same texts."""
    left = [twin for twin in chosen if any(question.open_to(twin) for question in questions)]
    with bar("untrained twins", len(left)) as shown:
        for i, twin in enumerate(left):
            began = time.monotonic()
            with off():
                _ask_one(twin.of(model), texts, [question for question in questions if question.open_to(twin)], twin)
                give_back()
            shown.advance()
            if i == 0 and len(left) > 1:
                seconds = (time.monotonic() - began) * (len(left) - 1)
                note(f"Reading {len(left)} untrained twins on {len(texts)} stories, once: about {seconds:.0f} s more.")


def _ask_one(made: "LanguageModel", texts: Sequence[str], questions: Sequence[Question], twin: Twin) -> None:
    answers = iter(answers_of(made, texts, questions))
    for question in questions:
        question.kept[str(twin)] = question.shorten([next(answers) for _ in question.reducers])
        store.write(question.place, question.kept)


def answers_of(model: "LanguageModel", texts: Sequence[str], questions: Sequence[Question]) -> list[Any]:
    """The answers of all reducers, question by question: one pass over the texts for all of them, and one over the
    question's own stories. Reducers that read the same share one state and its answer."""
    asked = [(reducer, question.own) for question in questions for reducer in question.reducers]
    read: list[tuple[Reducer[Any, Any], Sequence[str]]] = []
    rows = []
    for reducer, own in asked:
        same = (reading(reducer), own)
        rows.append(read.index(same) if same in read else len(read))
        read += [same] if rows[-1] == len(read) else []
    found = states(model, texts, [reducer for reducer, _ in read])
    for i, (reducer, own) in enumerate(read):
        if own:
            (found[i],) = states(model, own, [Begun(reducer, partial(found.__getitem__, i))])

    def finished(i: int) -> Any:
        found[i], state = None, found[i]  # which is let go when it is finished
        return read[i][0].finish(state)

    found = in_threads(finished, range(len(read)))
    return [concluded(reducer, found[row]) for (reducer, _), row in zip(asked, rows, strict=True)]
