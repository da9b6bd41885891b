"""Turns, ratios and targets on works whose times are known."""

import numpy as np
import pytest

from tslens.bench.measure import Benchmark, Measured, Target, clocked, faster, median, seconds, take_turns


def test_works_take_turns_after_one_that_does_not_count() -> None:
    told: list[str] = []

    def work(name: str, spent: list[float]):
        def once() -> float:
            told.append(name)
            return spent.pop(0)

        return once

    times = take_turns(work("a", [9.0, 1.0, 2.0]), work("b", [9.0, 3.0, 4.0]), repeats=2)
    assert told == ["a", "b", "a", "b", "a", "b"]
    assert times.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_ratio_is_the_median_over_turns() -> None:
    ours, theirs = np.array([1.0, 2.0, 4.0]), np.array([4.0, 4.0, 4.0])
    found = faster(ours, theirs, units=100, unit="tokens")
    assert found.value == 2.0  # of 4, 2 and 1
    assert 1.0 <= found.low <= 2.0 <= found.high <= 4.0
    assert (found.ours, found.theirs, found.repeats) == ("50 tokens/s", "25 tokens/s", 3)


def test_interval_of_turns_that_agree_has_no_width() -> None:
    assert (median([2.0] * 5).low, median([2.0] * 5).high) == (2.0, 2.0)
    assert median([3.0]).estimate == 3.0


def test_a_work_is_timed_by_the_clock_or_by_itself() -> None:
    assert 0 <= seconds(lambda: None) < 1
    assert seconds(lambda: 5.0) == 5.0
    assert clocked(lambda: 2.0, repeats=3) == Measured(2.0, 2.0, 2.0, 3)


@pytest.mark.parametrize(
    ("target", "value", "verdict"),
    [
        (Target(3), 3.0, "pass"),
        (Target(3), 2.99, "short"),
        (Target(0.33, at_most=True), 0.33, "pass"),
        (Target(0.33, at_most=True), 0.34, "short"),
        (None, 0.0, ""),
    ],
)
def test_verdict(target: Target | None, value: float, verdict: str) -> None:
    row = Benchmark("a", "what", "against", target, lambda size: Measured.exactly(value))
    assert row.verdict(Measured.exactly(value)) == verdict


def test_a_target_says_which_way() -> None:
    assert (str(Target(3)), str(Target(0.33, at_most=True))) == ("≥ 3", "≤ 0.33")
