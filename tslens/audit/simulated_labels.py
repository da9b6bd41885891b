"""Simulated corpora of the intervals that labels rest on: tests of labels, kinds of keys, counts on few stories."""

import math
from itertools import count

import numpy as np
import torch

from tslens import stats
from tslens.analysis.heads.evidence import ratio
from tslens.analysis.neurons.held_out_measures import GROUPS, MEASURES, area_alike, measured
from tslens.analysis.neurons.held_out_words import area_words
from tslens.audit.coverage import LEVEL, Simulated, covered
from tslens.audit.simulated import OWN, area_of, tokens_of_stories
from tslens.stats import Interval

TESTED, KIND = "test of a label", "excess of a kind"
"""How the names of the intervals begin behind labels that predict, and behind kinds of keys."""
APART, STORIES, BASE = 1.0, 100, 0.2
"""Distance of the tokens of a label from others in standard deviations, stories that test it, and share of its tokens.
"""
FIRST = 1000  # of the numbers of generators: those below are `simulated`'s
WORDS, OF_WORD = 120, 10
"""Words of simulated stories, and tokens of each."""


def simulated_labels(runs: int, seed: int = 0) -> list[Simulated]:
    """Coverage over `runs` corpora each of the measures of held-out tests and of the excess of a kind over the smallest
    of its nulls; and p-values of words permuted among words of like frequency."""
    rngs = (np.random.default_rng([seed, FIRST + i]) for i in count())
    found = [*_tests(runs, next(rngs)), _alike(runs, next(rngs)), _over_words(runs, next(rngs))]
    found += [_kind(f"{KIND}, {name} nulls", gap, runs, next(rngs)) for name, gap in (("like", 0.0), ("unlike", 0.2))]
    return found + [_sums(few, runs, next(rngs)) for few in (True, False)]


def _stacked(rows: list[tuple[float, float, float]], method: str) -> Interval:
    value, low, high = np.array(rows).T
    return Interval(value, low, high, LEVEL, method)


def _tests(runs: int, rng: np.random.Generator) -> list[Simulated]:
    """AUROC, precision and recall of `measured`; the tokens of a story have a part of their activation in common."""
    from scipy.stats import norm

    values, positive, story = tokens_of_stories(runs, STORIES, rng, APART)
    sd, threshold = math.hypot(1, OWN), 1.5
    hit, other = float(norm.sf((threshold - APART) / sd)), float(norm.sf(threshold / sd))
    truths = {
        "auroc": area_of(APART, sd),
        "precision": BASE * hit / (BASE * hit + (1 - BASE) * other),
        "recall": hit,
    }
    each = [measured(v, y, story % GROUPS, threshold) for v, y in zip(values, positive, strict=True)]
    return [
        covered(
            f"{TESTED}, {'AUROC' if name == 'auroc' else name}",
            _stacked([(one.value[i], one.low[i], one.high[i]) for one in each], "delete-a-group jackknife"),
            truth,
        )
        for name, truth in truths.items()
        for i in [MEASURES.index(name)]
    ]


def _alike(runs: int, rng: np.random.Generator) -> Simulated:
    """Words of Zipf's frequencies, rare ones twice as often of the label."""
    values, _, story = tokens_of_stories(runs, STORIES, rng, 0.0)
    often = np.maximum(1, 300 // np.arange(1, WORDS + 1))
    rows = []
    for row in values:
        word = rng.choice(WORDS, len(row), p=often / often.sum())
        positive = rng.random(len(row)) < np.where(often[word] < 20, 2 * BASE, BASE)
        of = area_alike(row + APART * positive.astype(np.float32), positive, story % GROUPS, often[word])
        rows.append((of.estimate, of.low, of.high))
    truth = area_of(APART, math.hypot(1, OWN))
    return covered(f"{TESTED}, AUROC among words of like frequency", _stacked(rows, "jackknife"), truth)


def _over_words(runs: int, rng: np.random.Generator) -> Simulated:
    """Words have an activation of their own, drawn anew for each corpus; the truth is the mean over all words that
    could be of the label, beside the tokens of others that were read."""
    from scipy.stats import norm

    word, some = np.repeat(np.arange(WORDS), OF_WORD), np.arange(WORDS) < BASE * WORDS
    rows, truths = [], []
    for _ in range(runs):
        own = OWN * rng.normal(size=WORDS) + APART * some
        values = own[word] + rng.normal(size=len(word))
        of = area_words(values, some[word], word, np.full(len(word), OF_WORD))
        rows.append((of.estimate, of.low, of.high))
        truths.append(norm.cdf((APART - values[~some[word]]) / math.hypot(1, OWN)).mean())
    return covered(f"{TESTED}, AUROC over words", _stacked(rows, "Student t"), np.array(truths))


def _kind(name: str, gap: float, runs: int, rng: np.random.Generator, groups: int = 16) -> Simulated:
    """The smallest of two excesses over nulls of the same queries, 0.2 and `gap` more, in groups of stories."""
    under = rng.lognormal(3, 0.4, (groups, runs, 1))
    both = 0.1 * rng.normal(size=(groups, runs, 1)) + 0.1 * rng.normal(size=(groups, runs, 2))
    found = ratio(torch.from_numpy(under * (0.2 + np.array([0.0, gap]) + both)), torch.from_numpy(under))
    value, low, high = (end.amin(-1).numpy() for end in (found.value, *found.interval))
    return covered(name, Interval(value, low, high, LEVEL, "smallest of jackknives"), 0.2)


def _sums(few: bool, runs: int, rng: np.random.Generator) -> Simulated:
    """P-values of sums of skewed activations of a class's words, permuted among words of like frequency: above 0.05 in
    95% of corpora. (Normal p-values that are not small stay as they are, so that all of them are not quite uniform.)"""
    values, like = rng.exponential(size=(runs, WORDS)), np.arange(WORDS) // 20
    members = np.zeros((WORDS, 1), dtype=bool)
    members[:: 12 if few else 4] = True
    p = stats.p_of_sums(values, members, like)[:, 0]
    beyond = Interval(p, np.full(runs, 1 - LEVEL), np.ones(runs), LEVEL, "permutations")
    return covered(f"p of {members.sum()} words above 0.05", beyond, p, least=True)
