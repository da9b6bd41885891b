"""How much texts repeat one another: distinct n-grams, self-BLEU and the growth of the vocabulary."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tslens import stats
from tslens.errors import InputError
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


def self_bleu(texts: Sequence[str]) -> Float[np.ndarray, " text"]:
    """BLEU-4 of each text with all the others as references (Zhu et al. 2018, arXiv 1802.01886); 0 for an empty text.

    A numerator of zero counts as 0.1 (method 1 of Chen and Cherry 2014, aclanthology.org/W14-3346). It grows with the
    number of texts, so compare sets of one size. InputError for fewer than two texts.
    """
    if len(texts) < 2:
        raise InputError(f"how texts repeat one another takes at least 2 texts; got {len(texts)}")
    split = [words(text) for text in texts]
    sizes = np.array([len(found) for found in split])
    logs = np.zeros(len(texts))
    for n in ORDERS:
        each = [_counts(found, n) for found in split]
        most = _two_largest(each)
        for i, counts in enumerate(each):
            shared = 0
            for gram, count in counts.items():
                owner, largest, second = most[gram]
                shared += min(count, second if owner == i else largest)
            logs[i] += math.log((shared or SMALL) / max(counts.total(), 1)) / len(ORDERS)
    for i, size in enumerate(sizes):
        others = np.delete(sizes, i)
        nearest = min(others.tolist(), key=lambda other: (abs(other - size), other))
        logs[i] += min(0.0, 1 - nearest / size) if size else -np.inf
    owners = Counter(word for found in split for word in set(found))
    return np.where([any(owners[word] > 1 for word in found) for found in split], np.exp(logs), 0.0)


def _two_largest(each: Sequence[Counter[tuple[str, ...]]]) -> dict[tuple[str, ...], tuple[int, int, int]]:
    """For each n-gram the text that has it most often, how often, and how often another one has it at most."""
    most: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for i, counts in enumerate(each):
        for gram, count in counts.items():
            owner, largest, second = most.get(gram, (-1, 0, 0))
            most[gram] = (i, count, largest) if count > largest else (owner, largest, max(second, count))
    return most


def growth(texts: Sequence[str], places: Sequence[int], seed: int = 0) -> Float[np.ndarray, "bound place"]:
    """How many different words the first so many words of the texts have: mean, low and high over orders of the texts.

    The bounds hold 95% of 200 random orders. NaN beyond the words of all texts.
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
