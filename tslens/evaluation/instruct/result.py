"""The result of the instruct suite: what models write for instructions, beside what they write anyway."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.evaluation.bits import bits_per_byte
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LEAST = 3  # instructions for an interval
Comparison = tuple[str, str, str | None, str, Callable[..., stats.Interval]]
"""Model, measure, group, what is compared, and how, at a `level`."""


@dataclasses.dataclass(frozen=True, eq=False)
class InstructResult(Result):
    """Scores by rule of what models wrote for instructions. Every instruction counts once, with the mean over its
    stories, so intervals are over instructions. A score is NaN where the instruction does not ask for the measure."""

    frame_axes: ClassVar[tuple[str, ...]] = ("model", "instruction", "measure")
    axis_names: ClassVar[Mapping[str, str]] = {"model": "models", "measure": "measures"}

    models: list[str]
    measures: list[str]
    """The rules (`rules.MEASURES`)."""
    groups: list[str]
    """How instructions relate to the first model's training (`seen.GROUPS`)."""
    instructions: list[str]
    stories: list[list[str]]
    """Of each model, the stories of every instruction, `samples` of one after those of another: for graders."""
    samples: int
    left_out: int
    """Instructions that no rule can score, or too long for a context."""
    score: Float[Tensor, "model instruction measure"]
    """Mean score of the stories that were written for the instruction, from 0 to 1."""
    other: Float[Tensor, "model instruction measure"]
    """Mean score of stories that the same model wrote for other instructions: what it writes anyway."""
    free: Float[Tensor, "model instruction measure"]
    """Mean score of stories that the same model wrote without an instruction."""
    group: Int[Tensor, " instruction"]
    """The group of each instruction."""
    story_log_probability: Float[Tensor, "reader story"] = dataclasses.field(
        default_factory=lambda: torch.empty(0, 0, dtype=torch.float64), kw_only=True
    )
    """Of the true story behind the instruction, in nats; NaN where a context is too short for both."""
    story_bytes: Int[Tensor, " story"] = dataclasses.field(
        default_factory=lambda: torch.empty(0, dtype=torch.int64), kw_only=True
    )
    """UTF-8 bytes of that story."""

    def score_of(self, model: str, measure: str, group: str | None = None) -> stats.Interval:
        """The mean score over instructions, with Wilson's 95% interval at as many instructions as its variance says."""
        return stats.mean_share(self._rows(self.score, model, measure, group))

    def gain(self, model: str, measure: str, group: str | None = None, null: str = "other") -> stats.Interval:
        """Score less what the same model writes anyway (`other`), or without instruction (`free`); paired. A story
        stands for several other instructions, which makes the interval of the first longer than it need be."""
        gains = self._rows(self.score - getattr(self, null), model, measure, group)
        return stats.share_difference(gains).within(-1, 1)

    def difference(
        self, model: str, than: str, measure: str, group: str | None = None, level: float = 0.95
    ) -> stats.Interval:
        """The gain of a model less that of another on the same instructions; paired."""
        one, two = (self._gains(name, measure, group) for name in (model, than))
        return stats.share_difference(one - two, level=level).within(-2, 2)

    def lost(
        self, model: str, measure: str, group: str = "held out", than: str = "seen together", level: float = 0.95
    ) -> stats.Interval:
        """The gain on instructions of a group less that on those of another, with Welch's interval."""
        one, two = (self._gains(model, measure, name) for name in (group, than))
        return stats.share_difference(one, two, level).within(-2, 2)

    def _gains(self, model: str, measure: str, group: str | None) -> np.ndarray:
        return self._rows(self.score - self.other, model, measure, group)

    def _rows(self, values: Tensor, model: str, measure: str, group: str | None) -> np.ndarray:
        """The values of a model and a measure, of the instructions of a group that ask for the measure."""
        found = values[self.models.index(model), :, self.measures.index(measure)].double().numpy()
        asks = ~np.isnan(found)
        if group is not None:
            asks &= self.group.numpy() == self.groups.index(group)
        chosen: np.ndarray = found[asks]
        return chosen

    def count(self, measure: str, group: str | None = None) -> int:
        """The instructions of a group that ask for a measure."""
        return len(self._rows(self.score, self.models[0], measure, group))

    def headline(self) -> str:
        """How far the first model follows instructions beyond what it writes anyway, by measure."""
        model, asked = self.models[0], [name for name in self.measures if self.count(name) >= LEAST]
        found = [(name, self.gain(model, name)) for name in asked]
        each = ", ".join(f"{name} {one.said('+.2f')}" for name, one in found)
        return f"{model}, beyond what it writes for other instructions: {each or 'too few instructions to tell'}."

    def summary(self) -> "pd.DataFrame":
        """By group and measure: scores, gains, what is lost against seen combinations, differences of models. Intervals
        of the last two, which compare, are 95% together (Bonferroni)."""
        import pandas as pd

        compared = [row for group in (None, *self.groups) for row in self._compared(group)]
        level = 1 - 0.05 / max(len(compared), 1)
        rows: list[dict[str, object]] = []

        def add(model: str, measure: str, group: str | None, what: str, found: stats.Interval) -> None:
            n, ends = self.count(measure, group), {"value": found.estimate, "low": found.low, "high": found.high}
            rows.append({"model": model, "measure": measure, "group": group or "all", "n": n, "what": what} | ends)

        for group in (None, *self.groups):
            for measure in self.measures:
                for model in self.models if self.count(measure, group) >= LEAST else ():
                    add(model, measure, group, "score", self.score_of(model, measure, group))
                    add(model, measure, group, "beyond other instructions", self.gain(model, measure, group))
                    add(model, measure, group, "beyond no instruction", self.gain(model, measure, group, "free"))
        for group in (None, *self.groups):
            rows += self._bits(group)
        for model, measure, group, what, difference in compared:
            add(model, measure, group, what, difference(level=level))
        return pd.DataFrame(rows, columns=["model", "measure", "group", "n", "what", "value", "low", "high"])

    def _bits(self, group: str | None) -> Iterator[dict[str, object]]:
        """Bits per byte of the true stories of a group under each model, given their instructions."""
        chosen = self.group.numpy() == self.groups.index(group) if group else np.ones(len(self.group), dtype=bool)
        for model, row in zip(self.models, self.story_log_probability.double().numpy(), strict=False):
            values, sizes = row[chosen], self.story_bytes.numpy()[chosen]
            if (n := int((~np.isnan(values)).sum())) >= LEAST:
                found = bits_per_byte(values, sizes, np.arange(len(sizes)))
                of = {"model": model, "measure": "true story", "group": group or "all", "n": n, "what": "bits per byte"}
                yield of | {"value": found.estimate, "low": found.low, "high": found.high}

    def _compared(self, group: str | None) -> Iterator[Comparison]:
        """What is compared in a group."""
        first, seen = self.models[0], self.groups[0]
        for measure in self.measures:
            if self.count(measure, group) < LEAST:
                continue
            for model in self.models:
                if group in self.groups[1:3] and self.count(measure, seen) >= LEAST:
                    yield model, measure, group, "less seen together", partial(self.lost, model, measure, group, seen)
                if model != first:
                    gain = partial(self.difference, model, first, measure, group)
                    yield model, measure, group, f"gain less {first}'s", gain

    def figure(self) -> "Figure":
        """Each model's score by measure and group with its interval; the mark is what it writes anyway."""
        from tslens import plots

        names, found, marks = [], [], []
        for group in (None, *self.groups):
            for measure in self.measures:
                for model in self.models if self.count(measure, group) >= LEAST else ():
                    names.append(f"{model}, {measure}, {group or 'all'} ({self.count(measure, group)})")
                    found.append(self.score_of(model, measure, group))
                    marks.append(self._rows(self.other, model, measure, group).mean())
        return plots.bars(
            names,
            np.array([each.estimate for each in found]),
            low=np.array([each.low for each in found]),
            high=np.array([each.high for each in found]),
            baseline=np.array(marks),
            title=f"What {len(self.instructions)} instructions asked for (mark: for other instructions)",
            x_label="score (95% interval over instructions)",
        )

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"table": json.loads(self.to_frame().to_json(orient="records"))}
