"""Names of what a suite is scored by: kinds of prompts, scorings, and the labels fail, partial and success."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from tslens.errors import InputError
from tslens.stats import Interval, clustered_share

if TYPE_CHECKING:
    import pandas as pd

    from tslens.evaluation.suite_result import SuiteResult

SCORINGS = {"sum": "margin", "byte": "margin_per_byte"}
PARTS = ("hand-written", "templated")
FAIL, PARTIAL, SUCCESS = 0, 1, 2
VERDICTS = ("fail", "partial", "success")
EVEN = math.log(2)
"""The margin, in nats, below which two endings count as about as probable: a factor of two."""

Labels = list[list[list[int | None]]]
"""A label (0 fail, 1 partial, 2 success; None where there is none) of each completion, by model and prompt."""
GivenLabels = Sequence[Sequence[Sequence[int | None]]]
Score = tuple[str, Interval, float | Interval]
"""A score by name, and what it is by chance, known or measured."""
NULL = ("without_reading", "without_reading_low", "without_reading_high")
"""A score by chance and its interval, in a summary."""
COLUMNS = ["model", "prompts", "score", "value", "low", "high", *NULL]
UNRECORDED = "no control recorded"
"""What is said of a grader's labels that were stored without what its controls showed."""


def named(by: str, trust: Mapping[str, str], is_brief: bool = False) -> str:
    """Who gave labels, with a mark unless controls show that the grader is to be trusted.

    The mark says what `trust` does, without single faults if it is to be brief. Matching (`match`) is a rule and has no
    controls.
    """
    from tslens.evaluation.grading.trust import TRUSTED, UNTRUSTWORTHY

    told = trust.get(by, TRUSTED if by == "match" else UNRECORDED)
    if told == TRUSTED:
        return by
    if is_brief:
        return f"{by} ({told.partition(' (')[0]})"
    if told.startswith(UNTRUSTWORTHY):
        return f"{by} ({told.replace(' (', ': ').removesuffix(')')})"
    return f"{by} (not proved: {told})"


def headline(found: "SuiteResult") -> str:
    """How many prompts each model has right, of how many, with intervals of the shares."""
    said = []
    for part, n in zip(PARTS, (found.by_hand, len(found.prompts) - found.by_hand), strict=True):
        each = [(model, found.right(i, part)) for i, model in enumerate(found.models)] if n else []
        told = [
            f"{who} {round(r.estimate * n, 1):g} ({r.estimate:.2f}, {r.low:.2f} to {r.high:.2f}"
            f"{_of_twins(found, who, part)})"
            for who, r in each
        ]
        said += [f"of {n} {part} prompts: {', '.join(told)}"] if told else []
    return f"Right {'; '.join(said)}. Half would be right without reading the prompt."


def means(rows: Sequence[Sequence[float]]) -> Float[np.ndarray, " row"]:
    """The mean of each row; NaN for one without values."""
    return np.array([np.mean(row) if row else np.nan for row in rows])


def share_of(label: int, rows: Sequence[Sequence[int | None]], topics: Int[np.ndarray, " prompt"]) -> Interval:
    """The mean over prompts of the share of their texts with this label, with Wilson's 95% interval, topics as
    clusters; NaN, from 0 to 1, if fewer than two topics have a label."""
    shares = means([[float(x == label) for x in row if x is not None] for row in rows])
    clusters = topics[: len(shares)][known := ~np.isnan(shares)]
    if len(set(clusters)) < 2:
        return Interval(math.nan, 0.0, 1.0, 0.95, "no labels")
    return clustered_share(shares[known], clusters)


def columns(share: float | Interval) -> tuple[float, float, float]:
    """A score and its interval, which is NaN where the score is known and not measured."""
    return (share, math.nan, math.nan) if isinstance(share, float) else (share.estimate, share.low, share.high)


def listed(by: str, labels: GivenLabels, completions: Sequence[Sequence[Sequence[str]]]) -> Labels:
    """Labels as lists. InputError unless there is one label of each completion."""
    given: Labels = [[list(row) for row in rows] for rows in labels]
    if [[len(row) for row in rows] for rows in given] != [[len(row) for row in rows] for rows in completions]:
        raise InputError(f"labels by {by!r} are not one for each completion, by model and prompt.")
    if wrong := {x for rows in given for row in rows for x in row} - {None, FAIL, PARTIAL, SUCCESS}:
        raise InputError(f"labels by {by!r} are 0 (fail), 1 (partial), 2 (success) or None; got {wrong.pop()!r}.")
    return given


def partners(prompts: int) -> list[int]:
    """For each prompt written by hand another one, half the suite away, whose completions stand behind it as its null.
    They are as far apart as can be because pairs are, and often neighbours too, about the same. Empty for one pair."""
    shift = 2 * (prompts // 4)
    return [(i + shift) % prompts for i in range(prompts)] if shift else []


def _of_twins(found: "SuiteResult", model: str, part: str) -> str:
    least, largest = twins_between(found.twins, model, part)
    return "" if math.isnan(least) else f"; untrained twins {least:.2f} to {largest:.2f}"


def twins_between(
    twins: Sequence[Mapping[str, Any]], model: str, part: str, score: str = "prompts right"
) -> tuple[float, float]:
    """The least and the largest value of a score over the untrained twins of a model; NaN where none was asked."""
    found = [row["value"] for row in twins if (row["of"], row["prompts"], row["score"]) == (model, part, score)]
    return (min(found), max(found)) if found else (math.nan, math.nan)


def beside_twins(summary: "pd.DataFrame", twins: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    """The summary with the least and the largest value of untrained twins in each row, if any were asked."""
    if not twins:
        return summary
    asked = zip(summary["model"], summary["prompts"], summary["score"], strict=True)
    least, largest = zip(*(twins_between(twins, *row) for row in asked), strict=True)
    return summary.assign(twins_low=least, twins_high=largest)


def counted(models: Sequence[str], prompts: Sequence[str], labels: Mapping[str, Labels]) -> "pd.DataFrame":
    """One row per model, prompt, and who gave labels: how many of its completions are a success, partial, a fail, and
    without a label."""
    import pandas as pd

    rows = []
    for by, given in labels.items():
        for model, of_prompts in zip(models, given, strict=True):
            for prompt, own in enumerate(of_prompts):
                of = Counter(own)
                rows.append((model, prompt, prompts[prompt], by, of[SUCCESS], of[PARTIAL], of[FAIL], of[None]))
    columns = ["model", "prompt", "text", "by", "success", "partial", "fail", "without_label"]
    return pd.DataFrame(rows, columns=columns)
