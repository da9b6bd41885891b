"""Which model is preferred: strengths by Bradley and Terry, from pairwise preferences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens.errors import InputError
from tslens.evaluation.grading.result import GradesResult
from tslens.evaluation.grading.texts import text_of
from tslens.parsing import rows
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PRIOR = 0.5
"""A win and a loss of this weight are added between every two models, so that one that never lost has a strength."""
STEPS = 100


class PairwisePreference(NamedTuple):
    """A comparison of two texts on one prompt: `share` is 1 if the first was preferred, 0 if not, a half for a tie."""

    prompt: str
    first: str
    second: str
    share: float


@dataclass(frozen=True, eq=False)
class PreferencesResult(Result):
    """Strengths of models in log-odds, of mean zero: a model is preferred to another with the logistic function of the
    difference (Bradley and Terry 1952, doi:10.2307/2334029). Intervals are over prompts, by Student's t."""

    frame_axes: ClassVar[tuple[str, ...]] = ("model",)
    axis_names: ClassVar[dict[str, str]] = {"model": "models"}

    by: str
    """Whose preferences they are."""
    models: list[str]
    strength: Float[Tensor, " model"]
    low: Float[Tensor, " model"]
    high: Float[Tensor, " model"]
    prompts: int
    comparisons: int

    def figure(self) -> "Figure":
        """The strengths with their intervals."""
        from tslens import plots

        low, high = self.low.numpy(), self.high.numpy()
        label = f"strength (log-odds), preferred by {self.by}"
        return plots.bars(self.models, self.strength.numpy(), low=low, high=high, x_label=label)

    def summary(self) -> "pd.DataFrame":
        """One row for each model, the strongest first."""
        return self.to_frame().sort_values("strength", ascending=False, ignore_index=True)

    def headline(self) -> str:
        """Which model is preferred most, and on how many preferences that rests."""
        best, count = int(self.strength.argmax()), f"{self.comparisons:,} preferences on {self.prompts:,} prompts"
        said = f"{self.models[best]} is preferred most by {self.by}, with strength {float(self.strength[best]):.2f}"
        return f"{said} ({float(self.low[best]):.2f} to {float(self.high[best]):.2f}): {count}."


def read_preferences(path: str | Path) -> list[PairwisePreference]:
    """The preferences of a JSONL or CSV file with the columns `prompt`, `first`, `second` (models) and `preferred`: one
    of the two, or `tie`. InputError names the line of what is missing."""
    found = []
    for where, row in rows(path):
        prompt, first, second, best = (text_of(row, (n,), where) for n in ("prompt", "first", "second", "preferred"))
        if first == second or best not in (first, second, "tie"):
            raise InputError(f"{where}: 'preferred' is {best!r}; give {first!r}, {second!r} (two models) or tie.")
        found.append(PairwisePreference(prompt, first, second, 0.5 if best == "tie" else float(best == first)))
    return found


def preferences(grades: GradesResult, axis: str) -> list[PairwisePreference]:
    """Every text against every text of another model on the same prompt: the one with the higher score is preferred."""
    scores = grades.first(axis)
    by_prompt: dict[str, dict[str, list[float]]] = {}
    for i in grades.of():
        if not math.isnan(scores[i]):
            by_prompt.setdefault(grades.prompts[i], {}).setdefault(grades.models[i], []).append(float(scores[i]))
    return [
        PairwisePreference(prompt, a, b, (1 + float(np.sign(x - y))) / 2)
        for prompt, of_models in by_prompt.items()
        for a, b in combinations(sorted(of_models), 2)
        for x, y in product(of_models[a], of_models[b])
    ]


def bradley_terry(found: Sequence[PairwisePreference], by: str = "") -> PreferencesResult:
    """The strengths that make the preferences most likely, each prompt counting once. InputError for fewer than two
    models or prompts, and for models that no chain of preferences connects."""
    from scipy.sparse.csgraph import connected_components
    from scipy.stats import t

    models = sorted({name for one in found for name in (one.first, one.second)})
    prompts = list(dict.fromkeys(one.prompt for one in found))
    if len(models) < 2 or len(prompts) < 2:
        raise InputError(f"{len(models)} models on {len(prompts)} prompts; strengths need two of each.")
    wins = np.zeros((len(prompts), len(models), len(models)))
    at, place = {m: i for i, m in enumerate(models)}, {p: i for i, p in enumerate(prompts)}
    for one in found:
        a, b = at[one.first], at[one.second]
        wins[place[one.prompt], a, b] += one.share
        wins[place[one.prompt], b, a] += 1 - one.share
    both = wins + wins.transpose(0, 2, 1)
    wins = np.divide(wins, both, out=np.zeros_like(wins), where=both > 0)
    parts, part = connected_components(wins.sum(0) > 0, directed=False)
    if parts > 1:
        told = " and ".join(", ".join(m for m, p in zip(models, part, strict=True) if p == i) for i in range(parts))
        raise InputError(f"no preference connects {told}: rank them apart.")
    strength = strengths(wins.sum(0))
    reach = t.ppf(0.975, len(prompts) - 1) * standard_errors(wins, strength)
    middle, low, high = (torch.tensor(column) for column in (strength, strength - reach, strength + reach))
    return PreferencesResult(by, models, middle, low, high, len(prompts), len(found))


def strengths(wins: Float[np.ndarray, "winner loser"]) -> Float[np.ndarray, " model"]:
    """Strengths in log-odds, of mean zero, from how often each model was preferred to each other (Newton)."""
    from scipy.special import expit

    wins = wins + PRIOR * (1 - np.eye(len(wins)))
    games, found = wins + wins.T, np.zeros(len(wins))
    for _ in range(STEPS):
        p = expit(found[:, None] - found)
        spread = games * p * (1 - p)
        step = np.linalg.solve(np.diag(spread.sum(1)) - spread + 1, wins.sum(1) - (games * p).sum(1))
        found = found + step
        if np.abs(step).max() < 1e-10:
            break
    return np.asarray(found - found.mean())


def standard_errors(
    wins: Float[np.ndarray, "prompt winner loser"], strength: Float[np.ndarray, " model"]
) -> Float[np.ndarray, " model"]:
    """Standard errors of strengths from what each prompt adds to the likelihood's slope (the sandwich of White 1982,
    doi:10.2307/1912526, by prompts).

    The prior's wins and losses count as observations too: few prompts on which one model always won would have no
    error at all, in resamples as well.
    """
    from scipy.special import expit

    p, n, prior = expit(strength[:, None] - strength), len(wins), PRIOR * (1 - np.eye(len(strength)))
    both = wins + wins.transpose(0, 2, 1)
    slopes = (wins - both * p).sum(2)
    of_prior = prior**2 * (p**2 + p.T**2)
    spread = slopes.T @ slopes * n / (n - 1) + np.diag(of_prior.sum(1)) - of_prior
    information = (both.sum(0) + 2 * prior) * p * p.T
    inverse = np.linalg.pinv(np.diag(information.sum(1)) - information)
    return np.asarray(np.sqrt(np.diag(inverse @ spread @ inverse)))
