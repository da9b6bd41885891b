"""Simulated corpora: a wrong interval is found, a right one is not, and those of the package are right."""

import sys
from itertools import count

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.evidence import GroupEstimate, ratio
from tslens.analysis.heads.kinds import smallest
from tslens.analysis.neurons import held_out_measures
from tslens.audit import ablation_intervals, label_intervals
from tslens.audit.ablation_intervals import of_ablations
from tslens.audit.coverage import AT_LEAST, EXACT, REJECTED, UNIFORM, Simulated, covered, passed, sort_of, uniform
from tslens.audit.label_intervals import KIND, TESTED, of_labels, small
from tslens.audit.simulated import NEAR_1, area_of, heads_of, simulated, tokens_of_stories
from tslens.stats import Interval


def population(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Nats and tokens of stories: long stories are easier."""
    rng = np.random.default_rng(4)
    tokens = rng.integers(60, 400, n)
    return tokens * (1.5 - tokens / 2000 + 0.25 * rng.normal(size=n)), tokens


def test_coverage_counts_by_hand() -> None:
    found = covered("x", Interval(0, np.array([-1.0, 0.1, -2.0, -1.0]), np.array([1.0, 2.0, -1.0, 0.0]), 0.95, ""), 0.0)
    assert found.value == 0.5 and found.runs == 4 and found.p == pytest.approx(0.0140, abs=5e-4)  # P(X <= 2), exact
    always = Interval(0, np.full(200, -1.0), np.full(200, 1.0), 0.95, "")
    assert not covered("x", always, 0.0).passes and covered("x", always, 0.0, least=True).passes
    assert not covered("x", always, 2.0, least=True).passes
    assert Simulated("x", EXACT, 1.0, 10, REJECTED).passes and not Simulated("x", EXACT, 1, 9, 9e-4).passes


def test_conservative_intervals_may_cover_more_and_not_less() -> None:
    """1,980 of 2,000 is more than 95%, 1,840 less: the first fails one sort and is `conservative` for the other."""

    def on(hits: int, least: bool) -> str:
        ends = np.where(np.arange(2000) < hits, 1.0, -0.5)
        found = covered("x", Interval(0, np.full(2000, -1.0), ends, 0.95, ""), 0.0, least=least)
        assert found.kind == (AT_LEAST if least else EXACT)
        return passed(found.kind, found.value, found.p, found.runs)

    assert [on(hits, False) for hits in (1980, 1900, 1840)] == ["no", "yes", "no"]
    assert [on(hits, True) for hits in (1980, 1900, 1840)] == ["conservative", "yes", "no"]
    assert sort_of([EXACT, EXACT]) == EXACT and sort_of([AT_LEAST]) == AT_LEAST
    assert sort_of([EXACT, AT_LEAST]) == "covers 95%, near 1 or more"


def test_ten_stories_need_t_not_z() -> None:
    values = np.random.default_rng(1).normal(size=(10, 2000))
    by_t = covered("t", stats.mean_interval(values), 0.0)
    reach = norm.ppf(0.975) * values.std(0, ddof=1) / np.sqrt(10)
    by_z = covered("z", Interval(0, values.mean(0) - reach, values.mean(0) + reach, 0.95, "z"), 0.0)
    assert by_t.passes and not by_z.passes and by_z.value == pytest.approx(0.918, abs=0.02)


def test_p_values_that_are_not_uniform_are_found() -> None:
    p = np.random.default_rng(2).uniform(size=2000)
    assert uniform("p", p).passes and not uniform("p", p**1.3).passes


def test_the_true_fraction_is_that_of_many_stories() -> None:
    import torch

    from tslens.analysis.heads.evidence import positional_fraction
    from tslens.audit.simulated import POSITIONS

    sums, truth = heads_of(4, 3000, torch.Generator().manual_seed(1))
    found = positional_fraction(sums, torch.ones(1, POSITIONS, POSITIONS).tril()).value
    assert found[0].numpy() == pytest.approx(truth, abs=0.01)


@pytest.mark.thorough
def test_every_interval_is_simulated_and_reproducible() -> None:
    nats, tokens = population()
    found, again = (simulated(nats, tokens, runs=60, seed=5) for _ in range(2))
    assert found == again and len({test.name for test in found}) == len(found) == 29
    assert {test.kind for test in found} == {EXACT, AT_LEAST, UNIFORM}


def test_a_standard_error_over_tokens_does_not_cover_where_stories_are_alike() -> None:
    """The clusters decide: the same corpora by token cover too seldom, and their p-values are not uniform."""
    rng = np.random.default_rng(3)
    values, positive, story = tokens_of_stories(1000, 40, rng, 1.0)
    values += positive * rng.normal(size=(1000, 40))[:, story]  # the positives of some stories lie higher
    truth = area_of(1.0, np.sqrt((2.25 + 1.25) / 2))
    by_story = covered("by story", stats.auroc(values, positive, clusters=story), truth)
    by_token = covered("by token", stats.auroc(values, positive), truth)
    assert by_story.passes and not by_token.passes and by_token.value < by_story.value


def test_the_least_detectable_effect_is_detected() -> None:
    """Of 2,000 intervals that cover so much less, four fifths of the audits reject; of p-values likewise."""
    rng = np.random.default_rng(4)
    least = Simulated("x", EXACT, 0.95, 2000, 1.0).detectable
    assert 0.015 < least < 0.025
    hits = rng.binomial(2000, 0.95 - least, 400)
    rejected = [binomtest(int(k), 2000, 0.95).pvalue < REJECTED for k in hits]
    assert 0.7 < np.mean(rejected) < 0.95
    less = Simulated("x", AT_LEAST, 0.95, 2000, 1.0).detectable
    hits = rng.binomial(2000, 0.95 - less, 400)
    rejected = [binomtest(int(k), 2000, 0.95, alternative="less").pvalue < REJECTED for k in hits]
    assert less <= least and 0.7 < np.mean(rejected) < 0.95
    least = Simulated("p", UNIFORM, 0.0, 2000, 1.0).detectable
    p = rng.uniform(size=(200, 2000))
    p = np.where(p < 0.5 + least, p * 0.5 / (0.5 + least), p)  # largest distance: `least`, at one half
    assert np.mean([not uniform("p", row).passes for row in p]) > 0.7


@pytest.mark.thorough
def test_over_two_thousand_corpora_no_interval_is_rejected() -> None:
    found = simulated(*population(), runs=2000)
    assert {(test.name, test.value, test.p) for test in found if not test.passes} == set()


def test_counts_on_few_stories_cover_too_seldom_where_halves_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["tslens.audit.simulated"]

    def on(few: int) -> Simulated:
        monkeypatch.setattr(module, "FEW", few)
        return module._count("many", module.EFFECTS["many"], 400, np.random.default_rng(1), 32)

    assert on(32).passes and 0.6 < on(0).value < 0.85


@pytest.mark.thorough
def test_over_two_thousand_corpora_the_intervals_of_labels_cover() -> None:
    found = of_labels(2000, (np.random.default_rng([3, number]) for number in count()))
    failing = {(test.name, test.value, test.p) for test in found if not test.passes}
    assert failing == set() and len({test.name for test in found}) == len(found) == 26


def test_symmetric_intervals_of_areas_near_1_cover_too_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulations find the fault that logits mend: without them the lower end is too high."""
    rng = np.random.default_rng

    def symmetric(found, tokens):  # type: ignore[no-untyped-def]
        interval = stats.jackknife(found[0], found[1:])
        return interval.low.clip(0, 1), interval.high.clip(0, 1)

    mended = label_intervals._measured(NEAR_1, 600, rng(1))
    monkeypatch.setattr(held_out_measures, "_ends", symmetric)
    faulty = label_intervals._measured(NEAR_1, 600, rng(1))
    assert mended[0].name.startswith(f"{TESTED}, auroc") and mended[0].passes and mended[2].passes
    assert not faulty[0].passes and faulty[0].value < mended[0].value


def test_an_upper_end_for_each_of_six_nulls_covers_too_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(found: GroupEstimate) -> tuple[Tensor, Tensor]:
        low, high = found.interval
        return smallest(low), smallest(high)

    name, kind = f"{KIND}, 6 equal nulls", label_intervals.WITH_NULLS[6]
    mended = label_intervals._excess(name, kind, 0.0, 2000, np.random.default_rng(1))
    monkeypatch.setattr(label_intervals, "ends", plain)
    faulty = label_intervals._excess(name, kind, 0.0, 2000, np.random.default_rng(1))
    assert mended.passes and not faulty.passes


def narrow(over: Tensor, under: Tensor) -> GroupEstimate:
    """A ratio whose interval is half as wide as it should be."""
    found = ratio(over, under)
    return GroupEstimate(found.value, found.value + (found.without - found.value) / 2)


def test_the_interval_of_written_classes_covers_and_a_narrower_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mended = label_intervals._written("thirty", 30.0, 1000, np.random.default_rng(1))
    monkeypatch.setattr(label_intervals, "ratio", narrow)
    faulty = label_intervals._written("thirty", 30.0, 1000, np.random.default_rng(1))
    assert mended.name.startswith(f"{label_intervals.WRITTEN}, thirty") and mended.kind == EXACT
    assert mended.passes and not faulty.passes and faulty.value < 0.8


def test_p_values_that_are_too_small_are_found() -> None:
    p = np.random.default_rng(2).uniform(size=2000)
    assert small("p", p).passes and small("p", p**0.5).passes and not small("p", p**1.5).passes
    assert small("p", np.full(2000, 0.05)).value == 0.0


def test_the_intervals_of_ablations_cover_and_narrower_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    of = [(rows, number) for rows in ablation_intervals.ROWS for number in (0, 1)]
    found = of_ablations(2000, (np.random.default_rng([5, *each]) for each in of))
    assert all(test.passes and test.kind == EXACT for test in found) and len({test.name for test in found}) == 4
    monkeypatch.setattr(ablation_intervals, "ratio", narrow)
    faulty = of_ablations(1000, (np.random.default_rng([5, *each]) for each in of))
    assert not any(test.passes for test in faulty)
