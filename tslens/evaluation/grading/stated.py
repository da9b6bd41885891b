"""Which ending a continuation states, by a story model's log-probabilities: fail, partial or success."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from tslens.evaluation.grading.texts import BETWEEN, GradedText
from tslens.evaluation.lines import ending_log_probabilities
from tslens.evaluation.scores import EVEN, FAIL, PARTIAL, SUCCESS
from tslens.stories.sentences import sentences

if TYPE_CHECKING:
    from tslens.models import LanguageModel


class StatedEndings(NamedTuple):
    """The largest log-probability of a right and of a wrong ending of a text's prompt, in nats."""

    before: Float[np.ndarray, " side"]
    """After the prompt."""
    after: Float[np.ndarray, " side"]
    """After the prompt, the first sentence of the continuation and the prompt's last sentence once more."""

    @property
    def verdict(self) -> int:
        """Success if the right ending is at least twice as probable as the wrong one after the continuation, and more
        probable than before it; fail if that holds of the wrong ending; else partial."""
        margin, (right_gains, wrong_gains) = self.after[0] - self.after[1], self.after > self.before
        if margin >= EVEN and right_gains:
            return SUCCESS
        return FAIL if margin <= -EVEN and wrong_gains else PARTIAL


def can_be_judged(text: GradedText) -> bool:
    """Whether a text comes with a prompt that has right and wrong endings."""
    return bool(text.prompt.strip() and text.expected and text.rejected)


def stated_endings(
    model: "LanguageModel", texts: Sequence[GradedText], *, precision: str = "float32"
) -> list[StatedEndings | None]:
    """What the model expects of each text's endings before and after the continuation; None where the context does not
    hold them.

    The model is asked a cloze question, the prompt's last sentence, which it has just read with the continuation: small
    models repeat what they have read (induction, Olsson et al. 2022, arXiv 2209.11895). A continuation in other words
    counts as far as they make the right ending probable. Exchanging right and wrong endings exchanges success and fail.
    """
    asked: list[tuple[str, str]] = []
    sizes = []
    for text in texts:
        sides = [said.split(BETWEEN) for said in (text.expected, text.rejected)]
        contexts = (text.prompt, f"{text.prompt} {_first_sentence(text)} {sentences(text.prompt)[-1]}")
        asked += [(context, f" {ending}") for context in contexts for side in sides for ending in side]
        sizes += [len(side) for _ in contexts for side in sides]
    once = list(dict.fromkeys(asked))  # several texts have the same prompt
    said = dict(zip(once, ending_log_probabilities(model, once, precision=precision), strict=True))
    found = np.split(np.array([said[one] for one in asked]), np.cumsum(sizes)[:-1])
    best = np.array([values.max() for values in found]).reshape(-1, 2, 2)
    return [StatedEndings(*one) if np.isfinite(one).all() else None for one in best]


def _first_sentence(text: GradedText) -> str:
    said = sentences(text.completion)[0]
    return said if said[-1] in '.!?"”' else f"{said}."
