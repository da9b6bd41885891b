"""Intervals, nulls and effect sizes, each against a value worked out by hand and against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats

from tslens import stats
from tslens.errors import InputError
from tslens.stats.roc import newcombe


def test_interval_reads_well() -> None:
    interval = stats.Interval(0.523, 0.481, 0.562, 0.95, "BCa")
    assert str(interval) == "0.523 [0.481, 0.562]"
    assert 0.5 in interval and 0.6 not in interval
    assert interval.halfwidth == pytest.approx(0.0405)


class TestMean:
    def test_by_hand(self) -> None:
        # mean 2, s = 1, t(0.975, 2) = 4.302653, so 4.302653 / sqrt 3 either side
        interval = stats.mean_interval([1, 2, 3])
        assert interval.estimate == 2
        assert interval.high - 2 == pytest.approx(4.302652729911275 / math.sqrt(3))
        assert interval.halfwidth == pytest.approx(interval.high - 2)

    def test_scipy_agrees_on_every_head(self) -> None:
        x = np.random.default_rng(1).normal(size=(30, 4, 8))
        interval = stats.mean_interval(x, level=0.9)
        reference = scipy_stats.ttest_1samp(x, 0).confidence_interval(0.9)
        np.testing.assert_allclose(interval.low, reference.low)
        np.testing.assert_allclose(interval.high, reference.high)
        assert interval.estimate.shape == (4, 8)

    def test_paired_is_the_interval_of_the_differences(self) -> None:
        rng = np.random.default_rng(2)
        before, after = rng.normal(size=(2, 20, 3))
        interval = stats.paired_difference(after, before)
        reference = scipy_stats.ttest_rel(after, before).confidence_interval(0.95)
        np.testing.assert_allclose(interval.low, reference.low)
        np.testing.assert_allclose(interval.high, reference.high)

    def test_equal_values_have_the_error_that_is_given(self) -> None:
        interval = stats.mean_interval([1, 1, 1], least_error=0.5)
        assert interval.high == pytest.approx(1 + 0.5 * 4.302653)
        assert stats.mean_interval([1, 2, 3], least_error=0.5) == stats.mean_interval([1, 2, 3])
        ratio = stats.ratio_of_sums([2, 4, 6], [1, 2, 3], least_error=0.5)
        assert ratio.estimate == 2 and ratio.high > 2 + 0.5 * 4.302653 - 1e-9

    def test_a_mean_on_an_estimated_scale_is_welch_s(self) -> None:
        """The scale's zero is the mean of the others, and its error theirs."""
        rng = np.random.default_rng(4)
        x, y = rng.normal(1, 1, 12), rng.normal(0, 3, 30)
        found, expected = stats.calibrated_mean(x - y.mean(), y.std(ddof=1) / 30**0.5, 30), stats.welch(x, y)
        assert (found.estimate, found.low, found.high) == pytest.approx(
            (expected.estimate, expected.low, expected.high)
        )
        exact = stats.calibrated_mean(x, 0.0, 30)
        assert (exact.low, exact.high) == pytest.approx((stats.mean_interval(x).low, stats.mean_interval(x).high))
        with pytest.raises(InputError, match="2 others"):
            stats.calibrated_mean(x, 0.1, 1)

    def test_an_interval_in_words(self) -> None:
        found = stats.Interval(0.5, 0.25, 0.75, 0.95, "made")
        assert found.said() == "0.50 (0.25 to 0.75)" and found.said("+.1f") == "+0.5 (0.2 to 0.8)"
        none = stats.macro_share([1.0], [0], [0])
        assert none.said() == "1.00 (no interval)"

    def test_an_interval_within_its_range(self) -> None:
        found = stats.mean_interval([0.0, 1.0]).within(0, 1)
        assert (found.estimate, found.low, found.high) == (0.5, 0, 1)
        several = stats.mean_interval([[0.0, 0.4], [1.0, 0.5]]).within(0, 1)
        assert several.low.tolist() == pytest.approx([0, max(0, 0.45 - 0.05 * 12.7062)])

    def test_welch_by_hand_and_by_scipy(self) -> None:
        rng = np.random.default_rng(4)
        x, y = rng.normal(1, 1, 12), rng.normal(0, 3, 30)
        found = stats.welch(x, y)
        a, b = x.var(ddof=1) / 12, y.var(ddof=1) / 30
        freedom = (a + b) ** 2 / (a**2 / 11 + b**2 / 29)
        reach = scipy_stats.t.ppf(0.975, freedom) * np.sqrt(a + b)
        assert found.estimate == pytest.approx(x.mean() - y.mean())
        assert (found.low, found.high) == pytest.approx((found.estimate - reach, found.estimate + reach))
        assert stats.welch([1, 1], [0, 0, 0]).high == 1
        assert stats.welch([1, 1], [0, 0, 0], least_error=0.5).high == pytest.approx(1 + 0.5 * 3.182446)
        assert stats.welch(x, y, least_error=1e-9) == found
        reference = scipy_stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((reference.low, reference.high))
        half = stats.welch([0, 2, 4], [1, 1, 1, 1])  # one side alone varies, with two degrees of freedom
        assert (half.estimate, half.high) == (1, pytest.approx(1 + 4.302653 * (4 / 3) ** 0.5))

    def test_refusals(self) -> None:
        with pytest.raises(ValueError, match="at least 2 values; got 1"):
            stats.mean_interval([3.0])
        with pytest.raises(ValueError, match="at least 2 values of each; got 1 and 2"):
            stats.welch([1], [1, 2])
        with pytest.raises(ValueError, match="between 0 and 1"):
            stats.mean_interval([1, 2, 3], level=95)
        with pytest.raises(ValueError, match="one shape"):
            stats.paired_difference([1, 2, 3], [1, 2])


class TestBootstrap:
    def test_scipy_agrees_to_the_last_draw(self) -> None:
        x = np.random.default_rng(3).exponential(size=40)
        interval = stats.bootstrap(x, np.median, n=500, seed=7)
        one_at_a_time = scipy_stats.bootstrap((x,), np.median, n_resamples=500, batch=1, rng=np.random.default_rng(7))
        assert (interval.low, interval.high) == pytest.approx(tuple(one_at_a_time.confidence_interval))
        assert interval.estimate == np.median(x)
        assert interval.method == "bootstrap, BCa"

    def test_arrays_are_done_elementwise(self) -> None:
        x = np.random.default_rng(4).exponential(size=(25, 2, 3))
        together = stats.bootstrap(x, n=200)
        alone = stats.bootstrap(x[:, 1, 2], n=200)
        assert together.low.shape == (2, 3)
        assert (together.low[1, 2], together.high[1, 2]) == pytest.approx((alone.low, alone.high))

    def test_what_does_not_vary_has_no_width(self) -> None:
        interval = stats.bootstrap(np.ones(10), n=50)
        assert (interval.low, interval.estimate, interval.high) == (1, 1, 1)
        assert "percentile" in interval.method

    @pytest.mark.thorough
    def test_coverage(self) -> None:
        """Of 200 samples of 30 exponentials about 95% cover the mean; below 88% the interval would be wrong."""
        rng = np.random.default_rng(8)
        covered = [1.0 in stats.bootstrap(rng.exponential(size=30), n=300, seed=i) for i in range(200)]
        assert np.mean(covered) > 0.88

    def test_refusals(self) -> None:
        with pytest.raises(ValueError, match="at least 2 rows"):
            stats.bootstrap([1.0])


class TestWilson:
    def test_by_hand(self) -> None:
        # z = 1.96: centre (0.5 * 10 + 1.92) / 13.84 = 0.5, reach 1.96 sqrt(2.5 + 0.9604) / 13.8416 = 0.2634
        interval = stats.wilson(5, 10)
        assert interval.estimate == 0.5
        assert (interval.low, interval.high) == pytest.approx((0.2366, 0.7634), abs=1e-4)

    @given(n=st.integers(1, 500), share=st.floats(0, 1))
    def test_scipy_agrees(self, n: int, share: float) -> None:
        k = round(share * n)
        reference = scipy_stats.binomtest(k, n).proportion_ci(method="wilson")
        interval = stats.wilson(k, n)
        assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high), abs=1e-9)
        assert 0 <= interval.low <= interval.estimate <= interval.high <= 1

    def test_elementwise_and_empty(self) -> None:
        interval = stats.wilson(np.array([[0, 3], [0, 7]]), np.array([[0, 3], [5, 7]]))
        assert np.isnan(interval.estimate[0, 0])
        assert (interval.low[0, 0], interval.high[0, 0]) == (0, 1)
        assert interval.high[0, 1] == 1 and interval.low[1, 0] == 0

    def test_refusal(self) -> None:
        with pytest.raises(ValueError, match="between 0 and n"):
            stats.wilson(11, 10)


class TestClusteredShare:
    def test_independent_values_are_worth_their_number_and_equal_ones_one_a_cluster(self) -> None:
        alone, equal = np.tile([0.0, 1], 50), np.repeat([0.0, 1], 50)
        few = (scipy_stats.norm.ppf(0.975) / scipy_stats.t.ppf(0.975, 9)) ** 2  # ten clusters
        together = stats.clustered_share(alone, np.repeat(np.arange(10), 10))
        assert together.estimate == 0.5 and together.high == pytest.approx(stats.wilson(50 * few, 100 * few).high)
        # Within a cluster all are equal: the variance over clusters is 10 / 9 of ten times a single value's.
        apart = stats.clustered_share(equal, np.repeat(np.arange(10), 10))
        assert apart.high == pytest.approx(stats.wilson(4.5 * few, 9 * few).high)
        perfect = stats.clustered_share(np.ones(100), np.repeat(np.arange(10), 10))
        assert (perfect.low, perfect.high) == (pytest.approx(stats.wilson(10, 10).low), 1)

    def test_covers_the_truth_where_clusters_differ(self) -> None:
        """Twenty-four clusters of 28, whose own shares spread by 0.2: as the templates of a suite."""
        rng, clusters = np.random.default_rng(0), np.repeat(np.arange(24), 28)
        hits = 0
        for _ in range(400):
            values = rng.random(672) < np.repeat(rng.beta(2.5, 2.5, 24), 28)
            hits += 0.5 in stats.clustered_share(values, clusters)
        assert 0.92 <= hits / 400 <= 0.99

    def test_one_cluster_is_worth_one_value(self) -> None:
        assert stats.clustered_share([0, 1], [0, 0]).low == stats.wilson(0.5, 1).low


class TestManyTests:
    def test_by_hand(self) -> None:
        # m = 4: 0.01 * 4 / 1, 0.02 * 4 / 2, 0.03 * 4 / 3, 0.5 * 4 / 4 = 0.04 throughout, then 0.5
        np.testing.assert_allclose(stats.benjamini_hochberg([0.5, 0.02, 0.01, 0.03]), [0.5, 0.04, 0.04, 0.04])

    def test_scipy_agrees_on_every_head(self) -> None:
        p = np.random.default_rng(9).uniform(size=(12, 8)) ** 3
        reference = scipy_stats.false_discovery_control(p, axis=None).reshape(p.shape)
        np.testing.assert_allclose(stats.benjamini_hochberg(p), reference)

    def test_a_test_that_was_not_made_is_not_counted(self) -> None:
        q = stats.benjamini_hochberg([0.01, np.nan, 0.04])
        np.testing.assert_allclose(q[[0, 2]], [0.02, 0.04])
        assert np.isnan(q[1])

    def test_refusal(self) -> None:
        with pytest.raises(ValueError, match="between 0 and 1"):
            stats.benjamini_hochberg([0.5, 1.5])


def two_sided(positives: ArrayLike, negatives: ArrayLike) -> stats.Auroc:
    """The AUROC of two samples."""
    return stats.auroc(
        np.concatenate([positives, negatives]), np.arange(len(positives) + len(negatives)) < len(positives)
    )


class TestAuroc:
    def test_by_hand(self) -> None:
        # pairs (2,1) (2,2) (3,1) (3,2): wins 1 + 0.5 + 1 + 1 of 4; over = [.75, 1], under = [1, .75],
        # each with sample variance 1/32, so the variance is 1/64 + 1/64, with one degree of freedom; Newcombe's,
        # which counts for two, is .875 x .125 (1 + .125 / 1.125 + .875 / 1.875) / 4 = 0.043142; logit(.875) = ln 7
        found = stats.auroc([2, 1, 3, 2], [True, False, True, False], level=0.5)
        assert found.estimate == 0.875
        error = math.sqrt((1 / 32 + 2 * 0.0431424) / 3) / (0.875 * 0.125)
        for end, sign in ((found.low, -1), (found.high, 1)):
            assert math.log(end / (1 - end)) == pytest.approx(math.log(7) + sign * 0.764892 * error, rel=1e-5)
        assert found.p == pytest.approx(scipy_stats.t.sf(math.log(7) / error, 3), rel=1e-5)
        assert found.method == "DeLong, moderated, by logit and t"

    def test_scikit_learn_agrees_on_every_row(self) -> None:
        from sklearn.metrics import roc_auc_score

        rng = np.random.default_rng(11)
        scores, positive = rng.integers(0, 20, (3, 60, 90)), rng.random((3, 60, 90)) < 0.3
        scores = scores + 2 * positive
        found = stats.auroc(scores, positive)
        assert found.estimate.shape == found.low.shape == found.p.shape == (3, 60)
        for row in np.ndindex(3, 60):
            assert found.estimate[row] == pytest.approx(roc_auc_score(positive[row], scores[row]))

    def test_rows_together_are_rows_alone(self) -> None:
        rng = np.random.default_rng(14)
        scores, positive = rng.normal(size=(600, 40)), rng.random(40) < 0.5  # more rows than are ranked at a time
        together = stats.auroc(scores, positive)
        for row in (0, 255, 256, 599):
            alone = stats.auroc(scores[row], positive)
            for name in ("estimate", "low", "high", "p"):
                assert getattr(together, name)[row] == pytest.approx(getattr(alone, name))

    def test_the_pairwise_definition_gives_the_same_variance(self) -> None:
        rng = np.random.default_rng(12)
        x, y = rng.normal(1, 1, 30), rng.normal(0, 2, 40)
        wins = (x[:, None] > y) + 0.5 * (x[:, None] == y)
        parts = wins.mean(1).var(ddof=1) / 30, wins.mean(0).var(ddof=1) / 40
        found, area = two_sided(x, y), wins.mean()
        prior = float(newcombe(*(np.array([value]) for value in (area, 30.0, 40.0)))[0])
        variance = (29 * sum(parts) + 2 * prior) / 31
        reach = scipy_stats.t.ppf(0.975, 31) * math.sqrt(variance) / (area * (1 - area))
        assert scipy_stats.logistic.ppf(found.low) == pytest.approx(scipy_stats.logistic.ppf(area) - reach)
        assert scipy_stats.logistic.ppf(found.high) == pytest.approx(scipy_stats.logistic.ppf(area) + reach)

    def test_swapping_the_classes_mirrors_it(self) -> None:
        rng = np.random.default_rng(13)
        x, y = rng.normal(0.5, 1, 30), rng.normal(size=40)
        one, other = two_sided(x, y), two_sided(y, x)
        assert (one.estimate, one.low) == pytest.approx((1 - other.estimate, 1 - other.high))

    @pytest.mark.parametrize("others", [10, 990])
    def test_perfect_separation_is_as_certain_as_its_pairs(self, others: int) -> None:
        """All of 10 disjoint pairs are in order, which an area of A makes happen with a probability of A^10 at most."""
        found = two_sided(np.arange(10) + 0.5 + others, np.arange(others))
        assert found.estimate == found.high == 1
        assert (found.low, found.p) == pytest.approx((0.025**0.1, 0.5**10))
        mirrored = two_sided(np.arange(others), np.arange(10) + 0.5 + others)
        assert (mirrored.low, mirrored.high, mirrored.p) == pytest.approx((0, 1 - 0.025**0.1, 1 - 0.5**10))

    def test_few_disorders_are_bounded_by_divergence(self) -> None:
        """One positive of 20 is below 50 of 1000 negatives. So large an area is e^(-20 KL) likely at most."""
        scores = np.concatenate([np.arange(1001, 1020), [949.5], np.arange(1000)])
        found, area = stats.auroc(scores, np.arange(1020) < 20), 1 - 50 / 20_000
        divergence = area * math.log(area / found.low) + (1 - area) * math.log((1 - area) / (1 - found.low))
        assert found.estimate == pytest.approx(area) and 20 * divergence == pytest.approx(math.log(40))
        assert found.p == pytest.approx(
            0.5**20 * math.exp(-20 * (area * math.log(area) + (1 - area) * math.log(1 - area)))
        )

    def test_stories_that_hold_both_classes_are_half_as_many_pairs(self) -> None:
        """Whatever a story has in common moves its positives and its negatives: 20 stories are 10 pairs of stories."""
        found = stats.auroc(np.arange(200) % 2, np.arange(200) % 2, clusters=np.arange(200) // 10)
        assert (found.low, found.p) == pytest.approx((0.025**0.1, 0.5**10))

    def test_a_few_scores_that_decide_the_error_are_few_degrees_of_freedom(self) -> None:
        """Of 30 positives one is below 30 of 60 negatives: its residual makes nearly all of the variance."""
        positive, negative = np.append(np.arange(29) + 100, 29.5), np.arange(60)
        found, area = two_sided(positive, negative), 1 - 0.5 / 30
        over, under = np.append(np.ones(29), 0.5), np.append(np.ones(30), np.full(30, 29 / 30))
        r = np.concatenate([(over - area) / math.sqrt(30 * 29), (under - area) / math.sqrt(60 * 59)])
        freedom = 2 / ((r**4).sum() / (r**2).sum() ** 2 - 1 / 30)
        prior = float(newcombe(*(np.array([value]) for value in (area, 30.0, 60.0)))[0])
        error = math.sqrt((freedom * (r**2).sum() + 2 * prior) / (freedom + 2)) / (area * (1 - area))
        assert 2 < freedom < 3
        reach = scipy_stats.t.ppf(0.975, freedom + 2) * error
        assert scipy_stats.logistic.ppf(found.high) - scipy_stats.logistic.ppf(area) == pytest.approx(reach)

    def test_near_1_it_covers_where_few_scores_decide(self) -> None:
        """Exponential scores: with 29 degrees of freedom 85% of these intervals held the area."""
        rng, area = np.random.default_rng(17), 0.97
        scores = rng.exponential(size=(1000, 330))
        scores[:, :30] *= area / (1 - area)
        found = stats.auroc(scores, np.arange(330) < 30)
        hits = int(((found.low <= area) & (area <= found.high)).sum())
        assert scipy_stats.binomtest(hits, 1000, 0.95, alternative="less").pvalue > 0.001

    def test_too_few_have_no_interval_and_none_has_no_area(self) -> None:
        positive = np.array([[True] * 4, [True, False, False, False], [True, True, False, False]])
        found = stats.auroc([4, 3, 2, 1], positive)
        assert np.isnan(found.estimate[0]) and found.estimate[1:].tolist() == [1, 1]
        assert np.isnan(found.low).tolist() == np.isnan(found.p).tolist() == [True, True, False]
        assert np.isnan(stats.auroc([4, 3, 2, 1], positive, enough=3).high).all()

    def test_scores_of_their_own_cluster_are_scores(self) -> None:
        rng = np.random.default_rng(15)
        scores, positive = rng.integers(0, 9, (5, 60)), rng.random((5, 60)) < 0.4
        alone, clustered = stats.auroc(scores, positive), stats.auroc(scores, positive, clusters=rng.permutation(60))
        for name in ("estimate", "low", "high", "p"):
            np.testing.assert_allclose(getattr(clustered, name), getattr(alone, name))

    def test_copies_within_a_cluster_teach_nothing(self) -> None:
        """Every score written three times: by clusters the interval stays, by scores it is narrower by sqrt 3."""
        rng = np.random.default_rng(16)
        scores, positive, copy = rng.normal(size=80), np.arange(80) < 30, np.repeat(np.arange(80), 3)
        once = stats.auroc(scores + positive, positive)
        thrice = stats.auroc((scores + positive)[copy], positive[copy], clusters=copy)
        assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high), abs=2e-3)
        naive = stats.auroc((scores + positive)[copy], positive[copy])
        assert once.halfwidth / naive.halfwidth == pytest.approx(math.sqrt(3), rel=0.05)

    def test_by_cluster_by_hand(self) -> None:
        """Two clusters hold a positive each, and one more negative: their residuals add before they are squared."""
        # placements: positive 3 above all negatives (1), positive 1.5 above one of two (1/2); area 3/4.
        # negatives: 1 below both (1), 2 below one (1/2). Clusters: (3, 1), (1.5, 2). Two clusters make squares twice as
        # large, so cluster 1 has sqrt(2) (1/8 + 1/8), cluster 2 the opposite: variance 1/4, one degree of freedom.
        found = stats.auroc([3, 1, 1.5, 2], [True, False, True, False], level=0.5, clusters=["a", "a", "b", "b"])
        assert found.estimate == 0.75
        # By score the variance would be 1/8, so clusters make it twice as large, and Newcombe's as well.
        prior = 2 * 0.75 * 0.25 * (1 + 0.25 / 1.25 + 0.75 / 1.75) / 4
        error = math.sqrt((1 / 4 + 2 * prior) / 3) / (0.75 * 0.25)
        assert math.log(3) - math.log(found.low / (1 - found.low)) == pytest.approx(scipy_stats.t.ppf(0.75, 3) * error)

    def test_one_cluster_has_no_interval_and_labels_must_fit(self) -> None:
        scores, positive = np.arange(12.0), np.arange(12) % 2 == 0
        one = stats.auroc(scores, positive, clusters=np.zeros(12))
        assert not np.isnan(one.estimate) and np.isnan(one.low) and np.isnan(one.p)
        with pytest.raises(ValueError, match=r"\(5,\) labels for 12 scores"):
            stats.auroc(scores, positive, clusters=np.zeros(5))


class TestRatioOfSums:
    def test_by_hand(self) -> None:
        # 10 / 4 = 2.5; residuals -1, 0, 0, 1 about it give sqrt(4/3 x 2) / 4
        interval = stats.ratio_of_sums([1.5, 2.5, 2.5, 3.5], [1, 1, 1, 1])
        reach = 3.182446 * math.sqrt(4 / 3 * 2) / 4  # t(0.975, 3)
        assert (interval.estimate, interval.low, interval.high) == pytest.approx((2.5, 2.5 - reach, 2.5 + reach))

    def test_units_carry_through_and_exact_ratios_have_no_width(self) -> None:
        over, under = np.array([3.0, 5, 4, 9]), np.array([2.0, 2, 3, 5])
        once, doubled = stats.ratio_of_sums(over, under), stats.ratio_of_sums(2 * over, under)
        assert doubled.halfwidth == pytest.approx(2 * once.halfwidth)
        assert stats.ratio_of_sums(3 * under, under).halfwidth == pytest.approx(0, abs=1e-12)

    def test_it_covers_what_it_says(self) -> None:
        rng = np.random.default_rng(0)
        covered = 0
        for _ in range(400):
            under = rng.integers(20, 200, 60)
            covered += 2.0 in stats.ratio_of_sums(under * rng.normal(2.0, 0.5, 60), under)
        assert 0.91 <= covered / 400 <= 0.98

    def test_few_stories_are_covered_as_often_as_many(self) -> None:
        """Of 2,000 corpora of five stories about 95% (with the normal's 1.96 it would be 88%)."""
        rng = np.random.default_rng(1)
        covered = 0
        for _ in range(2000):
            under = rng.integers(80, 120, 5)
            covered += 2.0 in stats.ratio_of_sums(under * rng.normal(2.0, 0.5, 5), under)
        assert 0.93 <= covered / 2000 <= 0.97

    def test_a_long_story_leaves_fewer_degrees_of_freedom(self) -> None:
        """Variance and degrees of freedom against the quadratic form itself, matrix by matrix."""
        rng = np.random.default_rng(2)
        under = np.array([1.0, 2, 3, 4, 30])
        over, w = under * rng.normal(2, 0.5, 5), under / under.sum()
        r = over / under
        off = np.eye(5) - np.outer(np.ones(5), w)  # takes the ratio off
        left = np.diag(off @ off.T)
        form = off.T @ np.diag(w**2 / left) @ off
        df = np.trace(form) ** 2 / np.trace(form @ form)
        assert np.trace(form) == pytest.approx((w**2).sum()) and df < 2  # unbiased; not 4 degrees of freedom
        reach = scipy_stats.t.ppf(0.975, df) * math.sqrt(r @ form @ r)
        assert stats.ratio_of_sums(over, under).halfwidth == pytest.approx(reach)

    def test_one_cluster_has_no_interval(self) -> None:
        interval = stats.ratio_of_sums([4], [2])
        assert interval.estimate == 2 and math.isnan(interval.low) and math.isnan(interval.high)


def test_jackknife_of_a_mean_is_student_s_interval() -> None:
    """With one value a group the two are the same formula."""
    values = np.random.default_rng(0).normal(1, 2, (12, 3))
    without = (values.sum(0) - values) / 11
    ours, theirs = stats.jackknife(values.mean(0), without), stats.mean_interval(values)
    assert np.allclose(ours.low, theirs.low) and np.allclose(ours.high, theirs.high)
    assert ours.method == "delete-a-group jackknife"
    p = stats.jackknife_p(values.mean(0), without, 0.5)
    assert np.allclose(p, scipy_stats.ttest_1samp(values, 0.5, alternative="greater").pvalue)


def test_orders_and_ranks_are_those_of_stable_sorts_and_of_scipy() -> None:
    """Many rows, ties, both zeros, both infinities."""
    scores = np.random.default_rng(0).normal(size=(150, 90)).round(1).astype(np.float32)
    scores[:, :4] = 0.0, -0.0, np.inf, -np.inf
    assert np.array_equal(stats.argsort_falling(scores), np.argsort(-scores, axis=1, kind="stable"))
    assert np.array_equal(stats.mean_ranks(scores), scipy_stats.rankdata(scores, axis=1))
    assert stats.mean_ranks(np.float32([[3, 1, 3]])).tolist() == [[2.5, 1, 2.5]]


def test_jackknife_where_nothing_varies_or_nothing_is_known() -> None:
    constant = stats.jackknife(1.0, np.ones(5))
    assert (constant.low, constant.high) == (1.0, 1.0)
    assert stats.jackknife_p(1.0, np.ones(5), 0.5) == 0.0
    assert stats.jackknife_p(1.0, np.ones(5), 1.0) == 1.0
    assert math.isnan(stats.jackknife_p(math.nan, np.full(5, np.nan)))
    with pytest.raises(ValueError, match="at least 2 groups; got 1"):
        stats.jackknife(1.0, np.ones(1))
    with pytest.raises(ValueError, match="groups x"):
        stats.jackknife(np.ones(2), np.ones((5, 3)))


def test_a_rank_among_controls_by_hand() -> None:
    """Of 19 controls none reaches 5, one reaches 3, all reach 0; without controls nothing is known."""
    controls = [3, *[0] * 18]
    assert [float(stats.rank_p(value, controls)) for value in (5, 3, 0)] == [0.05, 0.1, 1.0]
    assert stats.rank_p([5, 0], np.array([[3, 3], [6, 0]])).tolist() == [2 / 3, 1.0]
    assert float(stats.rank_p(5, [])) == 1.0


def test_bins_of_numbers_are_exact_to_eight_and_then_four_an_octave() -> None:
    assert stats.octave_bins(np.arange(1, 13)).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9, 10]
    many = stats.octave_bins(np.arange(1, 5000))
    assert (np.diff(many) >= 0).all() and np.diff(many).max() == 1
    assert stats.octave_bins(np.array([1024]))[0] == stats.octave_bins(np.array([512]))[0] + 4


def test_sums_of_few_skewed_values_have_the_p_of_their_permutations() -> None:
    """Sets of 3 of 40 units, of 20 common and 20 rare ones, whose values are skewed: the normal p is far too small,
    that of permutations is uniform where it is small."""
    rng = np.random.default_rng(0)
    like, values = np.repeat([0, 1], 20), rng.exponential(size=(4000, 40)) ** 3
    members = np.zeros((40, 2), dtype=bool)
    members[[0, 1, 20], 0] = True
    members[5:35, 1] = True
    p = stats.p_of_sums(values, members, like)
    for level in (0.05, 0.01):
        reached = int((p[:, 0] <= level).sum())
        assert scipy_stats.binomtest(reached, len(p), level, alternative="greater").pvalue > 0.001, level
        assert reached > 0.6 * level * len(p)
    half = np.array([[5.0, *[0.0] * 19, 2.0, *[0.0] * 19]])  # 1 of 20 times 2 of 20, and others do as well
    assert stats.p_of_sums(half, members[:, :1], like)[0, 0] == pytest.approx(2 / 20 * 1 / 20, abs=0.003)
    assert stats.p_of_sums(half, ~members[:, :1] & False, like)[0, 0] == 1


def test_units_of_like_frequency_are_permuted() -> None:
    """The largest 3 of 20 are a set of 3: one of 1,140 draws, which the normal distribution does not know."""
    values, sets, like = np.arange(20.0)[None], np.repeat([0, 1], [17, 3]), np.zeros(20, dtype=int)
    exact = stats.p_of_permuted(values, sets, like, 2)
    assert exact[0, 1] < 0.004 and exact[0, 0] == 1
    assert stats.p_of_sums(values, np.eye(2, dtype=bool)[sets], like)[0, 1] == pytest.approx(1 / 1140, abs=7e-4)
    apart = stats.p_of_permuted(values, sets, np.repeat([0, 1], [17, 3]), 2)
    assert (apart == 1).all()  # no permutation changes a class of one set
    rng = np.random.default_rng(0)
    values, like = rng.exponential(size=(2000, 60)), np.repeat([0, 1, 2], 20)
    p = stats.p_of_permuted(values + like, np.array([0, 0, 1, *[2] * 17] * 3), like, 3)
    assert (
        scipy_stats.kstest(p[:, 0], "uniform").pvalue > 0.001 and scipy_stats.kstest(p[:, 2], "uniform").pvalue > 0.001
    )


@pytest.mark.parametrize(("one", "other"), [(0.02, 0.02), (0.003, 0.0), (0.05, 0.5), (0.7, 0.7)])
@pytest.mark.parametrize("n", [32, 116])
def test_intervals_of_shares_and_of_their_differences_cover(n: int, one: float, other: float) -> None:
    """Of means of two tries each, where few or none succeed too; but for what chance leaves in one of 1,000 tests."""
    rng, runs, covered = np.random.default_rng(n), 500, np.zeros(3)

    def shares(p: float) -> np.ndarray:
        return (rng.random((n, 2)) < p).mean(1)

    for _ in range(runs):
        own, gains, others = shares(one), shares(one) - shares(other), shares(one) - shares(other)
        found = stats.mean_share(own), stats.share_difference(gains), stats.share_difference(gains, others)
        assert all(each.halfwidth > 0 for each in found)
        covered += [truth in each for truth, each in zip((one, one - other, 0.0), found, strict=True)]
    assert (covered >= scipy_stats.binom.ppf(0.001, runs, 0.95)).all()


def test_a_difference_of_equal_shares_by_hand() -> None:
    """Of 32: a variance of 1 / 33 over 34 values, so t(0.975, 33) * sqrt(1 / 33 / 34) = 2.0345 * 0.02985 = 0.0607."""
    found = stats.share_difference(np.zeros(32))
    assert (found.estimate, found.low, found.high) == pytest.approx((0, -0.0607, 0.0607), abs=1e-4)
    assert stats.share_difference([0.5, 0.7]).estimate == pytest.approx(0.6)


def test_large_p_values_need_few_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are as exact as if every value had all permutations; a large one stays large."""
    rng = np.random.default_rng(1)
    values, sets, like = rng.exponential(size=(300, 60)), np.array([0, 0, 1, *[2] * 17] * 3), np.repeat([0, 1, 2], 20)
    values[:40, sets == 1] += 1.5
    early = stats.p_of_permuted(values, sets, like, 3)
    monkeypatch.setattr("tslens.stats.permuted.ENOUGH", 10_000)
    whole = stats.p_of_permuted(values, sets, like, 3)
    small = whole <= 0.05
    assert 40 < small.sum() < 450
    np.testing.assert_array_equal(early[small], whole[small])
    assert (early[~small] > 0.05).all() and np.abs(early - whole).max() < 0.15
