"""Scores that a grader gives to what models wrote for instructions, beside the scores by rule."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.evaluation.grading.controls import ControlText
from tslens.evaluation.grading.grade import grade
from tslens.evaluation.grading.graders import Grader, rehearses
from tslens.evaluation.grading.result import ROUNDING, GradesResult
from tslens.evaluation.grading.rubrics import rubric
from tslens.evaluation.grading.texts import GradedText
from tslens.evaluation.instruct.result import LEAST, InstructResult
from tslens.evaluation.instruct.seen import HELD_OUT, NOT_SEEN, SEEN
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RUBRIC = "instructions"
FOLLOWED = "instructions"
"""The axis of the rubric that asks what the rules ask: how much of the instruction the story does."""
CORRELATED = 10  # instructions for a correlation
GROUPS = 50  # groups of instructions that the jackknife leaves out one after the other, at most


@dataclasses.dataclass(frozen=True, eq=False)
class InstructGradesResult(Result):
    """Scores by a grader of what models wrote for instructions, beside the scores by rule. Every instruction counts
    once, with the mean over its stories that have a score, so intervals are over instructions."""

    frame_axes: ClassVar[tuple[str, ...]] = ("model", "instruction")
    axis_names: ClassVar[Mapping[str, str]] = {"model": "models", "axis": "axes", "measure": "measures"}

    grader: str
    models: list[str]
    axes: list[str]
    measures: list[str]
    """The rules (`rules.MEASURES`)."""
    groups: list[str]
    """How instructions relate to the first model's training (`seen.GROUPS`)."""
    instructions: list[str]
    group: Int[Tensor, " instruction"]
    """The group of each instruction."""
    score: Float[Tensor, "model instruction axis"]
    """Mean score by the grader, from 1; NaN where no story of the instruction has one."""
    rule: Float[Tensor, "model instruction measure"]
    """Mean score by rule of the instruction's stories, from 0 to 1; NaN where the instruction does not ask for it."""
    without_score: Int[Tensor, "model instruction"]
    """Stories of the instruction that the grader gave no score at all."""
    failures: list[str]
    """The texts without any score, by number, and why."""
    trust: dict[str, str]
    """For each axis whether the controls say to believe this grader on it."""
    usd: float = 0.0
    """What the answers of this call cost, as `GradesResult.usd`."""

    def score_of(self, model: str, axis: str, group: str | None = None) -> stats.Interval:
        """The mean score over the instructions of a group, with Student's 95% interval, which ends at the lowest."""
        found = _mean(self._scores(model, axis)[self._in(group)])
        return found.within(1, math.inf)

    def lost(
        self, model: str, axis: str, group: str = HELD_OUT, than: str = SEEN, level: float = 0.95
    ) -> stats.Interval:
        """The mean score on instructions of a group less that on those of another, with Welch's interval."""
        one, two = (_known(self._scores(model, axis)[self._in(name)]) for name in (group, than))
        return stats.welch(one, two, level, least_error=math.sqrt(ROUNDING / len(one) + ROUNDING / len(two)))

    def difference(
        self, model: str, than: str, axis: str, group: str | None = None, level: float = 0.95
    ) -> stats.Interval:
        """The score of a model less that of another, paired by instruction."""
        return _mean((self._scores(model, axis) - self._scores(than, axis))[self._in(group)], 2, level)

    def pairs(self, model: str, measure: str, group: str | None = None) -> Float[np.ndarray, "instruction side"]:
        """The score on following the instructions and the score by a rule, of every instruction that has both."""
        rule = self.rule[self.models.index(model), :, self.measures.index(measure)].double().numpy()
        both = np.stack([self._scores(model, FOLLOWED), rule], 1)[self._in(group)]
        kept: np.ndarray = both[np.isfinite(both).all(1)]
        return kept

    def _scores(self, model: str, axis: str) -> np.ndarray:
        found: np.ndarray = self.score[self.models.index(model), :, self.axes.index(axis)].double().numpy()
        return found

    def _in(self, group: str | None) -> np.ndarray:
        """Whether each instruction is of the group."""
        own = np.ones(len(self.instructions), dtype=bool)
        return own if group is None else self.group.numpy() == self.groups.index(group)

    def summary(self) -> "pd.DataFrame":
        """By group: scores by axis, what is lost against seen combinations, differences of models, and, for the same
        instructions, each rule's score and its rank correlation with the score on following them. Intervals of what is
        lost and of differences are 95% together (Bonferroni)."""
        import pandas as pd

        places = [(axis, group) for group in (None, *self.groups) for axis in self.axes]
        compared = sum(row[4] != "score" for place in places for row in self._rows(*place))
        level = 1 - 0.05 / max(compared, 1)
        rows = [row for place in places for row in self._rows(*place, level)]
        rows += [row for group in (None, *self.groups) for row in self._beside_rules(group)]
        found = [(m, a, g or "all", n, what, s.estimate, s.low, s.high, self.trust[a]) for m, a, g, n, what, s in rows]
        columns = ["model", "axis", "group", "n", "what", "value", "low", "high", "grader_is"]
        return pd.DataFrame(found, columns=columns)

    def _rows(self, axis: str, group: str | None, level: float = 0.95) -> "Iterator[_Row]":
        """The rows of an axis in a group, comparisons at this level; none for too few instructions."""
        counts = {(model, name): self._count(model, axis, name) for model in self.models for name in (group, SEEN)}
        for model in self.models:
            n = counts[model, group]
            if n < LEAST:
                continue
            yield model, axis, group, n, "score", self.score_of(model, axis, group)
            if group in (NOT_SEEN, HELD_OUT) and counts[model, SEEN] >= LEAST:
                yield model, axis, group, n, "less seen together", self.lost(model, axis, group, level=level)
            first = self.models[0]
            both = int(np.isfinite((self._scores(model, axis) - self._scores(first, axis))[self._in(group)]).sum())
            if model != first and both >= LEAST:
                less = self.difference(model, first, axis, group, level)
                yield model, axis, group, both, f"score less {first}'s", less

    def _beside_rules(self, group: str | None) -> "Iterator[_Row]":
        """The rows that put rules beside the score on following instructions."""
        for measure in self.measures:
            for model in self.models:
                pairs = self.pairs(model, measure, group)
                if (n := len(pairs)) >= CORRELATED:
                    yield model, FOLLOWED, group, n, f"by rule: {measure}", stats.mean_share(pairs[:, 1])
                    yield model, FOLLOWED, group, n, f"rank correlation with {measure}", rank_correlation(pairs)

    def _count(self, model: str, axis: str, group: str | None) -> int:
        return len(_known(self._scores(model, axis)[self._in(group)]))

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row for each model and instruction: its group, its scores by axis and by rule, the instruction; with
        `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        each = len(self.models)
        frame.insert(2, "group", [self.groups[i] for i in self.group] * each)
        for names, values in ((self.axes, self.score), (self.measures, self.rule)):
            by = "" if names is self.axes else "by rule: "
            for i, name in enumerate(names):
                frame[f"{by}{name}"] = values[:, :, i].flatten().numpy()
        return frame.assign(text=self.instructions * each)

    def figure(self) -> "Figure":
        """Each model's score by axis and group with its interval; in brackets where the grader is not trusted."""
        from tslens import plots

        table = self.summary()
        table = table[table["what"] == "score"]
        told = ["" if said == "trusted" else f", {said}" for said in table["grader_is"]]
        parts = zip(table["model"], table["axis"], table["group"], table["n"], told, strict=True)
        names = [f"{model}, {axis}, {group} ({n}{said})" for model, axis, group, n, said in parts]
        values, low, high = (table[name].to_numpy() for name in ("value", "low", "high"))
        label = f"score by {self.grader} (95% interval over instructions)"
        return plots.bars(names, values, low=low, high=high, title=RUBRIC, x_label=label)

    def __str__(self) -> str:
        heading = "A rehearsal, no finding. " if rehearses(self.grader) else ""
        lines = [f"{heading}Scores by {self.grader}, rubric {RUBRIC}", super().__str__()]
        if self.failures:
            lines.append(f"{len(self.failures)} texts could not be graded: " + "; ".join(self.failures[:5]))
        return "\n".join(lines)


_Row = tuple[str, str, str | None, int, str, stats.Interval]
"""Model, axis, group, instructions, what the row says, and its value."""


def _known(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = values[np.isfinite(values)]
    return found


def _mean(values: np.ndarray, sides: int = 1, level: float = 0.95) -> stats.Interval:
    """The mean of what is known, with the variance of `sides` rounded scores at least."""
    known = _known(values)
    if len(known) < 2:
        return stats.Interval(math.nan, math.nan, math.nan, level, "too few scores")
    return stats.mean_interval(known, level, least_error=math.sqrt(sides * ROUNDING / len(known)))


def rank_correlation(pairs: Float[np.ndarray, "row side"]) -> stats.Interval:
    """Spearman's rank correlation of two columns with the jackknife's 95% interval over rows, within -1 and 1; NaN
    where a column does not vary."""
    group = np.arange(len(pairs)) % GROUPS
    found = stats.jackknife(_spearman(pairs), [_spearman(pairs[group != out]) for out in range(group.max() + 1)])
    low, high = np.clip([found.low, found.high], -1, 1).tolist()
    return stats.Interval(found.estimate, low, high, found.level, found.method)


def _spearman(pairs: Float[np.ndarray, "row side"]) -> float:
    from scipy.stats import rankdata

    a, b = (rankdata(side) - (len(pairs) + 1) / 2 for side in pairs.T)
    norm = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / norm if norm > 0 else math.nan


def texts_of(result: InstructResult) -> list[GradedText]:
    """What models wrote for the instructions, by model and instruction."""
    prompts = [prompt for prompt in result.instructions for _ in range(result.samples)]
    return [
        GradedText(prompt, story, model)
        for model, stories in zip(result.models, result.stories, strict=True)
        for prompt, story in zip(prompts, stories, strict=True)
    ]


def graded(
    result: InstructResult, grader: Grader, controls: Sequence[ControlText], *, again: int = 0, seed: int = 0
) -> tuple[InstructGradesResult, GradesResult]:
    """A grader's scores of what models wrote for instructions, beside the rules' scores and what its controls say of
    it; and the grades of every text and control. The controls are stories behind instructions: as they were written,
    damaged, and written for another instruction (`controls.true_stories`, `controls.controls`). `again` texts are
    graded a second time, which tells how far the grader agrees with itself (`grading.agreement`), and count once."""
    texts = texts_of(result)
    grades = grade(texts, grader, rubric(RUBRIC), controls, again=again, seed=seed)
    shape = (len(result.models), len(result.instructions), result.samples, len(grades.axes))
    scores = torch.from_numpy(grades.of_texts(texts)).reshape(shape)
    found = InstructGradesResult(
        grader=grader.name,
        models=result.models,
        axes=grades.axes,
        measures=result.measures,
        groups=result.groups,
        instructions=result.instructions,
        group=result.group,
        score=scores.nanmean(2),
        rule=result.score,
        without_score=scores.isnan().all(3).sum(2),
        failures=grades.failures,
        trust=grades.trust,
        usd=grades.usd,
        corpus=result.corpus,
    )
    return found, grades
