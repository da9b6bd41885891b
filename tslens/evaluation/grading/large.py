"""A large model as a grader, through `tslens.llm`: rubric as the shared prefix, each text as delimited data."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import urlsplit

from tslens import llm
from tslens.evaluation.grading.graders import REHEARSAL, Failure, Grade, lowest
from tslens.evaluation.grading.rubrics import Rubric
from tslens.evaluation.grading.texts import GradedText

MAX_TOKENS = 400
"""Longest answer: a comment of two sentences and the scores."""


@dataclass
class LargeModelGrader:
    """Grades by asking a large model. What its cache holds is not asked again."""

    settings: llm.Settings
    name: str = ""
    is_settled: bool = False
    budget: llm.Budget | None = field(default=None, repr=False)
    """What several graders may spend together; else this one has its own, of the settings' limit."""
    outcomes: list[llm.Outcome] = field(default_factory=list, repr=False)
    """Every outcome so far, with what it cost."""

    def __post_init__(self) -> None:
        model = self.settings.model
        self.name = self.name or (f"{REHEARSAL} ({model})" if is_rehearsal(self.settings) else model)
        self.budget = self.budget or llm.Budget(self.settings.limit_usd)

    def check(self, rubric: Rubric) -> None:
        """A large model grades by any rubric."""

    def grade(self, texts: Sequence[GradedText], rubric: Rubric, repetition: int = 0) -> list[Grade | Failure]:
        """The scores of the model's answers; a failure for a text whose answer never came or was refused."""
        requests = [request(text, rubric, repetition) for text in texts]
        found = llm.ask(requests, self.settings, self.outcomes.append, self.budget)  # so that an error forgets no cost
        return [_grade(outcome, rubric) for outcome in found]

    def grade_empty(self, text: GradedText, rubric: Rubric, repetition: int = 0) -> Grade:
        """The lowest score on every axis: what everyone knows is not paid for."""
        return lowest(rubric.axes)


def request(text: GradedText, rubric: Rubric, repetition: int = 0) -> llm.Request:
    """What is asked about a text. The marks around it carry a hash of the text, which it therefore cannot hold."""
    parts = {"beginning": text.prompt, "right": text.expected, "continuation": text.completion}
    code = blake2b("\0".join(parts.values()).encode(), digest_size=8).hexdigest()
    said = "\n\n".join(f"<{name} {code}>\n{part}\n</{name} {code}>" for name, part in parts.items() if part)
    return llm.Request(rubric.instructions, said, rubric.answer, MAX_TOKENS, repetition)


def is_rehearsal(settings: llm.Settings) -> bool:
    """Whether the server is on this machine."""
    host = urlsplit(f"//{settings.host}").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _grade(outcome: llm.Outcome, rubric: Rubric) -> Grade | Failure:
    if outcome.answer is None:
        return Failure(outcome.failure or "no answer")
    scores = {axis.name: axis.score(getattr(outcome.answer, axis.key)) for axis in rubric.axes}
    return Grade({name: score for name, score in scores.items() if score is not None})
