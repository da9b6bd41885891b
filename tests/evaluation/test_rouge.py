"""ROUGE equals the reference package, by hand and on any string; the nearest of many equals a plain loop."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tslens.evaluation import rouge
from tslens.evaluation.rouge import Rouge, nearest, rouge_2
from tslens.stories import stories


@pytest.fixture(scope="module")
def reference():
    from rouge_score.rouge_scorer import RougeScorer  # takes seconds, with all of nltk

    return RougeScorer(["rouge1", "rouge2", "rougeL"])


def random_texts(n: int, seed: int = 0) -> list[str]:
    """Strings of few words, so that pairs repeat, with capitals, digits, signs and letters beyond ASCII."""
    rng = random.Random(seed)
    alphabet = ["cat", "Cat", "the", "a", "7", "ü", "naïve", "İ", "o'clock", "—", "“Hi!”", "\n", "_", "x_y", ""]
    return [rng.choice([" ", "  ", "-"]).join(rng.choices(alphabet, k=rng.randrange(14))) for _ in range(n)]


def test_by_hand():
    # Pairs: the-cat twice, cat-and, and-the  |  the-cat, cat-ran. Shared: the-cat once.
    assert rouge_2("The cat and the cat", "the cat ran.") == Rouge(1 / 2, 1 / 4, pytest.approx(1 / 3))
    assert rouge_2("the cat ran", "The cat and the cat")[:2] == (1 / 4, 1 / 2)
    assert rouge_2("a b a b", "a b a b a b").f == pytest.approx(2 * 3 / (3 + 5))


@pytest.mark.parametrize("text", ["", "one", "?!"])
def test_too_short_is_zero(text):
    assert rouge_2(text, text) == rouge_2(text, "two words") == (0, 0, 0)


def test_equals_the_reference_package(reference):
    made = list(stories("made", limit=40))
    wild = random_texts(200)
    for a, b in [*pairwise(made), *pairwise(wild)]:
        expected = reference.score(a, b)
        for own, theirs in zip(rouge.rouge(a, b), expected.values(), strict=True):
            assert own == pytest.approx((theirs.precision, theirs.recall, theirs.fmeasure), abs=1e-12)
        assert rouge_2(a, b) == rouge.rouge(a, b)[1]


@settings(max_examples=150, deadline=None)
@given(*2 * [st.text() | st.text("ab 1é'İ\n", max_size=40) | st.lists(st.sampled_from(["a", "B", "a7"])).map(" ".join)])
def test_equals_the_reference_package_on_any_text(reference, a, b):
    expected = reference.score(a, b)
    for own, theirs in zip(rouge.rouge(a, b), expected.values(), strict=True):
        assert own == pytest.approx((theirs.precision, theirs.recall, theirs.fmeasure), abs=1e-9)


def test_what_the_words_drop():
    assert rouge.words("Naïve, naive! Über 7-x «да» 日本") == ["na", "ve", "naive", "ber", "7", "x"]


@pytest.mark.parametrize("make", [lambda: list(stories("made", limit=30)), lambda: random_texts(60)])
def test_nearest_equals_a_loop_over_all_pairs(make, monkeypatch):
    monkeypatch.setattr(rouge, "ROWS", 16)  # several blocks of rows, the last one short
    texts = make()
    f = np.array([[rouge_2(a, b).f for b in texts] for a in texts])
    np.testing.assert_allclose(nearest(texts[:9], texts[9:]), f[:9, 9:].max(1), atol=1e-6)
    np.fill_diagonal(f, 0)
    np.testing.assert_allclose(nearest(texts), f.max(1), atol=1e-6)


def test_a_copy_is_found_and_oneself_is_not():
    texts = ["the cat ran home", "a dog sat here", "The cat ran home!"]
    assert nearest(texts).tolist() == [1, 0, 1]
    assert nearest(texts[:1], texts[1:2]).tolist() == [0]
    assert nearest(["", "x"]).tolist() == [0, 0]


@pytest.mark.parametrize("given", [(["one text"],), (["one"], [])])
def test_nothing_to_compare_with_is_refused(given):
    with pytest.raises(ValueError, match="leave none to compare with"):
        nearest(*given)
