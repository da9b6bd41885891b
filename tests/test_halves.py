"""Answers on halves of the stories: complements, order, and the interval that they give."""

from dataclasses import dataclass
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, t

from tslens import models
from tslens.halves import ENOUGH, GROUPS, PAIRS, around, halves, joined, on_halves, reach, warn_of_few
from tslens.result import Result
from tslens.stats import wilson
from tslens.stories import stories


@dataclass(frozen=True, eq=False)
class SeenResult(Result):
    """The stories that were read."""

    texts: list[str]


class Seen:
    """Lists the stories that it is given."""

    def __init__(self):
        self.started = 0

    def hooks(self, spec):
        return []

    def start(self, model):
        self.started += 1
        return []

    def update(self, state, activations, batch):
        state.extend(batch.texts)
        return state

    def merge(self, a, b):
        a.extend(b)
        return a

    def finish(self, state):
        return SeenResult(sorted(state))


@pytest.fixture(scope="module")
def model(made_words):
    return models.build(models.Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=16), tokenizer=made_words)


def test_each_half_of_the_groups_is_followed_by_its_complement():
    found = list(halves())
    assert len(found) == len({tuple(half) for half in found}) == 2 * PAIRS
    assert all(sorted(half + rest) == list(range(GROUPS)) for half, rest in zip(found[::2], found[1::2], strict=True))


def test_a_half_and_its_complement_are_the_whole(model):
    texts, reducer = list(stories("made", limit=23)), Seen()
    whole, *parts = [answer.texts for (answer,) in on_halves(model, texts, [reducer])]
    assert whole == sorted(texts) and len(parts) == 2 * PAIRS and reducer.started == 1
    for half, rest in zip(parts[::2], parts[1::2], strict=True):
        assert sorted(half + rest) == whole and abs(len(half) - len(rest)) <= GROUPS // 2
    assert len({tuple(half) for half in parts}) == 2 * PAIRS


class Longest(Seen):
    """Goes on from what another reducer saw."""

    reads = Seen()

    def conclude(self, answer):
        return SeenResult([max(answer.texts, key=len)])


def test_a_reducer_that_goes_on_from_another_s_answer_reads_nothing(model):
    texts, longest = list(stories("made", limit=23)), Longest()
    for seen, found in on_halves(model, texts, [longest.reads, longest]):
        assert found.texts == longest.conclude(seen).texts
    assert longest.started == 0 and longest.reads.started == 1


def test_the_order_of_stories_changes_no_half(model):
    texts = list(stories("made", limit=23))
    there, back = ([each.texts for (each,) in on_halves(model, order, [Seen()])] for order in (texts, texts[::-1]))
    assert there == back


def test_halves_that_are_no_complements_share_half_of_their_groups():
    found = list(halves())
    assert len(found) == 2 * PAIRS == 2 * (GROUPS - 1)
    assert {len(set(a) & set(b)) for a, b in combinations(found[::2], 2)} == {GROUPS // 4}


def test_the_reach_is_that_of_t_on_the_differences_between_complements():
    halves = torch.tensor([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0], [8.0, 5.0]], dtype=torch.float64)
    spread = ((1 + 9) / 2) ** 0.5  # of -1 and -3
    assert reach(halves).tolist() == pytest.approx([spread * t.ppf(0.975, 2), 0.0])


def test_the_reach_covers_a_mean_as_often_as_it_says():
    """The mean over groups of stories: the test rejects intervals that cover less than 93.3% or more than 96.5%."""
    runs = 4000
    groups = torch.randn(GROUPS, runs, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    width = reach(torch.stack([groups[half].mean(0) for half in halves()]))
    covered = int((groups.mean(0).abs() <= width).sum())
    assert binomtest(covered, runs, 0.95).pvalue > 0.001
    assert width == pytest.approx(groups.std(0) / GROUPS**0.5 * t.ppf(0.975, GROUPS - 1))  # that of t itself


def test_a_count_is_as_wide_as_wilson_s_where_all_halves_agree():
    count, of = torch.tensor([3, 0, 16, 548]), torch.tensor([50, 50, 16, 0])
    low, high = around(count, count.expand(14, 4), of)
    found = wilson(count[:3].numpy(), of[:3].numpy())
    assert low[:3].tolist() == pytest.approx((found.low * of[:3].numpy()).tolist(), abs=1e-5)
    assert high[:3].tolist() == pytest.approx((found.high * of[:3].numpy()).tolist(), abs=1e-5)
    assert low[3] == high[3] == 548  # a share of positions: halves alone tell


def test_a_mean_count_of_runs_that_agree_is_as_wide_as_wilson_s_of_all_their_units():
    count, of = torch.tensor([4.0, 0.0, 12.0], dtype=torch.float64), torch.tensor([12, 12, 12])
    low, high = joined(count, torch.zeros(3), of, runs=3)
    found = wilson([12, 0, 36], [36, 36, 36])
    assert low.tolist() == pytest.approx((12 * found.low).tolist(), abs=1e-5)
    assert high.tolist() == pytest.approx((12 * found.high).tolist(), abs=1e-5)
    assert low[1] == 0 < high[1] < 12 == high[2] and 0 < low[2] < 12


def test_the_ends_of_a_count_add_both_distances_as_squares():
    halves = torch.tensor([[8], [2]] * 7)  # complements differ by 6
    (low,), (high,) = around(torch.tensor([10]), halves, torch.tensor([50]))
    width, share = 3 * t.ppf(0.975, 7), wilson(10, 50)
    assert float(low) == pytest.approx(max(0, 10 - (width**2 + (10 - 50 * share.low) ** 2) ** 0.5), abs=1e-4)
    assert float(high) == pytest.approx(10 + (width**2 + (50 * share.high - 10) ** 2) ** 0.5, abs=1e-4)
    assert around(torch.tensor([49]), 20 * halves, torch.tensor([50]))[1] == 50 and around(*nothing_of(9))[0] == 0


def nothing_of(of):
    return torch.tensor([0]), torch.zeros(14, 1, dtype=torch.int64), torch.tensor([of])


def test_intervals_of_counts_on_few_stories_are_too_narrow_and_a_line_says_so(monkeypatch, capsys):
    """As the audit simulates them, each story read once."""
    simulated = import_module("tslens.audit.simulated")
    monkeypatch.setattr(simulated, "FEW", -1)
    cover = {
        stories: simulated._count("many", simulated.EFFECTS["many"], 300, np.random.default_rng(0), stories).value
        for stories in (32, 48, ENOUGH)
    }
    assert cover[32] == pytest.approx(0.73, abs=0.06) and cover[48] == pytest.approx(0.82, abs=0.06)
    assert cover[ENOUGH] > 0.92
    warn_of_few(ENOUGH)
    warn_of_few(50)
    assert capsys.readouterr().err == (
        "Intervals of counts on 50 stories are too narrow: simulated ones cover 73% on 32 stories and 82% on 48. Give "
        "96 stories or more.\n"
    )
