"""Differences between models: decided where the interval says so, and honest where it does not."""

import numpy as np
import pytest

from tests.evaluation.grading.conftest import Judge
from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.grading import ComparisonResult, GradedText, GradesResult, compare, grade
from tslens.evaluation.grading.comparisons import needed


@pytest.fixture
def graded(story):
    """`graded(shift, spread)`: two models on 40 prompts, three texts each; the second scores `shift` less."""

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
        return grade(
            texts, Judge(lambda text: dict.fromkeys(names, scores[text.completion]) | {"age group": 2}), story, []
        )

    return make


def plot_of(result):
    return result.axes.index("plot")


def test_a_clear_difference_has_a_winner(graded):
    result = compare(graded(2, 0.5))
    at = plot_of(result)
    assert result.verdicts[at] == "a > b" and result.low[at] > 1.5 and result.high[at] < 2.5
    assert result.prompts[at] == 40
    flipped = compare(graded(-2, 0.5))
    assert flipped.verdicts[at] == "b > a"


def test_no_difference_is_said_where_the_interval_lies_within_the_margin(graded):
    result = compare(graded(0, 0.3), margin=0.5)
    assert result.verdicts[plot_of(result)] == "no difference larger than 0.5"
    assert result.verdicts[result.axes.index("age group")] == "no difference larger than 0.5"


def test_what_is_undecided_says_how_many_prompts_are_needed(graded):
    result = compare(graded(0, 2.0, prompts=12), margin=0.2)
    at = plot_of(result)
    n = needed(12, float(result.low[at]), float(result.high[at]), 0.2)
    assert n > 12 and result.verdicts[at] == f"undecided; for 0.2, {n} prompts are needed"


@pytest.mark.parametrize(("low", "high"), [(-0.3, 0.9), (-1.0, 0.01), (-5.0, 5.0)])
def test_with_as_many_prompts_as_needed_every_interval_decides(low, high):
    """An interval no longer than the margin cannot hold zero and a difference beyond the margin."""
    n = needed(30, low, high, 0.5)
    assert n > 30 and (high - low) * np.sqrt(30 / n) <= 0.5


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
    t = stats.mean_interval(paired, level=1 - 0.05 / 5)
    assert result.level == pytest.approx(0.99) and result.difference[at].item() == pytest.approx(np.mean(paired))
    assert result.low[at].item() == pytest.approx(t.low, abs=0.08)
    assert result.high[at].item() == pytest.approx(t.high, abs=0.08)
    assert compare(graded(1, 1.0, models=("a", "b", "c"))).level == pytest.approx(1 - 0.05 / 15)


def test_an_untrustworthy_grader_decides_nothing(true, texts, story):
    said = dict.fromkeys((axis.name for axis in story.axes), 7) | {"age group": 3}
    result = compare(grade(texts, Judge(lambda text: said), story, true))
    assert result.verdicts[plot_of(result)] == "none: the grader is untrustworthy on this axis"


def test_unpaired_prompts_do_not_count(story):
    texts = [GradedText(f"P{p}", f"{m}{p}", m) for m in "ab" for p in range(10) if (m, p) != ("b", 0)]
    names = [axis.name for axis in story.axes]
    grades = grade(texts, Judge(lambda text: dict.fromkeys(names, 5)), story, [])
    assert (compare(grades).prompts == 9).all()
    few = compare(grade(texts[9:11], Judge(lambda text: dict.fromkeys(names, 5)), story, []))
    assert few.verdicts[0] == "undecided: fewer than two prompts"


def test_no_table_has_a_bare_mean(graded, tmp_path):
    grades = graded(2, 0.5)
    assert {"mean", "low", "high"} <= set(grades.summary().columns)
    result = compare(grades)
    assert {"difference", "low", "high", "verdict", "grader_is"} <= set(result.summary().columns)
    assert len(result.figure().axes) == len(grades.figure().axes) == 1
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
