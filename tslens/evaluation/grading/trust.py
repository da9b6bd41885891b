"""Whether a grader is to be believed: its scores of the controls among the texts, and those of its untrained twins."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.evaluation.grading.controls import LEAST, ORDERS
from tslens.evaluation.grading.result import INTACT, ROUNDING, GradesResult
from tslens.evaluation.grading.rubrics import DAMAGED, WRONG, Axis, Rubric
from tslens.result import Result
from tslens.stats import Interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RAISED = 0.1
"""Of the highest score of an axis: a rise by orders in a text that the interval of a trusted grader excludes."""
TOLD = 0.5
"""Of the grader's mean difference: what a twin must reach on every damage, with its interval above zero, to tell it."""
TRUSTED, UNTRUSTWORTHY, UNTESTED = "trusted", "untrustworthy", "no control"


class ControlRow(NamedTuple):
    """A control and an axis, as in `ControlsResult`."""

    damage: str
    axis: str
    decides: bool
    intact: Interval
    damaged: Interval
    difference: Interval
    stories: int


@dataclass(frozen=True, eq=False)
class ControlsResult(Result):
    """Paired differences of scores, true ending minus damaged or wrong one, by damage and axis. A grader is trusted on
    an axis only if at least 20 stories have both scores for every damage that hits the axis, the 95% interval of each
    damage lies above zero, that of orders in a text excludes a rise by a tenth of the scale, and none of the grader's
    untrained twins tells the same damages (`TOLD`). Else it is untrustworthy on this axis. What no damage hits cannot
    be proved: there the axis has no control."""

    frame_axes: ClassVar[tuple[str, ...]] = ("pair",)
    essential: ClassVar[tuple[str, ...]] = ("damage", "axis", "decides", "difference", "low", "high", "stories")

    grader: str
    damages: list[str]
    axes: list[str]
    decides: list[bool]
    """Whether the damage hits the axis, by the rubric."""
    intact: Float[Tensor, " pair"]
    """Mean score of the true or right endings; of orders, of the same texts without them. From 1 to the axis's top."""
    intact_low: Float[Tensor, " pair"]
    intact_high: Float[Tensor, " pair"]
    damaged: Float[Tensor, " pair"]
    """Mean score of the damaged or wrong ones."""
    damaged_low: Float[Tensor, " pair"]
    damaged_high: Float[Tensor, " pair"]
    difference: Float[Tensor, " pair"]
    low: Float[Tensor, " pair"]
    high: Float[Tensor, " pair"]
    stories: Int[Tensor, " pair"]
    highest_twin: Float[Tensor, " pair"]
    """The largest mean difference of an untrained twin; NaN where none was asked."""
    trust: dict[str, str]
    """For each axis: trusted, untrustworthy with the faults in brackets, or no control."""

    def summary(self) -> "pd.DataFrame":
        """One row for each damage and axis; `decides` where the damage hits the axis, `highest_twin` where twins were
        asked."""
        frame = self.to_frame().drop(columns="pair")
        return frame if torch.isfinite(self.highest_twin).any() else frame.drop(columns="highest_twin")

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row for each damage and axis; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        for place, (name, values) in enumerate(
            {"damage": self.damages, "axis": self.axes, "decides": self.decides}.items(), 1
        ):
            frame.insert(place, name, values)
        return frame

    def figure(self) -> "Figure":
        """Each difference with its interval, and the highest of untrained twins; those that decide are marked. Without
        any control all are empty."""
        from tslens import plots

        kept = torch.isfinite(self.difference)
        kept = kept if kept.any() else ~kept
        names = [
            f"{axis}: {damage}{' *' if decides else ''}"
            for damage, axis, decides, shown in zip(self.damages, self.axes, self.decides, kept, strict=True)
            if shown
        ]
        low, high = (torch.where(torch.isfinite(v), v, self.difference)[kept].numpy() for v in (self.low, self.high))
        label = "score of the true ending less that of the damaged or wrong one; * decides"
        twins = self.highest_twin[kept].numpy() if torch.isfinite(self.highest_twin).any() else None
        if twins is not None:
            label += "\nmark: the highest of its untrained twins"
        return plots.bars(
            names, self.difference[kept].numpy(), low=low, high=high, baseline=twins, title=self.grader, x_label=label
        )

    def headline(self) -> str:
        """Whether the grader is to be believed, by axis."""
        return f"Controls of {self.grader}: {', '.join(f'{axis} {said}' for axis, said in self.trust.items())}."


def controlled(grades: GradesResult, rubric: Rubric) -> ControlsResult:
    """What the controls among the texts say of the grader. The interval is Student's over stories."""
    rows = _rows(grades, rubric)
    trust = {axis.name: _trust(rows, axis) for axis in rubric.axes}
    twins = [_rows(replace(grades, score=scores[..., None]), rubric) for scores in grades.twins]
    for axis in rubric.axes:
        tell = sum(_tells_too(rows, of_twin, axis) for of_twin in twins)
        if tell and trust[axis.name] == TRUSTED:
            trust[axis.name] = f"{UNTRUSTWORTHY} ({tell} of {len(twins)} untrained twins tell it too)"

    differences = [[of_twin[i].difference.estimate for of_twin in twins] for i in range(len(rows))]
    by_twins = [[one for one in of_row if not math.isnan(one)] for of_row in differences]

    def column(name: str, end: str = "estimate") -> Tensor:
        return torch.tensor([getattr(getattr(row, name), end) for row in rows], dtype=torch.float64)

    return ControlsResult(
        grader=grades.grader,
        damages=[row.damage for row in rows],
        axes=[row.axis for row in rows],
        decides=[row.decides for row in rows],
        intact=column("intact"),
        intact_low=column("intact", "low"),
        intact_high=column("intact", "high"),
        damaged=column("damaged"),
        damaged_low=column("damaged", "low"),
        damaged_high=column("damaged", "high"),
        difference=column("difference"),
        low=column("difference", "low"),
        high=column("difference", "high"),
        stories=torch.tensor([row.stories for row in rows], dtype=torch.int64),
        highest_twin=torch.tensor([max(known, default=math.nan) for known in by_twins], dtype=torch.float64),
        trust=trust,
    )


def _rows(grades: GradesResult, rubric: Rubric) -> list[ControlRow]:
    """A row for every axis and kind of control."""
    kinds = [kind for kind in (*DAMAGED, WRONG, ORDERS) if kind in grades.kinds]
    without_orders = WRONG if WRONG in kinds else "cut"
    rows: list[ControlRow] = []
    for axis in rubric.axes:
        for kind in kinds:
            pairs = _pairs(grades, axis.name, without_orders if kind == ORDERS else INTACT, kind)
            rows.append(ControlRow(kind, axis.name, kind in axis.hit_by or kind == ORDERS, *_means(pairs, axis.top)))
    return rows


def _pairs(grades: GradesResult, axis: str, kind: str, other: str) -> Float[np.ndarray, "story side"]:
    """The two scores of every story that has both."""
    scores = grades.first(axis)
    sides: list[Mapping[int, float]] = [
        {int(grades.story[i]): float(scores[i]) for i in grades.of(name) if np.isfinite(scores[i])}
        for name in (kind, other)
    ]
    both = sorted(sides[0].keys() & sides[1].keys())
    return np.array([[side[story] for side in sides] for story in both]).reshape(-1, 2)


def _means(pairs: Float[np.ndarray, "story side"], top: int) -> tuple[Interval, Interval, Interval, int]:
    """The means of both sides, within the scale, that of their difference, and the number of stories; NaN of one."""
    n = len(pairs)
    if n < 2:
        unknown = Interval(np.nan, np.nan, np.nan, 0.95, "fewer than two stories")
        return unknown, unknown, unknown, n
    sides = (stats.mean_interval(side, least_error=np.sqrt(ROUNDING / n)) for side in pairs.T)
    intact, damaged = (replace(one, low=max(one.low, 1.0), high=min(one.high, float(top))) for one in sides)
    return intact, damaged, stats.mean_interval(-np.diff(pairs)[:, 0], least_error=np.sqrt(2 * ROUNDING / n)), n


def _tells_too(own: Sequence[ControlRow], twin: Sequence[ControlRow], axis: Axis) -> bool:
    """Whether a twin tells every damage of an axis that the grader tells, and at least `TOLD` times as far."""
    both = [
        (a.difference, b.difference)
        for a, b in zip(own, twin, strict=True)
        if a.axis == axis.name and a.damage in axis.hit_by and a.stories >= LEAST
    ]
    return bool(both) and all(b.low > 0 and b.estimate >= TOLD * a.estimate for a, b in both)


def _trust(rows: Sequence[ControlRow], axis: Axis) -> str:
    """The verdict on an axis from the rows that decide, before twins are asked. Faults are orders that are obeyed, or
    may be, and damages that are missed; without these, too few scored controls."""
    hit_by, found = axis.hit_by, {row.damage: row for row in rows if row.axis == axis.name and row.decides}
    enough = {kind for kind, row in found.items() if row.stories >= LEAST}
    faults = ["obeys orders"] if ORDERS in found and found[ORDERS].difference.high < 0 else []
    if not faults and ORDERS in enough and found[ORDERS].difference.low < -RAISED * axis.top:
        faults = ["may obey orders"]
    faults += [f"misses {damage}" for damage in hit_by if damage in enough and not found[damage].difference.low > 0]
    tried = set(hit_by) & found.keys()
    if hit_by and not faults and not (tried and {*tried, ORDERS} <= enough):
        faults = ["too few controls"]
    if faults:
        return f"{UNTRUSTWORTHY} ({', '.join(faults)})"
    return TRUSTED if hit_by else UNTESTED
