"""Differences between models: decided where the interval says so, and honest where it does not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom, t

from tests.evaluation.grading.conftest import Judge
from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.grading import ComparisonResult, GradedText, GradesResult, compare, grade
from tslens.evaluation.grading.comparisons import _paired, needed
from tslens.evaluation.grading.controls import controls


@pytest.fixture
def graded(story):
    """`graded(shift, spread)`: two models on 40 prompts, three texts each; the second scores `shift` less. Every axis
    stands as one that no control tests."""

    def make(shift: float, spread: float, prompts: int = 40, models=("a", "b")) -> GradesResult:
        rng = np.random.default_rng(0)
        scores, texts = {}, []
        for p in range(prompts):
            base = rng.integers(4, 8)
            for model in models:
                for i in range(3):
                    text = f"{p} {model} {i}"
                    value = base - (shift if model == "b" else 0) + rng.normal(0, spread)
                    scores[text] = int(np.clip(round(value), 1, 10))
                    texts.append(GradedText(f"Prompt {p}", text, model))
        names = [axis.name for axis in story.axes]
        judge = Judge(lambda text: dict.fromkeys(names, scores[text.completion]) | {"age group": 2})
        return replace(grade(texts, judge, story, []), trust=dict.fromkeys(names, "no control"))

    return make


def plot_of(result):
    return result.axes.index("plot")


def test_a_clear_difference_has_a_winner(graded):
    result = compare(graded(2, 0.5))
    at = plot_of(result)
    assert result.verdicts[at] == "a > b (grader not proved: no control)"
    assert result.low[at] > 1.5 and result.high[at] < 2.5 and result.prompts[at] == 40
    flipped = compare(graded(-2, 0.5))
    assert flipped.verdicts[at] == "b > a (grader not proved: no control)"


def test_no_difference_is_said_where_the_interval_lies_within_the_margin(graded):
    result = compare(graded(0, 0.3), margin=0.5)
    said = "no difference larger than 0.5 (grader not proved: no control)"
    assert result.verdicts[plot_of(result)] == result.verdicts[result.axes.index("age group")] == said


@pytest.mark.parametrize(("shift", "grade_of"), [(0, 1), (0, 10)])
def test_at_an_end_of_the_scale_no_difference_is_no_finding(graded, shift, grade_of):
    """Where nearly all texts of both have the lowest or the highest score, the scale hides how they differ."""
    found = graded(shift, 0.3)
    result = compare(replace(found, score=torch.full_like(found.score, grade_of)))
    at = plot_of(result)
    assert float(result.at_an_end[at]) == 1
    assert result.verdicts[at] == "undecided: 100% of prompts have the lowest or highest score of both"
    assert (compare(found).at_an_end[at] < 0.1) and "no difference" in compare(found, margin=0.5).verdicts[at]


def test_a_model_decides_nothing_about_its_own_texts(graded):
    found = graded(2, 0.5, models=("a", "b", "c"))
    result = compare(replace(found, grader="likelihood of a"))
    said = {(a, b): v for a, b, axis, v in zip(result.first, result.second, result.axes, result.verdicts, strict=True)
            if axis == "plot"}  # fmt: skip
    assert said["a", "b"] == said["a", "c"] == "none: the grader wrote the texts of one" and "c > b" in said["b", "c"]


def test_what_is_undecided_says_how_many_prompts_are_needed(graded):
    result = compare(graded(0, 2.0, prompts=12), margin=0.2)
    at = plot_of(result)
    n = needed(12, float(result.error[at]), result.level, 0.2)
    assert n > 12 and result.verdicts[at] == f"undecided; for 0.2, {n} prompts are needed"


@pytest.mark.parametrize("level", [0.95, 0.998])
@pytest.mark.parametrize("prompts", [3, 5, 30])
def test_with_as_many_prompts_as_needed_every_interval_decides_and_with_fewer_not(prompts, level):
    """An interval no longer than the margin cannot hold zero and a difference beyond the margin. How few prompts told
    it makes no difference."""
    n = needed(prompts, 1 / np.sqrt(prompts), level, 0.5)
    longer, shorter = (2 * t.ppf((1 + level) / 2, m - 1) / np.sqrt(m) for m in (n - 1, n))
    assert shorter <= 0.5 < longer and n == needed(30, 1 / np.sqrt(30), level, 0.5)


def test_a_tiny_margin_needs_a_number_of_prompts_too():
    assert needed(3, 1.0, 0.95, 1e-12) == pytest.approx(3 * (2 * 1.959964 / 1e-12) ** 2, rel=1e-4)


def test_intervals_are_paired_by_prompt_and_corrected(graded):
    grades = graded(1, 1.0)
    result = compare(grades)
    at = plot_of(result)
    scores = grades.first("plot")
    means = {
        (m, p): np.mean([scores[i] for i in grades.of() if grades.models[i] == m and grades.prompts[i] == p])
        for m in "ab"
        for p in set(grades.prompts)
    }
    paired = [means["a", p] - means["b", p] for p in set(grades.prompts)]
    student = stats.mean_interval(paired, level=1 - 0.05 / 5)
    assert result.level == pytest.approx(0.99) and result.difference[at].item() == pytest.approx(np.mean(paired))
    assert result.low[at].item() == pytest.approx(student.low) and result.high[at].item() == pytest.approx(student.high)
    assert compare(graded(1, 1.0, models=("a", "b", "c"))).level == pytest.approx(1 - 0.05 / 15)


def test_an_untrustworthy_grader_decides_nothing(true, texts, story):
    said = dict.fromkeys((axis.name for axis in story.axes), 7) | {"age group": 3}
    result = compare(grade(texts, Judge(lambda text: said), story, controls(true)))
    assert result.verdicts[plot_of(result)] == "none: the grader is untrustworthy on this axis"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("trusted", "a > b"),
        ("untrustworthy (too few controls)", "none: the grader is untrustworthy on this axis"),
        ("no control", "a > b (grader not proved: no control)"),
        ("untrustworthy (obeys orders)", "none: the grader is untrustworthy on this axis"),
    ],
)
def test_a_verdict_says_whether_the_grader_is_proved(graded, told, said):
    grades = graded(2, 0.5)
    result = compare(replace(grades, trust=dict.fromkeys(grades.axes, told)))
    assert result.verdicts[plot_of(result)] == said


def whole(rng, shape):
    """Scores from 1 to 10, of prompts that differ; the means of all texts are equal."""
    return np.clip(np.round(rng.uniform(3, 8, (shape[0], 1, 1)) + rng.normal(0, 1, shape)), 1, 10)


def normal(rng, shape):
    return rng.normal(5, 1, shape)


@pytest.mark.parametrize("n", [3, 5, 10, 30])
@pytest.mark.parametrize("draw", [whole, normal])
@pytest.mark.parametrize("texts", [1, 3])
def test_intervals_of_few_prompts_cover(draw, n, texts):
    """95 in 100 of 1,000 comparisons without a difference, but for what chance leaves in one of 1,000 such tests."""
    rng, level, runs = np.random.default_rng(n), 0.95, 1000
    covered = 0
    for _ in range(runs):
        scores = draw(rng, (n, 2, texts))
        a, b = ({str(p): scores[p, side].tolist() for p in range(n)} for side in (0, 1))
        _, low, high, _, _, prompts = _paired(a, b, level, 9)
        covered += low <= 0 <= high and prompts == n
    assert covered >= binom.ppf(0.001, runs, level) > 0.92 * runs


def test_few_whole_scores_that_are_equal_do_not_decide():
    """Three prompts, each a point apart: t(0.975, 2) * sqrt(2 / 12 / 3) = 4.3027 * 0.2357 = 1.0141."""
    a, b = ({p: [score] for p in "pqr"} for score in (7.0, 6.0))
    assert _paired(a, b, 0.95, 9) == pytest.approx((1, 1 - 1.0141, 1 + 1.0141, 0.2357, 0, 3), abs=1e-4)


@pytest.mark.parametrize("n", [3, 10])
def test_no_model_wins_by_chance(n):
    """Three models that write alike, on three axes: in at most 5 of 100 gradings one of nine verdicts has a winner."""
    rng, runs, false = np.random.default_rng(n), 200, 0
    names = [(f"Prompt {p}", m) for p in range(n) for m in "abc"]
    for _ in range(runs):
        scores = torch.tensor(np.clip(np.round(rng.normal(6, 0.7, (len(names), 3, 1))), 1, 10)).float()
        grades = GradesResult(
            grader="chance",
            rubric="story",
            axes=["x", "y", "z"],
            tops=[10] * 3,
            models=[m for _, m in names],
            prompts=[p for p, _ in names],
            completions=[f"{p} {m}" for p, m in names],
            kinds=[""] * len(names),
            story=torch.full((len(names),), -1),
            score=scores,
            twins=torch.empty(0, len(names), 3),
            failures=[],
            trust=dict.fromkeys("xyz", "trusted"),
        )
        false += any(">" in verdict for verdict in compare(grades).verdicts)
    assert false <= binom.ppf(0.999, runs, 0.05)


def test_unpaired_prompts_do_not_count(story):
    texts = [GradedText(f"P{p}", f"{m}{p}", m) for m in "ab" for p in range(10) if (m, p) != ("b", 0)]
    names = [axis.name for axis in story.axes]
    grades = grade(texts, Judge(lambda text: dict.fromkeys(names, 5)), story, [])
    assert (compare(grades).prompts == 9).all()
    few = compare(grade(texts[9:11], Judge(lambda text: dict.fromkeys(names, 5)), story, []))
    assert few.verdicts[few.axes.index("creativity")] == "none: no prompt has scores of both"
    assert few.verdicts[plot_of(few)] == "none: the grader is untrustworthy on this axis"  # it has no control


def test_no_table_has_a_bare_mean(graded, tmp_path):
    grades = graded(2, 0.5)
    assert {"mean", "low", "high"} <= set(grades.summary().columns)
    result = compare(grades)
    assert {"difference", "low", "high", "verdict", "grader_is"} <= set(result.summary().columns)
    assert len(result.figure().axes) == len(grades.figure().axes) == 1
    axes = result.figure().axes[0]
    rows = {label.get_text(): i for i, label in enumerate(axes.get_yticklabels())}
    dots = {drawn.get_label(): drawn.lines[0].get_xdata() for drawn in axes.containers}
    seen = torch.isfinite(result.low).tolist()
    assert sum(seen) > 1 and set(dots) == {axis for axis, shown in zip(result.axes, seen, strict=True) if shown}
    for i, (a, b) in enumerate(zip(result.first, result.second, strict=True)):
        if seen[i]:
            assert dots[result.axes[i]][rows[f"{a} less {b}"]] == pytest.approx(float(result.difference[i]))
    assert ComparisonResult.load(result.save(tmp_path)).verdicts == result.verdicts
    assert "a > b" in str(result)
    for other in (grades, result):
        other.to_json()


@pytest.mark.parametrize("margin", [0.0, -1.0, 10.0])
def test_an_impossible_margin(graded, margin):
    with pytest.raises(InputError, match="--margin"):
        compare(graded(1, 1.0, prompts=2), margin=margin)


def test_one_model_alone(graded):
    with pytest.raises(InputError, match="two models"):
        compare(graded(1, 1.0, prompts=2, models=("a",)))
