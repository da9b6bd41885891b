"""A grader that needs no key: a story model's own log-probabilities, ranked among those of true endings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from tslens.errors import InputError
from tslens.evaluation.grading.graders import LIKELIHOOD, Failure, Grade, lowest
from tslens.evaluation.grading.rubrics import Axis, Rubric
from tslens.evaluation.grading.stated import RARE, can_be_judged, margins, verdict
from tslens.evaluation.grading.texts import GradedText, joint
from tslens.evaluation.lines import first_of_ending, token_log_probabilities
from tslens.evaluation.scores import VERDICTS
from tslens.models import name_of, spec_of, story_tokenizer_of
from tslens.models.twins import Twin

if TYPE_CHECKING:
    from tslens.models import LanguageModel

INSTRUCTIONS = "instructions"
MEASURES = {
    "grammar": "log-probability of the least expected tenth of the tokens",
    "consistency": "how much more probable the continuation is after its prompt than after others, per token",
    "plot": "log-probability that the story ends where the continuation ends",
    INSTRUCTIONS: "how much more probable the story is after its instructions than after others, per token",
}
"""What stands for each axis, by rank among true endings. No log-probability stands for creativity or an age."""
TWINS = 7
"""Untrained twins that read the controls of a grader. If a share q of untrained graders tells a damage, one of these
does where all of its twins fail with probability q (1 - q)^7, at most 7^7 / 8^8 = 0.049. By chance a twin tells one
damage in 0.025, but seldom half as far as a grader of a clear difference."""
LEAST = 40
"""True endings among which a text is ranked, at least; as many as a verdict is compared with."""
OTHERS = 2
"""Other prompts, after which a text is read too."""
TOO_LONG, NO_ENDINGS = "the prompt fills the model's context", "its prompt has no right and wrong endings"


@dataclass(frozen=True)
class TextLikelihood:
    """Log-probabilities of a text's tokens, in nats."""

    given: Float[np.ndarray, " token"]
    """After the prompt."""
    elsewhere: Float[np.ndarray, " known"]
    """After other prompts, their mean; empty where none can be read, and of a text without a prompt."""
    end: float | None
    """That the story ends where the text does; None for a text that the context does not hold."""

    def measure(self, axis: str, tokens: int) -> float:
        """What stands for an axis, over the first tokens of the text; higher is better. The end has no length."""
        if axis == "plot":
            return math.nan if self.end is None else self.end
        if axis == "grammar":
            given = self.given[:tokens]
            return float(np.sort(given)[: max(1, len(given) // 10)].mean())
        known = min(tokens, len(self.given), len(self.elsewhere))
        return float((self.given[:known] - self.elsewhere[:known]).mean()) if known else math.nan


@dataclass
class LikelihoodGrader:
    """Scores a text by a loaded model's log-probabilities: its rank among true endings of stories, in ten
    equal classes for an axis of ten. It knows what is usual for the model's training stories, not what is good. Where
    the prompt has right and wrong endings, it says which of them the first sentence states: fail, partial or success,
    by how probable it makes the right one beside the wrong one, and by how probable true endings make it (`stated`).

    The text and each true ending are compared over as many tokens as both have, because a prompt says more about the
    beginning of what follows than about the rest: by the whole texts, short ones would rank above long ones. The gain
    by the prompt is the pointwise mutual information per token, given that a story was begun (domain conditional,
    Holtzman et al. 2021, arXiv 2104.08315): beside no prompt at all gibberish may gain more than stories do. An axis
    without a measure in `MEASURES` gets no score, and neither does consistency behind instructions, where this gain
    says how they are followed. A text that does not fit the context is read up to its end, without the ending where
    `plot` looks for it, so it has no score for `plot`.
    """

    model: "LanguageModel"
    true: Sequence[GradedText]
    """True endings, which should be none of the texts to be graded. Two of their prompts, those of middle length, are
    the other prompts."""
    precision: str = "float32"
    is_settled: bool = True
    name: str = ""
    elsewhere: list[str] = field(init=False, repr=False)
    """The other prompts."""
    _ranked: list[TextLikelihood] = field(default_factory=list, repr=False)
    """Of the true endings."""
    _others: dict[tuple[str, str, str], Float[np.ndarray, " true"]] = field(default_factory=dict, repr=False)
    """The margins of each prompt and its endings after the first sentences of the true endings (`stated`)."""
    failed: int = 0
    """Texts that could not be graded."""

    def __post_init__(self) -> None:
        self.name = self.name or f"{LIKELIHOOD} {name_of(self.model)}"
        prompts = sorted({text.prompt for text in self.true if text.prompt.strip()}, key=lambda one: (len(one), one))
        middle = max(0, (len(prompts) - OTHERS) // 2)
        self.elsewhere = prompts[middle : middle + OTHERS]

    def check(self, rubric: Rubric) -> None:
        """InputError if none of the rubric's axes has a measure, or if too few true endings are given for them."""
        ranked, judged = _measured(rubric)
        if not (ranked or judged):
            known = f"{', '.join(MEASURES)} and {', '.join(VERDICTS)}"
            raise InputError(f"{self.name} scores {known}; the rubric {rubric.name!r} has none of these.")
        if len(self.true) < LEAST:
            raise InputError(f"{len(self.true)} true endings to rank among are too few; give {LEAST} or more.")

    def grade(self, texts: Sequence[GradedText], rubric: Rubric, repetition: int = 0) -> list[Grade | Failure]:
        """The scores on the axes that have a measure. InputError as `check` has it."""
        self.check(rubric)
        ways = zip((self._ranks, self._verdicts), _measured(rubric), strict=True)
        found = [_joined(grades) for grades in zip(*(way(texts, axes) for way, axes in ways if axes), strict=True)]
        self.failed += sum(isinstance(one, Failure) for one in found)
        return found

    def grade_empty(self, text: GradedText, rubric: Rubric, repetition: int = 0) -> Grade:
        """The lowest score on the axes that have a measure."""
        return lowest(chain(*_measured(rubric)))

    def twins(self) -> Iterator["LikelihoodGrader"]:
        """Graders by the model's weights with their values in random order (`models.twins`), by the same endings."""
        for seed in range(TWINS):
            twin = Twin("permuted", seed)
            name = f"{twin} of {self.name.removeprefix(f'{LIKELIHOOD} ')}"
            yield LikelihoodGrader(twin.of(self.model), self.true, self.precision, name=name)

    def _ranks(self, texts: Sequence[GradedText], axes: Sequence[Axis]) -> list[Grade | Failure]:
        if not self._ranked:
            self._ranked = [one for one in self.read(self.true, "true endings") if one is not None]
        found = self.read(texts, f"grading by {self.name}")
        return [self._grade(axes, one) if one else Failure(TOO_LONG) for one in found]

    def _verdicts(self, texts: Sequence[GradedText], axes: Sequence[Axis]) -> list[Grade | Failure]:
        asked = [text for text in texts if can_be_judged(text)]
        unseen = sorted({(text.prompt, text.expected, text.rejected) for text in asked} - self._others.keys())
        compared = [
            GradedText(prompt, true.completion, expected=right, rejected=wrong)
            for prompt, right, wrong in unseen
            for true in self.true[:LEAST]
        ]
        found = margins(self.model, [*asked, *compared], precision=self.precision)
        rows = found[len(asked) :].reshape(-1, LEAST)
        self._others |= {key: row[np.isfinite(row)] for key, row in zip(unseen, rows, strict=True)}
        said = iter(found[: len(asked)].tolist())
        return [self._verdict(text, next(said), axes) if can_be_judged(text) else Failure(NO_ENDINGS) for text in texts]

    def _verdict(self, text: GradedText, margin: float, axes: Sequence[Axis]) -> Grade | Failure:
        others = self._others[text.prompt, text.expected, text.rejected]
        if math.isnan(margin) or RARE * (1 + len(others)) < 1:  # of so few none is rare
            return Failure("the context does not hold the prompt and the first sentence after it")
        return Grade({axis.name: 1 + verdict(margin, others) for axis in axes})

    def _grade(self, axes: Sequence[Axis], text: TextLikelihood) -> Grade:
        scores = {axis.name: self._score(axis, text) for axis in axes}
        return Grade({name: score for name, score in scores.items() if score is not None})

    def _score(self, axis: Axis, text: TextLikelihood) -> int | None:
        """The rank among the true endings; None where the text, or every true ending, has no measure."""
        common = [min(len(text.given), len(true.given)) for true in self._ranked]
        own = np.array([text.measure(axis.name, n) for n in common])
        true = np.array([one.measure(axis.name, n) for one, n in zip(self._ranked, common, strict=True)])
        known = int(np.isfinite(own - true).sum())
        below = float((own > true).sum() + (own == true).sum() / 2)
        return min(axis.top, 1 + int(axis.top * below / known)) if known else None

    def read(self, texts: Sequence[GradedText], what: str = "texts") -> list[TextLikelihood | None]:
        """What the model says of each text; None if the prompt fills its context."""
        own = self._after([text.prompt for text in texts], texts, what)
        others = [
            self._after([prompt] * len(texts), texts, f"{what} after another prompt {n}")
            for n, prompt in enumerate(self.elsewhere, 1)
        ]
        found: list[TextLikelihood | None] = []
        for i, (text, (given, end)) in enumerate(zip(texts, own, strict=True)):
            rows = [after[i][0] for after, prompt in zip(others, self.elsewhere, strict=True) if prompt != text.prompt]
            told = [row for row in rows if len(row)] if text.prompt.strip() else []
            known = min(map(len, told), default=0)
            elsewhere = np.mean([row[:known] for row in told], axis=0) if known else np.empty(0)
            found.append(TextLikelihood(given, elsewhere, end) if len(given) else None)
        return found

    def _after(
        self, prompts: Sequence[str], texts: Sequence[GradedText], what: str
    ) -> list[tuple[Float[np.ndarray, " token"], float | None]]:
        """The log-probabilities of each text's tokens after a prompt, as far as the context reaches, and that it ends
        the story; None where the context does not hold the whole."""
        tokenizer, context = story_tokenizer_of(self.model), spec_of(self.model, compressors=True).n_ctx
        endings = [_behind(prompt, text) for prompt, text in zip(prompts, texts, strict=True)]
        before = dict(zip(once := list(dict.fromkeys(prompts)), tokenizer.encode(once), strict=True))
        wholes = tokenizer.encode([prompt + ending for prompt, ending in zip(prompts, endings, strict=True)])
        starts = [first_of_ending(before[prompt], whole) for prompt, whole in zip(prompts, wholes, strict=True)]
        # One place more than the context: the last token is predicted and never fed.
        rows = [[*whole, tokenizer.eos][: context + 1] for whole in wholes]
        ends = tokenizer.ends
        read = token_log_probabilities(self.model, rows, precision=self.precision, what=what, ends=ends)
        found = []
        for one, whole, start in zip(read, wholes, starts, strict=True):
            said = one.numpy()
            size = len(whole[start : context + 1])
            found.append((said[start - 1 :][:size], float(said[-1]) if len(whole) < context + 1 else None))
        return found


def _behind(prompt: str, text: GradedText) -> str:
    """A continuation as it stands behind a prompt."""
    return (joint(text.completion) if prompt else "") + text.completion.rstrip()


def _measured(rubric: Rubric) -> tuple[list[Axis], list[Axis]]:
    """The axes whose scores are ranks, and those whose scores are verdicts."""
    told = any(axis.name == INSTRUCTIONS for axis in rubric.axes)
    ranked = [axis for axis in rubric.axes if axis.name in MEASURES and not (told and axis.name == "consistency")]
    return ranked, [axis for axis in rubric.axes if axis.values == VERDICTS]


def _joined(grades: Sequence[Grade | Failure]) -> Grade | Failure:
    """The scores of all grades of a text; a failure where every one is."""
    scores = {name: score for one in grades if isinstance(one, Grade) for name, score in one.scores.items()}
    return Grade(scores) if scores else grades[0]
