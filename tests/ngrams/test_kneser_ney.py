"""The 5-gram model equals nltk's where nltk has it, and a slow writing of Chen and Goodman's equations elsewhere."""

import dataclasses
import functools
import math
import os
from collections import Counter, defaultdict

import numpy as np
import pytest

from tslens import ngrams
from tslens.ngrams import keeping, kneser_ney
from tslens.ngrams.kneser_ney import five_gram
from tslens.ngrams.words import sentences_of
from tslens.stories import stories

ORDER = 5


@pytest.fixture(scope="module")
def made():
    return list(stories("made", limit=60))


@pytest.fixture(scope="module")
def model(made):
    return five_gram(made[:40])


def padded(texts):
    return [["<s>"] * 4 + sentence + ["</s>"] for text in texts for sentence in sentences_of(text)]


class Slow:
    """Equations 24 to 26 of Chen and Goodman, by dictionaries."""

    def __init__(self, texts):
        grams = Counter(tuple(row[i - 4 : i + 1]) for row in padded(texts) for i in range(4, len(row)))
        self.counts = {5: grams}
        for n in (4, 3, 2, 1):
            self.counts[n] = Counter(gram[1:] for gram in self.counts[n + 1])
        self.words = {gram[0] for gram in self.counts[1]}
        self.discounts, self.followers = {}, {}
        for n, counts in self.counts.items():
            n1, n2, n3, n4 = (sum(c == k for c in counts.values()) for k in (1, 2, 3, 4))
            y = n1 / (n1 + 2 * n2)
            self.discounts[n] = [0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
            followers = defaultdict(list)
            for gram, count in counts.items():
                followers[gram[:-1]].append(count)
            self.followers[n] = followers

    def probability(self, word, context):
        n = len(context) + 1
        lower = self.probability(word, context[1:]) if context else 1 / (len(self.words) + 1)
        followers = self.followers[n].get(context)
        if followers is None:
            return lower
        d, count = self.discounts[n], self.counts[n][(*context, word)]
        left = sum(d[min(c, 3)] for c in followers)
        return (max(count - d[min(count, 3)], 0) + left * lower) / sum(followers)

    def log_probability(self, text):
        return sum(
            math.log(self.probability(row[i], tuple(row[i - 4 : i])))
            for row in padded([text])
            for i in range(4, len(row))
        )


def test_equals_the_equations_written_out(model, made):
    slow = Slow(made[:40])
    for text in [*made[:3], *made[40:48], "The xylophone ran. A xylophone!", "xylophone", "!", ""]:
        assert model.log_probability(text) == pytest.approx(slow.log_probability(text), rel=1e-9, abs=1e-12)
    for n, order in enumerate(model.orders, 1):
        np.testing.assert_allclose(order.discounts, slow.discounts[n])


def test_equals_nltk_with_one_discount(made):
    """nltk has one discount for all counts, and no share for unknown words below the first order."""
    from nltk.lm import KneserNeyInterpolated

    rows = padded(made)[:200]
    text = [" ".join(row[4:-1]) for row in rows]
    assert [sentences_of(line) for line in text] == [[row[4:-1]] for row in rows]
    own = five_gram(text, discount=0.75)
    first = own.orders[0]
    whole = dataclasses.replace(first, discounts=np.zeros(4), left=np.zeros(len(first.left)))
    own = dataclasses.replace(own, orders=[whole, *own.orders[1:]])
    theirs = KneserNeyInterpolated(ORDER, discount=0.75)
    events = [[tuple(row[i - n : i + 1]) for i in range(4, len(row)) for n in range(ORDER)] for row in rows]
    theirs.fit(events, [word for row in rows for word in row])
    estimator = theirs.estimator
    for name in ("unigram_score", "alpha_gamma"):  # each sums over all n-grams of an order
        setattr(estimator, name, functools.cache(getattr(estimator, name)))
    for row, line in zip(rows, text, strict=True):
        expected = [math.log(theirs.unmasked_score(row[i], tuple(row[i - 4 : i]))) for i in range(4, len(row))]
        np.testing.assert_allclose(own.word_log_probabilities(row[4:-1]), expected, rtol=1e-9)
        assert own.log_probability(line) == pytest.approx(sum(expected), rel=1e-9)


@pytest.mark.parametrize("context", [[], ["the"], ["once", "upon", "a"], ["xylophone"], ["the", "xylophone"]])
def test_probabilities_sum_to_one(model, context):
    """Over the vocabulary, the end mark and one unknown word."""
    at = len(context)
    following = [math.exp(model.word_log_probabilities([*context, word])[at]) for word in [*model.counts, "xylophone"]]
    assert sum(following) + math.exp(model.word_log_probabilities(context)[at]) == pytest.approx(1)


def test_an_index_gives_the_same_model(made, model, tmp_path, monkeypatch):
    monkeypatch.setattr(kneser_ney, "BATCH", 7)
    kept = ngrams.build(made[:40], tmp_path / "index")
    monkeypatch.setattr(
        ngrams.Index, "sentence_words", functools.partialmethod(ngrams.Index.sentence_words, at_once=50)
    )
    for other in (five_gram(kept), five_gram(iter(made[:40]))):
        assert other.counts == model.counts
        assert [other.log_probability(text) for text in made] == [model.log_probability(text) for text in made]


def test_a_kept_model_is_that_of_the_texts_and_is_not_counted_again(made, model, tmp_path, monkeypatch):
    first = ngrams.kept_five_gram(made[:40], tmp_path, source="made")
    monkeypatch.setattr(keeping, "five_gram", lambda index: pytest.fail("counted again"))
    second = ngrams.kept_five_gram(made[:40], tmp_path)
    for text in [*made, "The xylophone ran."]:
        scores = [one.log_probability(text) for one in (first, second)]
        assert scores == pytest.approx([model.log_probability(text)] * 2, rel=0, abs=1e-9)
    with pytest.raises(pytest.fail.Exception):
        ngrams.kept_five_gram(made[:39], tmp_path)


def test_a_kept_model_that_was_cut_off_is_counted_again(made, model, tmp_path):
    ngrams.kept_five_gram(made[:40], tmp_path)
    (place,) = tmp_path.glob("*-five-gram-*")
    for name, left in (("counts-3.npy", 200), ("ngrams-1.npy", 0)):
        os.truncate(place / name, left)
        found = ngrams.kept_five_gram(made[:40], tmp_path)
        assert found.log_probability(made[41]) == model.log_probability(made[41])
    header = (place / "totals-2.npy").read_bytes()
    (place / "totals-2.npy").write_bytes(header.replace(b"}", b" ", 1))
    found = ngrams.kept_five_gram(made[:40], tmp_path)
    assert found.log_probability(made[41]) == model.log_probability(made[41])


def test_words_are_counted(model, made):
    assert model.counts == Counter(word for row in padded(made[:40]) for word in row[4:-1])


def test_it_prefers_what_stories_say(model):
    assert model.log_probability("Once upon a time") > model.log_probability("Time a upon once")
    assert model.log_probability("It was done. It was done.") == 2 * model.log_probability("It was done.")


def test_what_is_refused(refused):
    with refused("have no words to count"):
        five_gram(["", " "])
    with refused("order of at least 1; got 0"):
        five_gram(["a"], order=0)
    assert math.isfinite(five_gram(["\ud800 ü İ"]).log_probability("ü 🙂"))
