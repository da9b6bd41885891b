"""How much texts repeat one another: distinct n-grams, self-BLEU and the growth of the vocabulary."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.rouge import f_rows
from tslens.ngrams import words

ORDERS = (1, 2, 3, 4)
SHUFFLES = 200
SMALL = 0.1  # what a numerator of zero counts as


def distinct(texts: Sequence[str], n: int, stories: Sequence[int] | None = None) -> stats.Interval:
    """distinct-n: different n-grams per n-gram of all texts together (Li et al. 2016, arXiv 1510.03055).

    It falls with the number of words, so compare sets of like size. The interval is the jackknife over `stories`, the
    story of each text, by default its own. 0 if they have no n-gram; InputError for fewer than two texts or stories.
    """
    of_story: dict[int, Counter[tuple[str, ...]]] = {}
    for story, text in zip(range(len(texts)) if stories is None else stories, texts, strict=True):
        of_story.setdefault(story, Counter()).update(_counts(words(text), n))
    if len(of_story) < 2:
        raise InputError(f"how texts repeat one another takes at least 2 texts; got {len(of_story)}")
    each = list(of_story.values())
    owners = Counter(gram for counts in each for gram in counts)
    own = np.array([sum(owners[gram] == 1 for gram in counts) for counts in each])
    sizes = np.array([counts.total() for counts in each])
    without = (len(owners) - own) / np.maximum(sizes.sum() - sizes, 1)
    found = stats.jackknife(len(owners) / max(sizes.sum(), 1), without)
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def self_bleu(
    texts: Sequence[str], stories: Sequence[int] | None = None
) -> tuple[Float[np.ndarray, " text"], stats.Interval]:
    """BLEU-4 of each text with all the others as references (Zhu et al. 2018, arXiv 1802.01886), 0 for an empty text;
    and its mean, with the jackknife over `stories`, the story of each text, by default its own.

    A numerator of zero counts as 0.1 (method 1 of Chen and Cherry 2014, aclanthology.org/W14-3346). It grows with the
    number of texts, so compare sets of one size. InputError for fewer than two texts or stories.
    """
    split, of, n = [words(text) for text in texts], *_stories(texts, stories)
    sizes = np.array([len(found) for found in split])
    logs, without = np.zeros(len(texts)), np.zeros((len(texts), n))
    unshared, alone = np.zeros(len(texts), dtype=bool), np.zeros((len(texts), n), dtype=bool)
    for order in ORDERS:
        counts = [_counts(found, order) for found in split]
        shared, less = _shared(counts, of, n)
        totals = np.maximum([one.total() for one in counts], 1)
        logs += np.log(np.where(shared, shared, SMALL) / totals) / len(ORDERS)
        left = shared[:, None] - less
        without += np.log(np.where(left, left, SMALL) / totals[:, None]) / len(ORDERS)
        if order == 1:
            unshared, alone = shared == 0, left == 0
    nearest, other = _nearest_sizes(sizes, of, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs += np.minimum(0.0, 1 - nearest / sizes)
        without += np.minimum(0.0, 1 - other / sizes[:, None])
    values = np.where(unshared | (sizes == 0), 0.0, np.exp(logs))
    left_out = np.where(alone | (sizes == 0)[:, None], 0.0, np.exp(without))
    return values, _over_stories(values, left_out, of)


def among(
    texts: Sequence[str], stories: Sequence[int] | None = None
) -> tuple[Float[np.ndarray, " text"], stats.Interval]:
    """The largest ROUGE-2 F of each text to another, and its mean with the jackknife over `stories`, the story of each
    text, by default its own. It grows with the number of texts. InputError for fewer than two texts or stories."""
    of, n = _stories(texts, stories)
    values, without = np.zeros(len(texts)), np.zeros((len(texts), n))
    for rows, f in f_rows(texts):
        largest = f.max(1)
        owner = of[f.argmax(1)]
        second = np.where(of[None] == owner[:, None], 0.0, f).max(1)
        values[rows], without[rows] = largest, largest[:, None]
        without[np.arange(len(texts))[rows], owner] = second
    return values, _over_stories(values, without, of)


def _stories(texts: Sequence[str], stories: Sequence[int] | None) -> tuple[np.ndarray, int]:
    """The story of each text, from 0, and their number."""
    _, of = np.unique(np.arange(len(texts)) if stories is None else np.asarray(stories), return_inverse=True)
    n = int(of.max(initial=-1)) + 1
    if n < 2:
        raise InputError(f"how texts repeat one another takes at least 2 texts; got {n}")
    return of, n


def _over_stories(
    values: Float[np.ndarray, " text"], without: Float[np.ndarray, "text story"], of: np.ndarray
) -> stats.Interval:
    """The mean over texts, of values that rest on the other texts, with the jackknife over stories: `without` has each
    value when a story is left out."""
    sizes = np.bincount(of)
    own = np.zeros(without.shape[1])
    np.add.at(own, of, without[np.arange(len(of)), of])
    left = (without.sum(0) - own) / (len(of) - sizes)
    found = stats.jackknife(float(values.mean()), left)
    return replace(found, estimate=float(values.mean())).within(0.0, 1.0)


def _shared(
    counts: Sequence[Counter[tuple[str, ...]]], of: np.ndarray, n: int
) -> tuple[Float[np.ndarray, " text"], Float[np.ndarray, "text story"]]:
    """The n-grams of each text that another text has, as often as one does; and how many fewer without each story."""
    owners: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for i, one in enumerate(counts):
        for gram, count in one.items():
            owners.setdefault(gram, []).append((count, i))
    for found in owners.values():
        found.sort(reverse=True)
    shared, less = np.zeros(len(counts)), np.zeros((len(counts), n))
    for i, one in enumerate(counts):
        for gram, count in one.items():
            most = next(((c, of[j]) for c, j in owners[gram] if j != i), None)
            if most is not None:
                second = next((c for c, j in owners[gram] if j != i and of[j] != most[1]), 0)
                shared[i] += min(count, most[0])
                less[i, most[1]] += min(count, most[0]) - min(count, second)
    return shared, less


def _nearest_sizes(
    sizes: np.ndarray, of: np.ndarray, n: int
) -> tuple[Float[np.ndarray, " text"], Float[np.ndarray, "text story"]]:
    """The length of another text that is nearest to each text's, the shorter of two; and without each story."""
    nearest, without = np.zeros(len(sizes)), np.zeros((len(sizes), n))
    for i, size in enumerate(sizes):
        order = np.lexsort((sizes, np.abs(sizes - size)))
        order = order[order != i]
        first = order[0]
        second = next((j for j in order if of[j] != of[first]), first)
        nearest[i], without[i] = sizes[first], sizes[first]
        without[i, of[first]] = sizes[second]
    return nearest, without


def growth(texts: Sequence[str], places: Sequence[int], seed: int = 0) -> Float[np.ndarray, "bound place"]:
    """How many different words the first so many words of the texts have: mean, low and high over orders of the texts.

    The bounds hold 95% of 200 random orders of these texts: they are no interval over texts, and close where all are
    counted. NaN beyond the words of all texts.
    """
    split = [words(text) for text in texts]
    numbers: dict[str, int] = {}
    ids = [np.array([numbers.setdefault(word, len(numbers)) for word in found], dtype=np.int64) for found in split]
    rng, curves = np.random.default_rng(seed), np.full((SHUFFLES, len(places)), np.nan)
    total = sum(map(len, ids))
    reached = np.array(places) <= total
    for curve in curves:
        flat = np.concatenate([ids[i] for i in rng.permutation(len(ids))]) if ids else np.zeros(0, dtype=np.int64)
        first = np.unique(flat, return_index=True)[1]
        curve[reached] = np.searchsorted(np.sort(first), np.array(places)[reached])
    return np.stack([curves.mean(0), *np.quantile(curves, (0.025, 0.975), axis=0)])


def _counts(found: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(found[i:] for i in range(n)), strict=False))
