"""The scores that one grader gave to texts and to the controls among them."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.evaluation.grading.graders import rehearses
from tslens.evaluation.grading.texts import GradedText
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INTACT = "true ending"
"""The control that others are compared with; of a suite, the right continuation that the suite gives."""
ROUNDING = 1 / 12
"""Variance of a score at least, because it is rounded to a whole number: few equal scores are not known any better."""


@dataclass(frozen=True, eq=False)
class GradesResult(Result):
    """Scores of texts by one grader and one rubric. A text that could not be graded has none (NaN), and is listed."""

    frame_axes: ClassVar[tuple[str, ...]] = ("text",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"axis": "axes"}

    grader: str
    rubric: str
    axes: list[str]
    tops: list[int]
    """The highest score of each axis; the lowest is 1."""
    models: list[str]
    """Who wrote each text; empty for a control."""
    prompts: list[str]
    completions: list[str]
    kinds: list[str]
    """Empty for a text, else which control it is: the true ending, a damage, or orders to the grader."""
    story: Int[Tensor, " text"]
    """Of a control, the number of the story it is made of; -1 for a text."""
    score: Float[Tensor, "text axis repetition"]
    twins: Float[Tensor, "twin text axis"]
    """The scores that untrained twins of the grader give the controls, NaN elsewhere; no twin where none was asked."""
    failures: list[str]
    """The texts without any score, by number, and why."""
    trust: dict[str, str]
    """For each axis whether the controls say to believe this grader on it."""
    usd: float = 0.0
    """What the answers of this call cost, those lost on the way counted at their worst case; none for cached ones."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether the grader's server is on this machine, so that the scores are no findings."""
        return rehearses(self.grader)

    def of(self, kind: str = "") -> list[int]:
        """The texts of a kind."""
        return [i for i, name in enumerate(self.kinds) if name == kind]

    def first(self, axis: str) -> Float[np.ndarray, " text"]:
        """The scores of an axis, each text's first grading."""
        return np.asarray(self.score[:, self.axes.index(axis), 0])

    def of_texts(self, texts: Sequence[GradedText]) -> Float[np.ndarray, "text axis"]:
        """The first scores of these texts, in their order; texts that are alike keep the order of their grading."""
        given = defaultdict[tuple[str, str, str], list[int]](list)
        for i in self.of():
            given[self.models[i], self.prompts[i], self.completions[i]].append(i)
        found = [given[text.model, text.prompt, text.completion].pop(0) for text in texts]
        return np.asarray(self.score[found, :, 0])

    def writers(self) -> list[str]:
        """The models that wrote texts, by name."""
        return sorted({self.models[i] for i in self.of()})

    def mean(self, model: str, axis: str) -> stats.Interval:
        """A model's mean score with its 95% interval, by prompt and within the scale; NaN bounds for one prompt."""
        scores = self.first(axis)
        own = [i for i in self.of() if self.models[i] == model and not math.isnan(scores[i])]
        if not own:
            return stats.Interval(math.nan, math.nan, math.nan, 0.95, "no score")
        _, prompt = np.unique([self.prompts[i] for i in own], return_inverse=True)
        rounding = math.sqrt(ROUNDING / len(own))
        found = stats.ratio_of_sums(np.bincount(prompt, scores[own]), np.bincount(prompt), least_error=rounding)
        return found.within(1, self.tops[self.axes.index(axis)])

    def summary(self) -> "pd.DataFrame":
        """One row for each model and axis: the mean with its interval, and whether the grader is to be believed."""
        import pandas as pd

        rows = []
        for model in self.writers():
            own = [i for i in self.of() if self.models[i] == model]
            for axis in self.axes:
                mean, graded = self.mean(model, axis), int(np.isfinite(self.first(axis)[own]).sum())
                row = (model, axis, mean.estimate, mean.low, mean.high, graded, len(own) - graded, self.trust[axis])
                rows.append(row)
        columns = ["model", "axis", "mean", "low", "high", "texts", "without_score", "grader_is"]
        return pd.DataFrame(rows, columns=columns)

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per text and control, with its scores; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        frame["grader"], frame["model"], frame["kind"] = self.grader, self.models, self.kinds
        for i, axis in enumerate(self.axes):
            for repetition in range(self.score.shape[2]):
                name = axis if repetition == 0 else f"{axis}, again"
                frame[name] = self.score[:, i, repetition].numpy()
        return frame.assign(prompt=self.prompts, completion=self.completions)

    def figure(self) -> "Figure":
        """Mean scores with their intervals, by axis and model; in brackets where the grader is not trusted."""
        from tslens import plots

        table = self.summary()
        marks = ["" if told == "trusted" else f" ({told})" for told in table["grader_is"]]
        names = [f"{a}: {m}{t}" for a, m, t in zip(table["axis"], table["model"], marks, strict=True)]
        order = np.argsort([self.axes.index(axis) for axis in table["axis"]], kind="stable")
        values = table[["mean", "low", "high"]].to_numpy()[order]
        low, high = (np.where(np.isnan(values[:, i]), values[:, 0], values[:, i]) for i in (1, 2))
        label = f"score by {self.grader}, mean with 95% interval over prompts"
        return plots.bars([names[i] for i in order], values[:, 0], low=low, high=high, title=self.rubric, x_label=label)

    def __str__(self) -> str:
        heading = "A rehearsal, no finding. " if self.is_rehearsal else ""
        lines = [f"{heading}Scores by {self.grader}, rubric {self.rubric}", super().__str__()]
        if self.failures:
            lines.append(f"{len(self.failures)} texts could not be graded: " + "; ".join(self.failures[:5]))
        return "\n".join(lines)
