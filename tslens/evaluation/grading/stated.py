"""Which ending a continuation states, by a story model's log-probabilities: fail, partial or success."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from tslens.evaluation.grading.texts import GradedText, joint
from tslens.evaluation.lines import ending_log_probabilities
from tslens.evaluation.scores import FAIL, PARTIAL, SUCCESS
from tslens.evaluation.suites import BETWEEN
from tslens.stories.sentences import sentences

if TYPE_CHECKING:
    from tslens.models import LanguageModel

RARE = 0.05
"""A margin is surprising that no more of the sentences reach that have nothing to do with the prompt."""


def can_be_judged(text: GradedText) -> bool:
    """Whether a text comes with a prompt that has right and wrong endings."""
    return bool(text.prompt.strip() and endings(text.expected) and endings(text.rejected))


def verdict(margin: float, others: Float[np.ndarray, " other"]) -> int:
    """Success for a margin that hardly any of the others reaches, fail for one that hardly any falls to, else partial.

    By the permutation p-value on each side (Phipson and Smyth 2010, doi:10.2202/1544-6115.1585), at most `RARE`: of
    sentences that have nothing to do with the prompt so many are called a success, and as many a fail.
    """
    above, below = ((1 + int(hits.sum())) / (1 + len(others)) for hits in (others >= margin, others <= margin))
    return SUCCESS if above <= RARE else FAIL if below <= RARE else PARTIAL


def margins(
    model: "LanguageModel", texts: Sequence[GradedText], *, precision: str = "float32"
) -> Float[np.ndarray, " text"]:
    """How much more probable the best right ending of each text is than the best wrong one, in nats, after the first
    sentence of the continuation; NaN where the context does not hold them.

    The model is asked a cloze question: the prompt's last sentence once more, which it has just read with the
    continuation. Small models repeat what they have read (induction, Olsson et al. 2022, arXiv 2209.11895). Exchanging
    right and wrong endings changes the sign.
    """
    asked: list[tuple[str, str]] = []
    sizes = []
    for text in texts:
        prompt = text.prompt.rstrip()
        context = f"{prompt}{_first_sentence(text.completion)} {sentences(prompt)[-1]}"
        sides = [endings(said) for said in (text.expected, text.rejected)]
        asked += [(context, f" {ending}") for side in sides for ending in side]
        sizes += [len(side) for side in sides]
    once = list(dict.fromkeys(asked))
    said = dict(zip(once, ending_log_probabilities(model, once, precision=precision), strict=True))
    best = [max(values, default=0.0) for values in _split([said[one] for one in asked], sizes)]
    found: np.ndarray = -np.diff(np.array(best).reshape(-1, 2))[:, 0]
    return found


def _split(values: Sequence[float], sizes: Sequence[int]) -> list[list[float]]:
    """Consecutive values in groups of these sizes; one with a NaN is NaN alone."""
    ends = np.cumsum(sizes)
    groups = [list(values[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    return [[np.nan] if np.isnan(group).any() else group for group in groups]


def endings(said: str) -> tuple[str, ...]:
    """The endings of a text that are given together."""
    return tuple(ending.strip() for ending in said.split(BETWEEN) if ending.strip())


def _first_sentence(completion: str) -> str:
    """The first sentence that has a letter, as it goes on after the prompt, with a full stop if it has no end."""
    told = [one for one in sentences(completion) if any(sign.isalpha() for sign in one)]
    said = told[0] if told else completion.strip()
    return f"{joint(said)}{said}{'.' if said[-1:].isalnum() else ''}"
