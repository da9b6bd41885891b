"""How well graders agree: with themselves on the same text, with one another, and with people."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import progress, stats
from tslens.errors import InputError
from tslens.evaluation.grading.result import GradesResult
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

GROUPS = 50
"""Groups of prompts that are left out one after the other; of fewer prompts, each is one."""


@dataclass(frozen=True, eq=False)
class GraderAgreementResult(Result):
    """Agreement of two gradings of the same texts, with 95% intervals over prompts: texts that continue one prompt are
    not independent. NaN where it is undefined: both gave every text the same score; bounds also of one prompt, and of
    fewer than 50 prompts without any difference. Neither controls count nor empty texts, which are scored by rule."""

    frame_axes: ClassVar[tuple[str, ...]] = ("row",)

    first: list[str]
    second: list[str]
    axes: list[str]
    texts: Int[Tensor, " row"]
    """Texts that both scored."""
    prompts: Int[Tensor, " row"]
    """Prompts that these texts continue."""
    empty: Int[Tensor, " row"]
    """Empty texts in both gradings, which are left out: no grader was asked about them."""
    kappa: Float[Tensor, " row"]
    """Cohen's kappa with quadratic weights (Cohen 1968, doi:10.1037/h0026256), by scikit-learn."""
    kappa_low: Float[Tensor, " row"]
    kappa_high: Float[Tensor, " row"]
    alpha: Float[Tensor, " row"]
    """Krippendorff's ordinal alpha (Krippendorff 2011, repository.upenn.edu/asc_papers/43), by `krippendorff`."""
    alpha_low: Float[Tensor, " row"]
    alpha_high: Float[Tensor, " row"]

    def headline(self) -> str:
        """Where two gradings agree least."""
        known = [i for i, value in enumerate(self.kappa.tolist()) if value == value]
        if not known:
            return "No agreement can be told: too few texts, or scores that never differ."
        least = min(known, key=lambda i: float(self.kappa[i]))
        who = f"{self.first[least]} and {self.second[least]}"
        return f"{who} agree least on {self.axes[least]}: kappa {float(self.kappa[least]):.2f}."

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row for each two gradings and axis; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        for place, (name, values) in enumerate(
            {"first": self.first, "second": self.second, "axis": self.axes}.items(), 1
        ):
            frame.insert(place, name, values)
        return frame.drop(columns="row")

    def figure(self) -> "Figure":
        """Kappa with its interval, for each two gradings and axis; nothing is drawn of what is undefined."""
        from tslens import plots

        names = [f"{axis}: {a} and {b}" for a, b, axis in zip(self.first, self.second, self.axes, strict=True)]
        low, high = self.kappa_low.numpy(), self.kappa_high.numpy()
        return plots.bars(names, self.kappa.numpy(), low=low, high=high, x_label="quadratic weighted kappa")


def agreement(grades: Sequence[GradesResult]) -> GraderAgreementResult:
    """The agreement of a grader with itself, where texts were graded twice, and of every two graders on the texts that
    both scored. InputError for gradings by different rubrics, or where nothing was graded twice."""
    if len({(one.rubric, *one.axes) for one in grades}) > 1:
        raise InputError(f"graded by different rubrics: {', '.join(one.rubric for one in grades)}. Use one for all.")
    found = list(progress.track(_rows(grades), "agreement"))
    if not found:
        raise InputError("no text was graded twice. Grade some again, or by a second grader.")
    first, second, axes, texts, prompts, empty, *values = (list(column) for column in zip(*found, strict=True))
    counts = [torch.tensor(column) for column in (texts, prompts, empty)]
    numbers = [torch.tensor(column, dtype=torch.float64) for column in values]
    return GraderAgreementResult(first, second, axes, *counts, *numbers)


def _rows(grades: Sequence[GradesResult]) -> Iterator[tuple[Any, ...]]:
    """The values of a row of the result, field by field."""
    for one in grades:
        if one.score.shape[2] > 1:
            for place, axis in enumerate(one.axes):
                again = [(*_text(one, i), np.asarray(one.score[i, place, :2])) for i in one.of()]
                yield from _row(one.grader, "itself, again", axis, again, one.tops[place])
    for a, b in combinations(grades, 2):
        for place, axis in enumerate(a.axes):
            scores = [_by_text(one, axis) for one in (a, b)]
            both = [(*text, np.array([of[text] for of in scores])) for text in scores[0] if text in scores[1]]
            yield from _row(a.grader, b.grader, axis, both, a.tops[place])


def _text(grades: GradesResult, i: int) -> tuple[str, str]:
    """The prompt and the completion of a text."""
    return grades.prompts[i], grades.completions[i].strip()


def _by_text(grades: GradesResult, axis: str) -> dict[tuple[str, str], float]:
    scores = grades.first(axis)
    return {_text(grades, i): float(scores[i]) for i in grades.of()}


def _row(
    first: str, second: str, axis: str, scores: Sequence[tuple[str, str, Float[np.ndarray, " side"]]], top: int
) -> Iterator[tuple[Any, ...]]:
    """The row of two gradings, given prompt, completion and both scores; none for fewer than two texts."""
    scored = [one for one in scores if np.isfinite(one[2]).all()]
    said = [(prompt, pair) for prompt, completion, pair in scored if completion]
    if len(said) > 1:
        prompts = np.unique([prompt for prompt, _ in said], return_inverse=True)[1]
        bounds = interval(np.array([pair for _, pair in said]), top, prompts).T.flatten()
        yield first, second, axis, len(said), prompts.max() + 1, len(scored) - len(said), *bounds


def interval(
    both: Float[np.ndarray, "text side"], top: int, prompts: Int[np.ndarray, " text"] | None = None
) -> Float[np.ndarray, "bound coefficient"]:
    """Kappa and alpha of two columns of scores, and their 95% intervals: the jackknife over prompts, by Fisher's z.

    The prompts of the texts are numbered from 0; by default each text has its own. All texts of one are left out
    together."""
    prompts = np.arange(len(both)) if prompts is None else prompts
    found, number, group = np.array([kappa(both, top), alpha(both, top)]), int(prompts.max()) + 1, prompts % GROUPS
    if number < 2:
        return np.stack([found, *np.full((2, 2), np.nan)])
    rests = [both[group != out] for out in range(group.max() + 1)]
    error = stats.jackknife(found, [[_kappa(rest), alpha(rest, top)] for rest in rests]).halfwidth
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.tanh(np.arctanh(found) + np.array([[-1], [1]]) * error / (1 - found**2))
    alike = found if number >= GROUPS else np.nan  # where leaving out any prompt changes nothing
    return np.stack([found, *np.where(error == 0, alike, ends)])


def kappa(both: Float[np.ndarray, "text side"], top: int) -> float:
    """Cohen's kappa with quadratic weights of two columns of scores from 1 to `top`; NaN if nothing varies."""
    from sklearn.metrics import cohen_kappa_score

    if len(np.unique(both)) < 2:
        return math.nan
    a, b = both.astype(int).T
    return float(cohen_kappa_score(a, b, labels=np.arange(1, top + 1), weights="quadratic"))


def _kappa(both: Float[np.ndarray, "text side"]) -> float:
    """The same from means and variances, in a hundredth of the time."""
    by_chance = both.var(0).sum() + np.diff(both.mean(0))[0] ** 2
    return float(1 - np.mean((both[:, 0] - both[:, 1]) ** 2) / by_chance) if by_chance > 0 else math.nan


def alpha(both: Float[np.ndarray, "text side"], top: int) -> float:
    """Krippendorff's ordinal alpha of two columns of scores from 1 to `top`; NaN if nothing varies."""
    import krippendorff

    if len(np.unique(both)) < 2:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(krippendorff.alpha(both.T, value_domain=np.arange(1.0, top + 1), level_of_measurement="ordinal"))
