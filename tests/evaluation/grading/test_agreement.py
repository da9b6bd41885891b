"""Agreement by the libraries' coefficients, with intervals over prompts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from tests.evaluation.grading.conftest import Judge, noise
from tslens.errors import InputError
from tslens.evaluation.grading import Failure, GraderAgreementResult, agreement, grade, rubric
from tslens.evaluation.grading.agreement import _kappa, alpha, interval, kappa
from tslens.evaluation.grading.graders import TableGrader


def test_kappa_by_hand():
    """Quadratic weights: one less the mean squared difference over that of independent gradings."""
    rng = np.random.default_rng(0)
    both = np.clip(rng.integers(1, 8, (60, 1)) + rng.integers(-1, 3, (60, 2)), 1, 10).astype(float)
    observed = ((both[:, 0] - both[:, 1]) ** 2).mean()
    expected = ((both[:, None, 0] - both[None, :, 1]) ** 2).mean()
    assert kappa(both, 10) == pytest.approx(1 - observed / expected) == pytest.approx(_kappa(both))


def test_coefficients_at_their_ends():
    same = np.array([[1.0, 1.0], [4.0, 4.0], [9.0, 9.0]])
    assert kappa(same, 10) == alpha(same, 10) == pytest.approx(1)
    constant = np.full((5, 2), 7.0)
    assert np.isnan(kappa(constant, 10)) and np.isnan(alpha(constant, 10))
    rng = np.random.default_rng(1)
    chance = rng.integers(1, 11, (4000, 2)).astype(float)
    assert abs(kappa(chance, 10)) < 0.06 and abs(alpha(chance, 10)) < 0.06


def test_alpha_of_a_published_example():
    """Krippendorff 2011's reliability data of four observers, two at a time, has no such pair; ordinal alpha equals
    one less the ratio of disagreements by ordinal distance."""
    both = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 3.0], [1.0, 1.0], [3.0, 2.0], [2.0, 2.0]])
    _, counts = np.unique(both, return_counts=True)

    def distance(a, b):
        low, high = sorted((int(a), int(b)))
        inside = sum(counts[v - 1] for v in range(low, high + 1)) - (counts[low - 1] + counts[high - 1]) / 2
        return inside**2 if a != b else 0.0

    flat = both.ravel()
    observed = np.mean([distance(a, b) for a, b in both])
    expected = sum(distance(a, b) for a in flat for b in flat) / (len(flat) * (len(flat) - 1))
    assert alpha(both, 3) == pytest.approx(1 - observed / expected)


@pytest.mark.parametrize("n", [5, 10, pytest.param(30, marks=pytest.mark.thorough)])
def test_intervals_of_few_texts_cover(n):
    """In 95 of 100 cases, but for what chance leaves in one of 1,000 such tests; the truth is that of 40,000 texts."""
    rng, runs = np.random.default_rng(n), 200

    def drawn(texts):
        return np.clip(np.round(rng.normal(6, 2, (texts, 1)) + rng.normal(0, 1.5, (texts, 2))), 1, 10)

    truth, covered = interval(drawn(40_000), 10)[0], np.zeros(2)
    for _ in range(runs):
        _, low, high = interval(drawn(n), 10)
        covered += (low <= truth) & (truth <= high)
    assert (covered >= binom.ppf(0.001, runs, 0.95)).all()


def test_intervals_of_texts_that_share_a_prompt_cover():
    """Ten texts of a prompt, which a grader likes as a whole or does not: as above; as if independent, they do not."""
    rng, runs, prompts = np.random.default_rng(0), 200, np.repeat(np.arange(12), 10)

    def drawn(number):
        one, taste = rng.normal(6, 2, (number, 1, 1)), rng.normal(0, 1.5, (number, 1, 2))
        return np.clip(np.round(one + taste + rng.normal(0, 0.5, (number, 10, 2))), 1, 10).reshape(-1, 2)

    truth, covered = interval(drawn(4_000), 10)[0], np.zeros((2, 2))
    for _ in range(runs):
        both = drawn(12)
        for i, by in enumerate((prompts, None)):
            _, low, high = interval(both, 10, by)
            covered[i] += (low <= truth) & (truth <= high)
    assert (covered[0] >= binom.ppf(0.001, runs, 0.95)).all() and (covered[1] < 0.8 * runs).all()


def test_few_prompts_without_a_difference_have_no_interval():
    same, prompts = np.arange(1.0, 10).repeat(2).reshape(9, 2), np.arange(54) % 9
    assert interval(same, 10)[0].tolist() == [1, 1] and np.isnan(interval(same, 10)[1:]).all()
    assert interval(np.tile(same, (6, 1)), 10).tolist() == [[1, 1]] * 3
    assert np.isnan(interval(np.tile(same, (6, 1)), 10, prompts)[1:]).all()
    assert np.isnan(interval(np.array([[1.0, 2], [3, 3], [5, 4]]), 10, np.zeros(3, int))[1:]).all()  # of one prompt


def test_the_same_text_again_and_two_graders(texts, story, scores_of, tmp_path):
    one = grade(texts, Judge(scores_of, again=1), story, [], again=30)
    other = grade(texts, Judge(scores_of, name="other"), story, [])
    found = agreement([one, other])
    table = found.to_frame().query("axis == 'age group'").set_index("second")
    assert table["texts"].to_dict() == {"itself, again": 30, "other": len(texts)}
    assert 10 < table.loc["itself, again", "prompts"] < table.loc["other", "prompts"] == 30
    assert table.loc["other", ["kappa", "alpha"]].tolist() == pytest.approx([1, 1])
    assert table.loc["other", ["kappa_low", "alpha_high"]].isna().all()
    again = table.loc["itself, again"]
    assert again["kappa_low"] < again["kappa"] < again["kappa_high"] and 0 < again["kappa"] < 0.9
    assert len(found.figure().axes) == 1
    assert GraderAgreementResult.load(found.save(tmp_path)).axes == found.axes


def test_a_figure_of_nothing_but_undefined_intervals(texts, story, scores_of):
    found = agreement([grade(texts[:10], Judge(scores_of), story, [], again=10)])
    assert found.kappa_low.isnan().all() and len(found.figure().axes) == 1


def test_only_texts_that_both_scored_count(texts, story, scores_of):
    class Half(Judge):
        def grade(self, texts, rubric, repetition=0):
            found = super().grade(texts, rubric, repetition)
            return [
                one if "text 0" in text.completion else Failure("no") for one, text in zip(found, texts, strict=True)
            ]

    found = agreement([grade(texts, judge, story, []) for judge in (Judge(scores_of), Half(scores_of, name="half"))])
    assert (found.texts == 60).all()


def test_empty_texts_agree_by_no_grader(texts):
    """They have the lowest score by rule: two graders that answer at random do not agree by them."""
    verdict, empty = rubric("verdict"), [replace(text, completion=" " * i) for i, text in enumerate(texts[:60])]
    a, b = (
        Judge(lambda text, name=name: {"verdict": 1 + noise(text.completion + name, 2)}, name=name, again=1)
        for name in ("a", "b")
    )
    without, with_empty = (
        agreement([grade(found, a, verdict, [], again=len(found)), grade(found, b, verdict, [])]).to_frame()
        for found in (texts, [*texts, *empty])
    )
    assert abs(without["kappa"][1]) < 0.2
    for name in ("texts", "kappa", "alpha"):
        assert with_empty[name].tolist() == pytest.approx(without[name].tolist())
    assert without["empty"].tolist() == [0, 0]
    assert with_empty["empty"].tolist() == [60, 10]  # between two graders a text counts once, whoever wrote it


def test_a_table_without_second_rows_is_settled(texts, story, tmp_path):
    rows = [f'"{text.prompt}","{text.completion}",{i % 9 + 1}' for i, text in enumerate(texts)]
    (tmp_path / "one.csv").write_text("\n".join(["prompt,completion,plot", *rows]))
    once = grade(texts, TableGrader(tmp_path / "one.csv"), story, [], again=20)
    assert once.score.shape[2] == 1 and not once.failures
    (tmp_path / "two.csv").write_text("\n".join(["prompt,completion,plot", *rows, *rows[:40]]))
    twice = grade(texts, TableGrader(tmp_path / "two.csv"), story, [], again=len(texts))
    assert not twice.failures
    assert agreement([twice]).texts.tolist() == [40]


def test_a_settled_grader_is_not_asked_again(texts, story, scores_of):
    assert grade(texts, Judge(scores_of, is_settled=True), story, [], again=5).score.shape[2] == 1


def test_nothing_to_compare(texts, story, scores_of):
    result = grade(texts, Judge(scores_of), story, [])
    with pytest.raises(InputError, match="graded twice"):
        agreement([result])
    with pytest.raises(InputError, match="different rubrics"):
        agreement([result, replace(result, rubric=rubric("verdict").name)])
