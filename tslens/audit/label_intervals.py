"""Simulated corpora for the intervals and p-values that labels rest on: of neurons, kinds of keys, written classes.

The tests of a neuron's label are read on 50 stories, half of an audit's, in ten groups; kinds of keys and written
classes in 16 groups.
Areas and shares near 1, and the excess of a kind, are conservative (`coverage.AT_LEAST`): they may cover more than 95%.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from tslens import stats
from tslens.analysis.heads.evidence import ratio
from tslens.analysis.heads.kinds import NULLS, OF_KIND, ends
from tslens.analysis.neurons.held_out_measures import GROUPS, MEASURES, area_alike, measured
from tslens.analysis.neurons.held_out_pairs import Sides
from tslens.analysis.neurons.held_out_words import area_words
from tslens.audit.coverage import LEVEL, Simulated, covered
from tslens.audit.simulated import NEAR_1, OWN, area_of, tokens_of_stories
from tslens.stats import Interval

TESTED, KIND, WRITTEN = "test of a label", "excess of a kind", "excess of a written class"
"""How the names of the intervals begin that labels which predict, kinds of keys, and written classes rest on."""
STORIES, BASE, THRESHOLD = 50, 0.2, 1.5
"""Stories that test a label, the share of its tokens, and the activation above which it is said to hold."""
FREQUENCIES, SHARES = np.array([1, 3, 6, 12, 30, 100]), np.array([0.35, 0.3, 0.25, 0.2, 0.1, 0.05])
"""Frequencies of words, and the share of those of each that are of the label: rare words are more often of it."""
RARITY = 0.5
"""By how much a word's activation falls from one of these frequencies to the next."""
OF_KINDS, EXCESS = 16, 0.1
"""Groups of stories behind kinds of keys, and the excess over the null that a head exceeds least."""
GAPS = (("equal", 0.0), ("unequal", 0.2))
"""By how much a head's excess over one null exceeds that over the one before."""
WITH_NULLS = {len(rows): kind for kind, rows in reversed(list(enumerate(OF_KIND)))}
"""For each number of nulls that a kind has, the first kind with so many."""
READ, OFTEN = 100, {"two": 2.0, "thirty": 30.0}
"""Stories that written classes are read on, and how many places of a class there are in a story on average."""
LENGTHS = 0.3
"""Standard deviation of the logarithm of a story's length, as of TinyStories. Where lengths vary more and excess
grows with them, the interval of what a head writes covers less than 95%."""
WORDS, LIKE, OF_WORD = 120, 20, 10
"""Words of a simulated corpus, words of each class of like frequency, and tokens of each word."""


def of_labels(runs: int, rngs: Iterator[np.random.Generator]) -> list[Simulated]:
    """Every interval and p-value that labels rest on, over `runs` simulated corpora."""
    found = [test for apart in (1.0, 2.0, NEAR_1) for test in _measured(apart, runs, next(rngs))]
    found += [_alike(apart, runs, next(rngs)) for apart in (1.0, 2.0, NEAR_1)] + [_over_words(runs, next(rngs))]
    kinds = ((f"{KIND}, {n} {name} nulls", WITH_NULLS[n], gap) for n in sorted(WITH_NULLS) for name, gap in GAPS)
    found += [_excess(name, kind, gap, runs, next(rngs)) for name, kind, gap in kinds]
    found += [_written(name, places, runs, next(rngs)) for name, places in OFTEN.items()]
    return found + [_sums(members, runs, next(rngs)) for members in (60, 6)] + [_counts(runs, next(rngs))]


def _measured(apart: float, runs: int, rng: np.random.Generator) -> list[Simulated]:
    """AUROC, precision and recall of a label's test."""
    from scipy.stats import norm

    values, positive, story = tokens_of_stories(runs, STORIES, rng, apart)
    each = [measured(v, hit, story % GROUPS, THRESHOLD) for v, hit in zip(values, positive, strict=True)]
    low, high = (np.stack([getattr(one, end) for one in each], 1) for end in ("low", "high"))
    sd = math.hypot(1, OWN)
    area, recall = area_of(apart, sd), float(norm.sf((THRESHOLD - apart) / sd))
    wrong = (1 - BASE) * float(norm.sf(THRESHOLD / sd))
    truths = {"auroc": area, "precision": BASE * recall / (BASE * recall + wrong), "recall": recall}
    return [
        covered(f"{TESTED}, {name} {truth:.2f}", _interval(low[i], high[i]), truth, least=truth > 0.85)
        for name, truth in truths.items()
        for i in (MEASURES.index(name),)
    ]


def _alike(apart: float, runs: int, rng: np.random.Generator) -> Simulated:
    """The AUROC among words of like frequency; rare words are excited more, and are more often of the label."""
    values, _, story = tokens_of_stories(runs, STORIES, rng, 0.0)
    often = rng.integers(0, len(FREQUENCIES), values.shape)
    positive = rng.random(values.shape) < SHARES[often]
    values += (apart * positive - RARITY * often).astype(np.float32)
    found = area_alike(Sides.of(values, positive), story % GROUPS, FREQUENCIES[often])
    truth = area_of(apart, math.hypot(1, OWN))
    return covered(f"{TESTED}, AUROC {truth:.2f} of like words", found, truth, least=truth > 0.85)


def _over_words(runs: int, rng: np.random.Generator) -> Simulated:
    """The AUROC over words. Words have an activation of their own, drawn anew for each corpus; the truth is the mean
    over all words that could be of the label, beside the tokens of others that were read."""
    from scipy.stats import norm

    word, some = np.repeat(np.arange(WORDS), OF_WORD), np.arange(WORDS) < BASE * WORDS
    own = OWN * rng.normal(size=(runs, WORDS)) + some
    values, positive = own[:, word] + rng.normal(size=(runs, len(word))), np.tile(some[word], (runs, 1))
    found = area_words(Sides.of(values.astype(np.float32), positive), word, np.full(len(word), OF_WORD))
    truths = norm.cdf((1.0 - values[:, ~some[word]]) / math.hypot(1, OWN)).mean(1)
    return covered(f"{TESTED}, AUROC over words", found, truths)


def _interval(low: NDArray[np.float64], high: NDArray[np.float64]) -> Interval:
    return Interval((low + high) / 2, low, high, LEVEL, "")


def _excess(name: str, kind: int, gap: float, runs: int, rng: np.random.Generator) -> Simulated:
    """The smallest excess over the nulls of a kind, one head for each corpus. All nulls share the mass on the keys of
    the kind; each has its own queries and noise."""
    rows, groups = OF_KIND[kind], (OF_KINDS, 1, runs)
    queries, excess = torch.ones(*groups, len(NULLS)).double(), torch.zeros(*groups, len(NULLS)).double()
    shared, own = rng.normal(size=(*groups, 1)), rng.normal(size=(*groups, len(rows)))
    asked = rng.lognormal(3, 0.4, (*groups, 1)) * rng.lognormal(0, 0.2, own.shape)
    means = EXCESS + gap * np.arange(len(rows)) + EXCESS * math.sqrt(0.5) * (shared + own)
    queries[..., rows], excess[..., rows] = torch.from_numpy(asked), torch.from_numpy(asked * means)
    low, high = (end[kind, 0].numpy() for end in ends(ratio(excess, queries)))
    return covered(name, _interval(low, high), EXCESS, least=True)


def _written(often: str, places: float, runs: int, rng: np.random.Generator) -> Simulated:
    """What a head adds to the logits of a class where its words follow, less than where others do: a ratio of sums over
    groups of stories, as `heads.writes` takes it. Long stories have more such places and a larger excess at each."""
    length = rng.lognormal(0, LENGTHS, (READ, runs))
    queries = rng.poisson(places * length / math.exp(LENGTHS**2 / 2))
    mean = EXCESS * (length / math.exp(1.5 * LENGTHS**2) + OWN * rng.normal(size=length.shape))
    excess = queries * mean + EXCESS * np.sqrt(queries) * rng.normal(size=length.shape)
    of_groups = torch.zeros(2, OF_KINDS, runs).double()
    of_groups.index_add_(1, torch.arange(READ) % OF_KINDS, torch.from_numpy(np.stack([excess, queries])))
    low, high = (end.numpy() for end in ratio(*of_groups).interval)
    return covered(f"{WRITTEN}, {often} places a story", _interval(low, high), EXCESS)


def _values(runs: int, rng: np.random.Generator) -> tuple[Float[np.ndarray, "run word"], NDArray[np.int64]]:
    """What words of six classes of like frequency excite, and these classes."""
    like = np.arange(WORDS) // LIKE
    return rng.exponential(size=(runs, WORDS)) + like, like


def _sums(members: int, runs: int, rng: np.random.Generator) -> Simulated:
    """p of a set of words whose activations are as those of other words of like frequency: at most 0.05 in no more than
    5% of corpora. Few words have few permutations, so that uniformity is not asked of it."""
    values, like = _values(runs, rng)
    at = np.concatenate([rng.choice(LIKE, members // 6, replace=False) + LIKE * i for i in range(6)])
    inside = np.isin(np.arange(WORDS), at)[:, None]
    return small(f"p of the sum of {members} words", stats.p_of_sums(values, inside, like)[:, 0])


def _counts(runs: int, rng: np.random.Generator) -> Simulated:
    """p of how many top words are of a set: hypergeometric in each class of like frequency, as under the null."""
    in_class = np.array([[30], [60], [90]])
    drawn = rng.integers(10, 30, (runs, len(in_class)))
    counts = rng.hypergeometric(in_class[:, 0], 200 - in_class[:, 0], drawn).sum(1)
    whole = np.concatenate([in_class, 200 - in_class], axis=1)
    p = stats.p_of_counts(np.stack([counts, drawn.sum(1) - counts], 1), drawn, whole)[:, 0]
    return small("p of a count of words", p)


def small(name: str, p: NDArray[np.float64], level: float = 1 - LEVEL) -> Simulated:
    """Whether p-values under the null are at most 5% in more than 5% of corpora; larger ones are allowed, because those
    of few words or counts are discrete."""
    least = np.full(p.shape, level)
    return covered(f"{name}, above {level:.2f}", _interval(least, p), float(np.nextafter(level, 1)), least=True)
