"""Which model writes better: differences of scores paired by prompt, with a margin set beforehand."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.grading.graders import LIKELIHOOD
from tslens.evaluation.grading.result import ROUNDING, GradesResult
from tslens.evaluation.grading.trust import TRUSTED, UNTRUSTWORTHY
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MARGIN = 0.5
"""A difference of scores that matters, unless another is given."""
LEVEL = 0.95
HIDDEN = 0.5
"""Share of prompts at one end of the scale beyond which nothing is said of a small difference."""

SAID = 3  # comparisons of a headline


@dataclass(frozen=True, eq=False)
class ComparisonResult(Result):
    """Differences between models, score of the first less that of the second, each prompt counting once. All intervals
    together hold with 95% (Bonferroni: Dunn 1961, doi:10.2307/2282330)."""

    frame_axes: ClassVar[tuple[str, ...]] = ("comparison",)

    grader: str
    margin: float
    """The difference that was said beforehand to matter."""
    first: list[str]
    second: list[str]
    axes: list[str]
    difference: Float[Tensor, " comparison"]
    low: Float[Tensor, " comparison"]
    high: Float[Tensor, " comparison"]
    error: Float[Tensor, " comparison"]
    """Standard error of the difference."""
    prompts: Int[Tensor, " comparison"]
    """Prompts that both models continued and that were graded."""
    level: float
    """Of each interval, after the correction for their number."""
    grader_is: list[str]
    """Whether the controls say to believe the grader on the axis."""
    at_an_end: Float[Tensor, " comparison"] = field(default_factory=lambda: torch.empty(0), kw_only=True)
    """Share of the prompts on which all texts of both have the lowest score, or all the highest: there the scale hides
    a difference. Empty in results of before it was counted."""

    @property
    def verdicts(self) -> list[str]:
        """What each comparison says, in words."""
        return [self._verdict(i) for i in range(len(self.axes))]

    def _verdict(self, i: int) -> str:
        low, high, d = float(self.low[i]), float(self.high[i]), self.margin
        if self.grader_is[i].startswith(UNTRUSTWORTHY):
            return "none: the grader is untrustworthy on this axis"
        if is_own(self.grader, (self.first[i], self.second[i])):
            return "none: the grader wrote the texts of one"
        if math.isnan(low):
            return "undecided: too few prompts" if self.prompts[i] else "none: no prompt has scores of both"
        if low > 0 or high < 0:
            better, other = (self.first[i], self.second[i]) if low > 0 else (self.second[i], self.first[i])
            said = f"{better} > {other}"
        elif -d <= low and high <= d and len(self.at_an_end) and self.at_an_end[i] > HIDDEN:
            return f"undecided: {float(self.at_an_end[i]):.0%} of prompts have the lowest or highest score of both"
        elif -d <= low and high <= d:
            said = f"no difference larger than {d:g}"
        else:
            n = needed(int(self.prompts[i]), float(self.error[i]), self.level, d)
            return f"undecided; for {d:g}, {n} prompts are needed"
        return said if self.grader_is[i] == TRUSTED else f"{said} (grader not proved: {self.grader_is[i]})"

    def summary(self) -> "pd.DataFrame":
        """One row for each two models and axis, with the verdict."""
        return self.to_frame().drop(columns="comparison")

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row for each two models and axis; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        for place, (name, values) in enumerate(
            {"axis": self.axes, "first": self.first, "second": self.second}.items(), 1
        ):
            frame.insert(place, name, values)
        return frame.assign(grader_is=self.grader_is, verdict=self.verdicts)

    def figure(self) -> "Figure":
        """For every two models the difference on each axis with its interval; the line is no difference. Without any
        interval all are empty."""
        from tslens import plots

        finite = torch.isfinite(self.low)
        drawn = (finite if finite.any() else ~finite).nonzero().flatten().tolist()
        pairs = [f"{a} less {b}" for a, b in zip(self.first, self.second, strict=True)]
        rows = {pair: row for row, pair in enumerate(dict.fromkeys(pairs[i] for i in drawn))}
        series = {self.axes[i]: np.full((3, len(rows)), np.nan) for i in drawn}
        for i in drawn:
            series[self.axes[i]][:, rows[pairs[i]]] = self.difference[i], self.low[i], self.high[i]
        label = f"difference of scores by {self.grader}, interval at {self.level:.2%}"
        columns = {axis: (value, low, high) for axis, (value, low, high) in series.items()}
        return plots.intervals(list(rows), columns, threshold=0.0, x_label=label)

    def headline(self) -> str:
        """What the comparisons say, each in a few words."""
        said = [f"{axis}: {verdict}" for axis, verdict in zip(self.axes, self.verdicts, strict=True)]
        more = f"; {len(said) - SAID} more below" if len(said) > SAID else ""
        return f"Models compared by {self.grader}, margin {self.margin:g}: {'; '.join(said[:SAID])}{more}."


def is_own(grader: str, models: Iterable[str]) -> bool:
    """Whether a grader by log-probabilities is one of these models: each finds its own texts the most probable."""
    return grader in {f"{LIKELIHOOD} {model}" for model in models}


def needed(prompts: int, error: float, level: float, margin: float) -> int:
    """The fewest prompts with which Student's interval at this level is no longer than the margin, so that it holds
    zero or a larger difference but not both: differences of prompts vary as those so far, of which `error` is the
    standard error of the mean."""
    from scipy.stats import norm, t

    spread, tail = error * math.sqrt(prompts), (1 + level) / 2
    n = max(2, math.floor((2 * norm.ppf(tail) * spread / margin) ** 2))
    while 2 * t.ppf(tail, float(n - 1)) * spread / math.sqrt(n) > margin:
        n += max(1, n >> 30)  # in whole steps as long as rounding does not hide them
    return int(max(prompts + 1, n))


def compare(grades: GradesResult, margin: float = MARGIN) -> ComparisonResult:
    """Every two models on every axis, paired by prompt: a prompt's value is the difference of the means of its texts.

    The interval is Student's t over prompts, with the variance of whole scores at least (`ROUNDING`): of three prompts,
    or of scores that are all alike, resamples have too little spread. NaN for fewer than two prompts. InputError for a
    margin that is not positive, or fewer than two models. Intervals that are NaN count in no correction.
    """
    check_margin(margin)
    models = grades.writers()
    if len(models) < 2:
        raise InputError(f"only {models[0]!r} wrote these texts; a comparison needs two models.")
    pairs = [(axis, a, b) for axis in grades.axes for a, b in combinations(models, 2)]
    scores = {axis: _scores(grades, axis) for axis in grades.axes}
    told = sum(len(scores[axis][a].keys() & scores[axis][b].keys()) > 1 for axis, a, b in pairs)
    level = 1 - (1 - LEVEL) / max(told, 1)
    widest = {axis: top - 1 for axis, top in zip(grades.axes, grades.tops, strict=True)}
    rows = [_paired(scores[axis][a], scores[axis][b], level, widest[axis]) for axis, a, b in pairs]
    *numbers, prompts = zip(*rows, strict=True)
    difference, low, high, error, at_an_end = (torch.tensor(column, dtype=torch.float64) for column in numbers)
    axes, first, second = map(list, zip(*pairs, strict=True))
    return ComparisonResult(
        grader=grades.grader,
        margin=float(margin),
        first=first,
        second=second,
        axes=axes,
        difference=difference,
        low=low,
        high=high,
        error=error,
        prompts=torch.tensor(prompts),
        level=level,
        grader_is=[grades.trust[axis] for axis in axes],
        at_an_end=at_an_end,
    )


def _paired(
    first: Mapping[str, list[float]], second: Mapping[str, list[float]], level: float, widest: int
) -> tuple[float, float, float, float, float, int]:
    """The mean difference over the prompts of both, its interval within `widest` either way, its standard error, the
    share of prompts at one end of the scale, and their number."""
    both = [(first[prompt], second[prompt]) for prompt in first if prompt in second]
    if len(both) < 2:
        return math.nan, math.nan, math.nan, math.nan, math.nan, len(both)
    rounding = ROUNDING * sum(1 / len(a) + 1 / len(b) for a, b in both)
    differences = [float(np.mean(a) - np.mean(b)) for a, b in both]
    error = max(float(np.std(differences, ddof=1)) / math.sqrt(len(both)), math.sqrt(rounding) / len(both))
    found = stats.mean_interval(differences, level, least_error=error).within(-widest, widest)
    ends = [{*a, *b} in ({1.0}, {1.0 + widest}) for a, b in both]
    return found.estimate, found.low, found.high, error, float(np.mean(ends)), len(both)


def check_margin(margin: float) -> None:
    """InputError for a difference that no scores can have."""
    if not 0 < margin < 10:
        raise InputError(f"--margin is {margin:g}; give the difference of scores that matters, such as {MARGIN:g}.")


def _scores(grades: GradesResult, axis: str) -> dict[str, dict[str, list[float]]]:
    """The scores of each model's texts on each prompt."""
    scores, found = grades.first(axis), {model: defaultdict[str, list[float]](list) for model in grades.writers()}
    for i in grades.of():
        if not math.isnan(scores[i]):
            found[grades.models[i]][grades.prompts[i]].append(float(scores[i]))
    return {model: dict(of_prompts) for model, of_prompts in found.items()}
