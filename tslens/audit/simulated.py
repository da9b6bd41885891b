"""Simulated corpora whose truth is known: how often the 95% intervals cover it, and whether p-values are uniform.

Coverage is tested by an exact binomial test, uniformity by Kolmogorov and Smirnov's; both at 0.001, so that of about
fifty tests a sound one fails by chance once in twenty audits. An area near 1 is estimated as 1 in many corpora, and an
interval that holds it there covers more than 95%; so does that of a count. Both are conservative (`coverage.AT_LEAST`).
"""

import math
from collections.abc import Sequence
from itertools import count

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from tslens import halves, stats
from tslens.analysis.heads.evidence import positional_fraction
from tslens.analysis.heads.sums import Sums
from tslens.audit.coverage import LEVEL, Simulated, covered, uniform
from tslens.stats import Interval

RUNS = 2000
POSITIONS, STORIES, GROUPS = 12, 100, 16
"""Of the simulated heads behind the positional fraction."""
DECAYS = {"slow": 4.0, "fast": 1.0}
"""Tokens in which the attention of these heads falls by e."""
FEW = 32
"""Stories on which heads and neurons that matter are counted."""
NEAR_1 = 3.3
"""Distance of the means of two normal distributions, in standard deviations: the area is 0.99."""
EFFECTS = {"many": np.linspace(-0.3, 0.5, 50), "three of 50": np.array([0.5] * 3 + [0.0] * 47)}
"""Means of simulated units, in standard deviations of a story."""
OWN = 0.5
"""Standard deviation of what the tokens of a simulated story have in common, as a share of a token's own."""


def simulated(
    nats: Sequence[float] | NDArray[np.float64],
    tokens: Sequence[float] | NDArray[np.float64],
    *,
    runs: int = RUNS,
    seed: int = 0,
) -> list[Simulated]:
    """Every interval and p-value over `runs` simulated corpora. Those of the loss draw stories with replacement from a
    population whose nats and tokens these are, by story."""
    population = np.stack([np.asarray(nats, dtype=float), np.asarray(tokens, dtype=float)])
    numbers = count()

    def rng() -> np.random.Generator:  # its own for each, so that most do not depend on the population
        return np.random.default_rng([seed, next(numbers)])

    found = [_loss(population, n, runs, rng()) for n in (100, 10)]
    found += [_mean(population, n, runs, rng()) for n in (100, 10)]
    found += [_share(n, runs, rng()) for n in (100, 10)]
    found += [_auroc(positives, apart, runs, rng()) for positives in (30, 10) for apart in (1.0, 2.0)]
    found += [_auroc_of_stories(runs, rng(), n) for n in (100, 20, 10)]
    found += [_auroc(positives, NEAR_1, runs, rng()) for positives in (100, 30, 10)]
    found += [_fraction(runs, seed, name, reach, n) for n in (STORIES, 10) for name, reach in DECAYS.items()]
    found += [_groups(runs, rng()), *_p_values(runs, rng())]
    found += [_count(f"count of labels, {name}", effects, runs, rng()) for name, effects in EFFECTS.items()]
    return found + [
        _count(f"count of labels, {name}, {FEW} stories", effects, runs, rng(), FEW)
        for name, effects in EFFECTS.items()
    ]


def _loss(population: NDArray[np.float64], stories: int, runs: int, rng: np.random.Generator) -> Simulated:
    drawn = population[:, rng.integers(0, population.shape[1], (runs, stories))]
    each = [stats.ratio_of_sums(nats, tokens) for nats, tokens in zip(*drawn, strict=True)]
    truth = float(population[0].sum() / population[1].sum())
    return covered(f"loss per token, {stories} stories", _stacked(each), truth)


def _mean(population: NDArray[np.float64], stories: int, runs: int, rng: np.random.Generator) -> Simulated:
    of_story = population[0] / population[1]
    drawn = of_story[rng.integers(0, len(of_story), (stories, runs))]
    return covered(f"mean over stories, {stories} stories", stats.mean_interval(drawn), float(of_story.mean()))


def _stacked(intervals: Sequence[Interval]) -> Interval:
    low, high = (np.array([getattr(interval, end) for interval in intervals]) for end in ("low", "high"))
    return Interval((low + high) / 2, low, high, LEVEL, intervals[0].method)


def _share(n: int, runs: int, rng: np.random.Generator) -> Simulated:
    """Wilson's interval covers more or less by the share itself, around 95%: so the share is drawn as well."""
    truth = rng.uniform(0.02, 0.98, runs)
    return covered(f"share of {n}, Wilson", stats.wilson(rng.binomial(n, truth), n), truth)


def area_of(apart: float, sd: float = 1.0) -> float:
    """The area of two normal distributions of this standard deviation whose means are `apart`."""
    from scipy.stats import norm

    return float(norm.cdf(apart / (math.sqrt(2) * sd)))


def _auroc(positives: int, apart: float, runs: int, rng: np.random.Generator, negatives: int = 300) -> Simulated:
    """Two normal distributions: the areas are 0.760, 0.921 and 0.990."""
    values = rng.normal(size=(runs, positives + negatives)).astype(np.float32)
    values[:, :positives] += apart
    found = stats.auroc(values, np.arange(positives + negatives)[None] < positives)
    name = f"AUROC {area_of(apart):.2f}, {positives} positives"
    return covered(name, found, area_of(apart), least=apart >= NEAR_1)


def tokens_of_stories(
    runs: int, stories: int, rng: np.random.Generator, apart: float
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64]]:
    """Scores of the tokens of stories of 4 to 16 tokens, whether each is a positive (one in five), and its story. The
    tokens of a story have a part of their scores in common."""
    story = np.repeat(np.arange(stories), rng.integers(4, 17, stories))
    positive = rng.random((runs, len(story))) < 0.2
    values = rng.normal(size=positive.shape) + OWN * rng.normal(size=(runs, stories))[:, story] + apart * positive
    return values.astype(np.float32), positive, story


def _auroc_of_stories(runs: int, rng: np.random.Generator, stories: int) -> Simulated:
    values, positive, story = tokens_of_stories(runs, stories, rng, 1.0)
    found = stats.auroc(values, positive, clusters=story)
    truth = area_of(1.0, math.hypot(1, OWN))
    return covered(f"AUROC {truth:.2f}, {stories} stories", found, truth)


def _groups(runs: int, rng: np.random.Generator) -> Simulated:
    """A ratio of sums over 16 groups of stories that hold different numbers of tokens: share of attention explained."""
    under = rng.lognormal(3, 0.4, (GROUPS, runs))
    over = under * (0.6 + 0.1 * rng.normal(size=(GROUPS, runs)))
    of_most = (over.sum(0) - over) / (under.sum(0) - under)
    return covered("share of attention, jackknife", stats.jackknife(over.sum(0) / under.sum(0), of_most), 0.6)


def _count(
    name: str, effects: NDArray[np.float64], runs: int, rng: np.random.Generator, stories: int = STORIES
) -> Simulated:
    """How many units have a mean above 0 (t-tests, Benjamini-Hochberg) over stories, in groups as twins count them.
    All units of a story share what it adds; the truth is the mean count over corpora. Of `FEW` stories each is read
    twice on halves (`halves.twice`), as ablations read them."""
    from scipy.stats import t

    n, units = stories // halves.GROUPS, len(effects)
    values = rng.normal(size=(runs, halves.GROUPS, n, units)) + OWN * rng.normal(size=(runs, halves.GROUPS, n, 1))
    values += effects
    of_groups, squares = values.sum(2), (values**2).sum(2)

    def counted(groups: Sequence[int]) -> NDArray[np.int64]:
        times = 2 if stories == FEW and len(groups) < halves.GROUPS else 1
        read = times * n * len(groups)
        mean, square = (times * part[:, groups].sum(1) / read for part in (of_groups, squares))
        error = np.sqrt((square - mean**2) / (read - 1))
        q = np.stack([stats.benjamini_hochberg(p) for p in t.sf(mean / error, read - 1)])
        return np.asarray((q <= 0.05).sum(1))

    found, *parts = (torch.from_numpy(counted(groups)) for groups in [list(range(halves.GROUPS)), *halves.halves()])
    low, high = halves.around(found, torch.stack(parts), torch.full_like(found, units))
    interval = Interval(found.numpy(), low.numpy(), high.numpy(), LEVEL, "half-samples and Wilson")
    return covered(name, interval, float(found.double().mean()), least=True)


def _p_values(runs: int, rng: np.random.Generator) -> list[Simulated]:
    """P-values where the null holds: the jackknife's of a mean, and those of an area of one half."""
    values = rng.normal(size=(GROUPS, runs))
    p = stats.jackknife_p(values.mean(0), (values.sum(0) - values) / (GROUPS - 1))
    found = [uniform("jackknife p, 16 groups", p)]
    for positives in (100, 10):
        scores = rng.normal(size=(runs, 1000)).astype(np.float32)
        p = stats.auroc(scores, np.arange(1000)[None] < positives).p
        found.append(uniform(f"AUROC p, {positives} positives", p))
    scores, positive, story = tokens_of_stories(runs, 100, rng, 0.0)
    found.append(uniform("AUROC p, 100 stories", stats.auroc(scores, positive, clusters=story).p))
    return found


def heads_of(runs: int, stories: int, generator: torch.Generator, reach: float = 4.0) -> tuple[Sums, float]:
    """Sums over stories of `runs` heads of one kind, every one over stories of its own, and their true positional
    fraction. Attention falls by e in `reach` tokens, times noise that is the story's."""
    n = POSITIONS
    at = torch.arange(n)
    kernel = ((at - at[:, None]) / reach).float().masked_fill(at > at[:, None], -torch.inf)

    def patterns(many: int) -> Float[torch.Tensor, "head query key"]:
        return (kernel + torch.randn(many, n, n, generator=generator)).softmax(-1)

    sums = Sums.zeros(min(GROUPS, stories), 1, runs, n)
    for story in range(stories):
        pattern, group = patterns(runs), story % len(sums.stories)
        sums.stories[group] += 1
        sums.at_position[group] += 1
        sums.pattern[group, 0] += pattern
        sums.pattern_entropy[group, 0] += torch.special.entr(pattern).sum(-1)
    many = patterns(50_000).double()
    own, of_mean = torch.special.entr(many).sum(-1).mean(0).sum(), torch.special.entr(many.mean(0)).sum()
    even = torch.arange(1, n + 1).double().log().sum()
    return sums, float(1 - (of_mean - own) / (even - own))


def _fraction(runs: int, seed: int, name: str, reach: float, stories: int) -> Simulated:
    """Of few stories its interval is too wide: it is held to cover no less."""
    sums, truth = heads_of(runs, stories, torch.Generator().manual_seed(seed), reach)
    found = positional_fraction(sums, torch.ones(1, POSITIONS, POSITIONS).tril())
    low, high = (end[0].numpy() for end in found.interval)
    interval = Interval(found.value[0].numpy(), low, high, LEVEL, "delete-a-group jackknife")
    few = "" if stories == STORIES else f", {stories} stories"
    return covered(f"positional fraction, {name} decay{few}", interval, truth, least=bool(few))
