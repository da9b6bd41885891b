"""A grader that needs no key: a story model's own log-probabilities, ranked among those of true endings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from tslens import forward, progress
from tslens.errors import InputError
from tslens.evaluation.grading.graders import Failure, Grade
from tslens.evaluation.grading.rubrics import Axis, Rubric
from tslens.evaluation.grading.texts import GradedText
from tslens.models import name_of, spec_of, story_tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MEASURES = {
    "grammar": "log-probability of the least expected tenth of the tokens",
    "consistency": "how much more probable the prompt makes the continuation, per byte",
    "plot": "log-probability that the story ends where the continuation ends",
}
"""What stands for each axis. No log-probability stands for creativity, an age, or whether instructions are kept."""
LEAST = 40
"""True endings among which a text is ranked, at least."""


@dataclass
class LikelihoodGrader:
    """Scores a text by a loaded model's log-probabilities: its rank among the true endings of real stories, in ten
    equal classes for an axis of ten. It knows what is usual for the model's training stories, not what is good.

    The gain by the prompt is the pointwise mutual information per byte (compare Holtzman et al. 2021, arXiv
    2104.08315). An axis without a measure in `MEASURES` gets no score. A text that does not fit the context is read up
    to its end, without the ending where `plot` looks for it, so it has no score for `plot`.
    """

    model: "LanguageModel"
    true: Sequence[GradedText]
    """True endings, which should be none of the texts to be graded."""
    precision: str = "float32"
    is_settled: bool = True
    name: str = ""
    _ranked: dict[str, Float[np.ndarray, " ending"]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or f"likelihood of {name_of(self.model)}"
        if len(self.true) < LEAST:
            raise InputError(f"{len(self.true)} true endings to rank among are too few; give {LEAST} or more.")

    def grade(self, texts: Sequence[GradedText], rubric: Rubric, repetition: int = 0) -> list[Grade | Failure]:
        """The scores on the axes that have a measure. InputError if none of the rubric's has one."""
        axes = [axis for axis in rubric.axes if axis.name in MEASURES]
        if not axes:
            raise InputError(f"{self.name} scores {', '.join(MEASURES)}; the rubric {rubric.name!r} has none of these.")
        if not self._ranked:
            true = [self.measure(text) for text in progress.track(self.true, "true endings")]
            self._ranked = {name: np.sort([one[name] for one in true if name in one]) for name in MEASURES}
        found = [self.measure(text) for text in progress.track(texts, f"grading by {self.name}")]
        return [
            Grade({axis.name: self._score(axis, measured[axis.name]) for axis in axes if axis.name in measured})
            if measured
            else Failure("the prompt fills the model's context")
            for measured in found
        ]

    def _score(self, axis: Axis, value: float) -> int:
        true = self._ranked[axis.name]
        below = (np.searchsorted(true, value, "left") + np.searchsorted(true, value, "right")) / 2
        return min(axis.top, 1 + int(axis.top * below / len(true)))

    def measure(self, text: GradedText) -> dict[str, float]:
        """The measures of one text, higher is better; those that its length allows."""
        tokenizer, context = story_tokenizer_of(self.model), spec_of(self.model, compressors=True).n_ctx
        joint = "" if not text.prompt or text.completion[:1].isspace() else " "
        ending = joint + text.completion.rstrip()
        before, whole, alone = tokenizer.encode([text.prompt, text.prompt + ending, ending])
        start = next((i for i, (a, b) in enumerate(zip(before, whole, strict=False)) if a != b), len(before))
        # One place more than the context: the last token is predicted and never fed.
        given = self._log_probabilities([*whole, tokenizer.bos][: context + 1])[start - 1 :]
        fits, read = len(whole) < context + 1, whole[start : context + 1]
        if not read:
            return {}
        of_text = given[: len(read)]
        size = max(1, len(tokenizer.decode(read).encode()))
        gain = of_text.sum() - self._log_probabilities(alone[: len(read) + 1]).sum()
        least = np.sort(of_text)[: max(1, len(of_text) // 10)]
        found = {"grammar": float(least.mean()), "consistency": float(gain) / size}
        return found | ({"plot": float(given[-1])} if fits else {})

    def _log_probabilities(self, row: Sequence[int]) -> Float[np.ndarray, " token"]:
        dtype, device = forward.resolve_dtype(self.precision, self.model), next(self.model.parameters()).device
        losses = forward.token_losses(self.model, torch.tensor([list(row)], device=device), dtype=dtype)
        return -losses[0].double().cpu().numpy()
