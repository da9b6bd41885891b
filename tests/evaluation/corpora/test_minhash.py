"""Near-duplicates by MinHash: the estimate against the true similarity, and how many planted copies are found."""

from random import Random

import numpy as np
import pytest

from tslens.evaluation.corpora import minhash
from tslens.evaluation.rouge import words
from tslens.stories import stories


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made", limit=150))


def changed(text: str, share: float, vocabulary: list[str], rng: Random) -> str:
    """The text with a share of its words, chosen at random, replaced by others."""
    found = words(text)
    for place in rng.sample(range(len(found)), round(share * len(found))):
        found[place] = rng.choice(vocabulary)
    return " ".join(found)


def jaccard(one: str, other: str) -> float:
    a, b = ({tuple(found[i : i + 3]) for i in range(len(found) - 2)} for found in (words(one), words(other)))
    return len(a & b) / len(a | b)


def test_the_estimate_is_near_the_true_similarity(texts: list[str]) -> None:
    rng, vocabulary = Random(0), sorted({word for text in texts for word in words(text)})
    for number, share in enumerate((0.0, 0.02, 0.05, 0.1, 0.3) * 6):
        other = changed(texts[number], share, vocabulary, rng)
        found = minhash.similarity(minhash.signature(texts[number]), minhash.signature(other))
        assert float(found) == pytest.approx(jaccard(texts[number], other), abs=0.17)  # more than four deviations
    assert minhash.similarity(minhash.signature("A dog."), minhash.signature("a DOG")) == 1.0
    assert minhash.signature("").shape == (minhash.HASHES,)


@pytest.mark.parametrize(("share", "least"), [(0.0, 1.0), (0.02, 1.0), (0.05, 1.0), (0.1, 0.97), (0.15, 0.9)])
def test_planted_near_duplicates_are_found_and_no_others(texts: list[str], share: float, least: float) -> None:
    rng, vocabulary = Random(1), sorted({word for text in texts for word in words(text)})
    copies = [changed(text, share, vocabulary, rng) for text in texts]
    one, two = (np.stack([minhash.signature(text) for text in some]) for some in (texts, copies))
    flags, which = minhash.near(two, one)
    assert (which[flags] == np.flatnonzero(flags)).all() and flags.mean() >= least
    assert not minhash.near(one)[0].any()
    both, twin = minhash.near(np.concatenate([one, two]))
    assert (both[: len(one)] == flags).all() and (twin[: len(one)][flags] == np.flatnonzero(flags) + len(one)).all()
