"""Labels tested on other stories: planted neurons, intervals that cover, halves that share no text, any batches."""

import dataclasses
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import binomtest, kstest, norm
from sklearn.metrics import average_precision_score, precision_score, recall_score, roc_auc_score

from tslens import models, plots, pos, scan, stats
from tslens.analysis import neurons
from tslens.analysis.neurons.halved import tags_in
from tslens.analysis.neurons.held_out import judged
from tslens.analysis.neurons.held_out_measures import (
    ENOUGH,
    GROUPS,
    MEASURES,
    area_alike,
    areas,
    leaving_out,
    measured,
    measured_each,
)
from tslens.analysis.neurons.held_out_pairs import Sides
from tslens.analysis.neurons.held_out_result import TESTED, WORDS
from tslens.analysis.neurons.held_out_words import FEWEST, area_words
from tslens.models import Spec, build
from tslens.pos.types import words
from tslens.scan import Shard, states
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer
from tslens.twins import compare

Values = NDArray[Any]

NOUNS, ADJECTIVES, WORD, NOTHING, EVERYTHING, FEW_NOUNS, NOISE = range(7)
WIDTH = 24
PROFILES = neurons.Profiles(k=60)


def sides(values: Values, positive: Values) -> Sides:
    """One label as a row."""
    return Sides.of(values[None].astype(np.float32), positive[None])


def area(values: Values, positive: Values) -> float:
    return float(areas(stats.mean_ranks(values[None].astype(np.float32)), positive[None])[0])


def alike(values: Values, positive: Values, group: Values, frequency: Values) -> stats.Interval:
    return one_of(area_alike(sides(values, positive), group, frequency))


def over_words(values: Values, positive: Values, word: Values, frequency: Values) -> stats.Interval:
    return one_of(area_words(sides(values, positive), word, frequency))


def one_of(found: stats.Interval, row: int = 0) -> stats.Interval:
    ends = {name: float(getattr(found, name)[row]) for name in ("estimate", "low", "high")}
    return dataclasses.replace(found, **ends)


@pytest.fixture(scope="module")
def made() -> list[Any]:
    return list(generate(80, seed=8))


@pytest.fixture(scope="module")
def model(made: list[Any]) -> Any:
    tokenizer = Tokenizer.train([story.text for story in made], 1200)
    return build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=320, d_mlp=WIDTH), seed=1, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def state(model: Any, made: list[Any]) -> Any:
    """The state after made-up activations that follow the generator's true tags; `FEW_NOUNS` follows 25 nouns."""
    tokenizer = models.tokenizer_of(model)
    truth = {s.text: pos.align(s.tags, tokenizer.offsets(s.text))[0] for s in made}
    rows = tokenizer.encode([story.text for story in made])
    seen = np.bincount(
        [
            t
            for ids, s in zip(rows, made, strict=True)
            for t, tag in zip(ids, truth[s.text], strict=True)
            if tag == "NOUN"
        ],
        minlength=tokenizer.size,
    )
    few = torch.from_numpy(np.argsort(-seen)[:25].copy())
    word = tokenizer.encode(["She said and"], bos=False)[0][-1]
    reducer = neurons.HeldOut(PROFILES.k)
    found = reducer.start(model)
    generator = torch.Generator().manual_seed(4)
    for batch in scan.batches([s.text for s in made], tokenizer, context=320, batch_tokens=4000):
        acts = {
            f"blocks.{i}.mlp.hook_post": torch.rand(*batch.tokens.shape, WIDTH, generator=generator) for i in range(2)
        }
        first, shape = acts["blocks.0.mlp.hook_post"], batch.tokens.shape
        tags = torch.zeros(shape, dtype=torch.long)
        for row, text in enumerate(batch.texts):
            told = [pos.TAGS.index(tag) for tag in truth[text]][: shape[1]]
            tags[row, : len(told)] = torch.tensor(told)
        noun = tags == pos.TAGS.index("NOUN")
        first[..., NOUNS] += 2 * noun
        first[..., ADJECTIVES] += 2 * (tags == pos.TAGS.index("ADJ"))
        first[..., WORD] += 2 * (batch.tokens == word)
        first[..., NOTHING], first[..., EVERYTHING] = 0, 1
        first[..., FEW_NOUNS] += 2 * (noun & torch.isin(batch.tokens, few))
        reducer.update(found, acts, batch)
    return found


@pytest.fixture(scope="module")
def answer(state: Any) -> Any:
    return neurons.HeldOut(PROFILES.k).finish(state)


def of(answer: Any, name: str, at: tuple[int, int]) -> tuple[float, float, float]:
    """Value and interval of a measure."""
    i = MEASURES.index(name)
    return float(answer.value[at][i]), float(answer.low[at][i]), float(answer.high[at][i])


def test_planted_neurons_predict_and_noise_has_no_label(answer: Any) -> None:
    assert [answer.label_of(0, i) for i in range(5)] == ["NOUN", "ADJ", "token: and", "unresolved", "unresolved"]
    for neuron in (NOUNS, ADJECTIVES, WORD):
        value, low, high = of(answer, "auroc", (0, neuron))
        assert answer.predicts[0, neuron] and low > 0.9 and low <= value <= high and answer.q[0, neuron] < 1e-3
        assert of(answer, "precision", (0, neuron))[1] > 4 * of(answer, "base_rate", (0, neuron))[0]
        assert of(answer, "purity", (0, neuron))[0] > 0.8
    assert of(answer, "recall", (0, WORD))[0] > 0.9  # "And" is the same word and another token
    assert answer.responsiveness[0, NOUNS] == pytest.approx(2 * of(answer, "auroc", (0, NOUNS))[0] - 1)
    others = [(layer, i) for layer in range(2) for i in range(WIDTH) if layer or i >= NOISE]
    assert not any(answer.predicts[at] for at in others)
    assert sum(answer.label_of(*at) != "unresolved" for at in others) <= 1
    counts = answer.counts()
    assert counts["part-of-speech neurons that predict"] == 2 and counts["one-word neurons that predict"] == 1
    assert counts["NOUN neurons that predict"] == counts["ADJ neurons that predict"] == 1


def test_counts_are_the_same_where_labels_that_cannot_predict_are_tested_no_further(state: Any) -> None:
    """Noise that is called a noun beside neurons of nouns; and both are kept under one name."""
    profiles = PROFILES.finish(state.profiles)
    label = profiles.label.clone()
    label[1] = pos.TAGS.index("NOUN")
    of = dataclasses.replace(profiles, label=label), state.sample.in_order(), 40, state.profiles.seen
    every, less = judged(*of), judged(*of, whole=False)
    assert less.counts() == every.counts() and every.counts()["part-of-speech neurons that predict"] == 2
    asked = ~less.low[..., WORDS].isnan()
    assert 0 < asked.sum() < (~every.low[..., WORDS].isnan()).sum()
    assert torch.equal(less.low[asked], every.low[asked])
    assert repr(neurons.HeldOut(whole=False)) == repr(neurons.HeldOut())


@pytest.mark.parametrize("gave", ["top_tokens", "drawn_words"])
def test_a_neuron_of_a_few_nouns_is_a_tail_selector(state: Any, gave: str) -> None:
    """All its words gave the label, as top words or as the largest of the random sample: other nouns do not excite it,
    though nouns do where its own are left in."""
    profiles, at = PROFILES.finish(state.profiles), (0, FEW_NOUNS)
    sample = state.sample.in_order()
    own = sample.contexts[sample.values[:, 0, FEW_NOUNS] > 1, 0].unique()
    label, none = profiles.label.clone(), torch.full_like(profiles.top_tokens, -1)
    label[at], words = pos.TAGS.index("NOUN"), none.clone()
    words[at][: len(own)] = own
    given = {"top_tokens": none, "drawn_words": none} | {gave: words}
    found = judged(dataclasses.replace(profiles, label=label, **given), sample, 40, state.profiles.seen)
    assert found.label_of(*at) == "NOUN, tail selector" and not found.predicts[at]
    value, low, _ = of(found, "auroc", at)
    assert low < 0.6 and abs(value - 0.5) < 0.1
    assert found.auroc_same_words[at] > 0.6
    assert found.positives[at] >= ENOUGH and found.tokens[at] < found.n_tokens


def test_a_neuron_of_rare_words_is_told_from_one_of_nouns() -> None:
    """Nouns are rare: rarity separates them from all tokens, and from tokens of words as frequent hardly."""
    generator = np.random.default_rng(0)
    of_word = np.maximum(1, 4000 // np.arange(1, 400))
    noun = generator.random(399) < np.linspace(0, 0.9, 399)
    noun[:20] = False
    word = np.repeat(np.arange(399), of_word)
    frequency, positive = of_word[word], noun[word]
    rare = -np.log(frequency) + 0.01 * generator.normal(size=len(word))
    nouns = positive + 0.5 * generator.normal(size=len(word))
    group = generator.integers(0, GROUPS, len(word))
    of_rare, of_nouns = (alike(values, positive, group, frequency) for values in (rare, nouns))
    assert area(rare, positive) > 0.9 and of_rare.high < 0.6
    assert of_nouns.estimate == pytest.approx(area(nouns, positive), abs=0.03) and of_nouns.low > 0.7


def test_the_area_among_words_of_like_frequency_by_hand_and_without_a_group() -> None:
    values, positive = np.array([3.0, 1, 2, 9] * 12), np.array([True, False, True, False] * 12)
    frequency, group = np.array([8, 8, 64, 64] * 12), np.repeat(np.arange(3), 16)
    found = alike(values, positive, group, frequency)
    assert found.estimate == 0.5  # of words that occur 8 times all pairs are in order, of the others none
    assert found.low < 0.5 < found.high  # no group differs, and there is an error
    assert np.isnan(alike(values[:12], positive[:12], group[:12], np.array([8, 8, 64, 64] * 3)).estimate)
    rng = np.random.default_rng(0)
    values, positive = rng.normal(size=900).round(1), rng.random(900) < 0.3
    frequency, group = rng.choice([1, 2, 8, 9, 400], 900), rng.integers(0, 5, 900)
    like = np.array([0, 1, 2, 2, 3])[np.searchsorted([1, 2, 8, 9, 400], frequency)]

    def by_pairs(kept: np.ndarray) -> float:
        x, y, of = values[kept], positive[kept], like[kept]
        pair = y[:, None] & ~y & (of[:, None] == of)
        larger = (x[:, None] > x) + (x[:, None] == x) / 2
        return float(larger[pair].mean())

    whole, parts = by_pairs(group >= 0), [by_pairs(group != left) for left in range(5)]
    found, expected = alike(values, positive, group, frequency), stats.jackknife(logit(whole), logit(parts))
    ends = expit((expected.low, expected.high)).tolist()
    assert (found.estimate, found.low, found.high) == pytest.approx((whole, *ends))


@pytest.mark.parametrize("levels", [5, 10_000])
def test_many_labels_at_once_answer_as_one_by_one(levels: int) -> None:
    """With many ties and without, some tokens read, others not; groups and words that only some labels meet."""
    rng = np.random.default_rng(levels)
    shape = 70, 240
    values = rng.integers(-levels, levels, shape).astype(np.float32)
    word, group = rng.integers(0, 40, shape[1]), rng.integers(0, 6, shape[1])
    often = np.bincount(word)[word] * rng.integers(1, 9, 40)[word]
    positive, read = rng.random(40)[word] < rng.random((70, 1)), rng.random(shape) < rng.choice([0.2, 0.9], (70, 1))
    read &= (group > 2) | (np.arange(70) % 3 > 0)[:, None]
    every = Sides.of(values, positive, read)
    found = area_alike(every, group, often), area_words(every, word, often)
    scores, edges = measured_each(values, positive, read, group, [1.0] * 70), []
    for i, kept in enumerate(read):
        row = values[i, kept], positive[i, kept]
        apart = alike(*row, group[kept], often[kept]), over_words(*row, word[kept], often[kept])
        for together, alone in zip(found, apart, strict=True):
            np.testing.assert_allclose(dataclasses.astuple(one_of(together, i))[:3], dataclasses.astuple(alone)[:3])
        one = measured(*row, group[kept], 1.0)
        edges.append([one.value, one.low, one.high])
        np.testing.assert_allclose(scores.p[i], one.p)
    np.testing.assert_allclose(np.stack([scores.value, scores.low, scores.high], 1), edges)
    assert 10 < np.isnan(found[0].estimate).sum() < 60 and 5 < np.isnan(found[1].low).sum() < 65


def test_the_area_over_words_by_hand() -> None:
    """Each word counts once: of four words one is frequent and told from all others, three are rare and are not."""
    rng = np.random.default_rng(0)
    word = np.repeat(np.arange(8), [400, 8, 9, 8, 400, 9, 8, 9])
    values, positive = rng.normal(size=len(word)).round(1) + 9 * (word == 0), word < 4
    often = np.bincount(word)[word]
    like = stats.octave_bins(often)
    shares = []
    for one in range(4):
        x = values[word == one][:, None]
        others = values[~positive & (like == like[word == one][0])]
        shares.append(((x > others) + (x == others) / 2).mean())
    found, expected = over_words(values, positive, word, often), stats.mean_interval(shares)
    assert (found.estimate, found.low, found.high) == pytest.approx(
        (expected.estimate, expected.low, min(expected.high, 1.0))
    )
    assert shares[0] == 1 and found.low < 0.7 < alike(values, positive, rng.integers(0, 5, len(word)), often).low
    fewer = ~np.isin(word, [2, 3])
    assert FEWEST == 3 and np.isnan(over_words(*(of[fewer] for of in (values, positive, word, often))).estimate)
    assert np.isnan(over_words(values, ~positive, np.where(positive, 0, word), often).estimate)


def test_a_label_that_one_word_carries_does_not_predict(state: Any, answer: Any) -> None:
    """A neuron that fires on the commonest noun of the test, which its own list lacks, is a tail selector."""
    profiles, at = PROFILES.finish(state.profiles), (0, NOISE)
    sample = state.sample.in_order()
    noun, word_of = sample.contexts[:, 1] == pos.TAGS.index("NOUN"), words(profiles.pieces)[sample.contexts[:, 0]]
    commonest = int(word_of[noun].bincount().argmax())
    sample.values[:, 0, NOISE] += 9 * (noun & (word_of == commonest))
    label, tops = profiles.label.clone(), profiles.top_tokens.clone()
    label[at], tops[at] = pos.TAGS.index("NOUN"), -1
    found = judged(dataclasses.replace(profiles, label=label, top_tokens=tops), sample, 40, state.profiles.seen)
    assert found.positive_words[at] > 20 and found.test_of(*at) == "tail selector" and found.low[at][WORDS] < 0.6
    assert answer.low[0, NOUNS, WORDS] > 0.9 and answer.positive_words[0, NOUNS] >= FEWEST


def test_labels_that_noise_is_given_do_not_predict(state: Any) -> None:
    profiles = PROFILES.finish(state.profiles)
    label = torch.full_like(profiles.label, -1)
    label[1] = pos.TAGS.index("NOUN")
    found = judged(dataclasses.replace(profiles, label=label), state.sample.in_order(), 40, state.profiles.seen)
    assert not found.predicts[1].any() and (found.q[1] > 0.05).all()
    area = found.value[1][:, MEASURES.index("auroc")]
    assert (area - 0.5).abs().max() < 0.05
    precision, base = (found.value[1][:, MEASURES.index(name)] for name in ("precision", "base_rate"))
    assert (precision - base).abs().max() < 0.1


def test_the_halves_share_no_text_and_every_token_counts(state: Any, made: list[Any], model: Any) -> None:
    labelled = {h for h in state.profiles.tops.places[..., 0].flatten().tolist() if h != -1}
    tested = set(state.sample.places[:, 0].tolist())
    assert labelled and tested and not labelled & tested
    assert state.profiles.n_stories + state.n_tested == len(made)
    assert 0.3 < state.n_tested / len(made) < 0.7
    lengths = [min(len(ids), 320) - 1 for ids in models.tokenizer_of(model).encode([story.text for story in made])]
    drawn = state.sample.drawn()  # fewer than `tokens`, so all are kept
    assert state.profiles.n_tokens + len(drawn.keys) == sum(lengths)


def test_measures_are_those_of_scikit_learn_with_and_without_a_group() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=600).round(1).astype(np.float32)  # many ties
    positive, group = rng.random(600) < 1 / (1 + np.exp(2 - values)), rng.integers(0, 5, 600)
    found = leaving_out(values, positive, group, 1.0)
    assert area(values, positive) == found[0, MEASURES.index("auroc")]
    assert np.isnan(area(values, np.arange(600) < ENOUGH - 1))
    for row, left in zip(found, [-1, *range(5)], strict=True):
        kept = group != left
        x, y = values[kept], positive[kept]
        assert row.tolist() == pytest.approx(
            [
                roc_auc_score(y, x),
                precision_score(y, x > 1.0),
                recall_score(y, x > 1.0),
                average_precision_score(y, x),
                y.mean(),
            ]
        )


def test_four_tokens_by_hand() -> None:
    """Positives 4 and 2, negatives 3 and 1: 3 of 4 pairs are in order; above 2.5 one of two is positive, of two."""
    found = leaving_out(np.array([4.0, 3, 2, 1]), np.array([True, False, True, False]), np.zeros(4, dtype=int), 2.5)[0]
    assert found.tolist() == pytest.approx([3 / 4, 1 / 2, 1 / 2, (1 + 2 / 3) / 2, 1 / 2])
    assert leaving_out(np.arange(4.0), np.arange(4) > 1, np.zeros(4, dtype=int), 9.0)[0, 1:3].tolist() == [0, 0]


def simulated(rng: np.random.Generator, apart: float, spread: float) -> tuple[Any, Any, Any]:
    """Sixty stories of unequal lengths; in each, positives lie higher by `apart` and a draw of the story's own."""
    story = np.repeat(np.arange(60), rng.integers(15, 60, 60))
    positive = rng.random(len(story)) < 0.2
    values = rng.normal(size=len(story)) + positive * (apart + spread * rng.normal(size=60)[story])
    return values, positive, story


@pytest.mark.thorough
def test_intervals_over_stories_cover_and_those_over_tokens_do_not() -> None:
    """The true AUROC is P(N(1, 1 + 0.6^2) > N(0, 1)), the true recall P(N(1, 1 + 0.6^2) > 1.3)."""
    rng, n = np.random.default_rng(1), 400
    truth = {"auroc": norm.cdf(1 / np.sqrt(2 + 0.6**2)), "recall": norm.sf(0.3 / np.sqrt(1 + 0.6**2))}
    covered, by_token = dict.fromkeys(truth, 0), 0
    for _ in range(n):
        values, positive, story = simulated(rng, 1.0, 0.6)
        found = measured(values, positive, story % 10, 1.3)
        for name, value in truth.items():
            i = MEASURES.index(name)
            covered[name] += found.low[i] <= value <= found.high[i]
        by_token += truth["auroc"] in stats.auroc(values, positive)
    for name, times in covered.items():
        assert binomtest(int(times), n, 0.95).pvalue > 0.001, (name, times / n)
    assert binomtest(by_token, n, 0.95).pvalue < 0.001 and by_token < 0.9 * n


def test_p_is_uniform_where_a_label_says_nothing() -> None:
    rng = np.random.default_rng(2)
    p = []
    for _ in range(250):
        values, positive, story = simulated(rng, 0.0, 0.6)
        p.append(measured(values, positive, story % 10, 1.0).p)
    assert kstest(p, "uniform").pvalue > 0.001


def test_what_too_few_tokens_say() -> None:
    rng = np.random.default_rng(0)
    values, group = rng.random(100), np.arange(100) % 10
    few = measured(values, np.arange(100) < ENOUGH - 1, group, 0.5)
    assert np.isnan(few.value).all() and np.isnan(few.p)
    one = measured(values, np.arange(100) < 50, np.zeros(100, dtype=int), 0.5)
    assert not np.isnan(one.value).any() and np.isnan(one.low).all() and np.isnan(one.p)
    perfect = measured(values + 2 * (np.arange(100) < 20), np.arange(100) < 20, group, 1.5)
    i = MEASURES.index("auroc")
    assert perfect.value[i] == perfect.high[i] == 1 and 0.9 < perfect.low[i] < 1  # 20 of 20 is no certainty
    assert perfect.p < 1e-3


CORPUS = [story.text for story in generate(24, seed=11)]
CORPUS += [CORPUS[3], CORPUS[3], CORPUS[8]]
REDUCER = neurons.HeldOut(k=6, sample=300, tokens=700)


def run(model: Any, corpus: list[str], batch_tokens: int = 4096, shards: int = 1) -> Any:
    parts = [
        states(model, corpus, [REDUCER], context=80, batch_tokens=batch_tokens, shard=Shard(i, shards))[0]
        for i in range(shards)
    ]
    return reduce(REDUCER.merge, parts)


@pytest.mark.thorough
def test_the_answer_is_the_same_for_every_batch_order_and_shard() -> None:
    """The sample is smaller than the corpus, some stories are there twice, and the bundled model has labels."""
    model = models.load("stories2M")
    whole = run(model, CORPUS)
    assert len(whole.sample.keys) == 700 and not (whole.sample.keys == torch.iinfo(torch.int64).max).any()
    first = REDUCER.finish(whole)
    assert ((first.label >= 0) | first.by_word).sum() >= 3
    for other in (run(model, CORPUS, 1), run(model, CORPUS[::-1], 500), run(model, CORPUS, 4096, 4)):
        one, two = whole.sample.in_order(), other.sample.in_order()
        for name in ("keys", "places", "contexts"):
            assert torch.equal(getattr(one, name), getattr(two, name)), name
        found = REDUCER.finish(other)
        assert torch.equal(first.label, found.label) and torch.equal(first.predicts, found.predicts)
        assert first.counts() == found.counts() and first.n_tested == found.n_tested
        for name in ("value", "low", "high", "auroc_same_words"):
            torch.testing.assert_close(getattr(first, name), getattr(found, name), atol=5e-3, rtol=0, equal_nan=True)


def test_merging_is_associative(model: Any) -> None:
    def parts() -> list[Any]:
        return [run(model, CORPUS[i::3]) for i in range(3)]

    a, b, c = parts()
    left = REDUCER.merge(REDUCER.merge(a, b), c).sample.in_order()
    a, b, c = parts()
    right = REDUCER.merge(a, REDUCER.merge(b, c)).sample.in_order()
    for name in ("keys", "places", "contexts", "values"):
        assert torch.equal(getattr(left, name), getattr(right, name))
    empty = REDUCER.start(model)
    assert len(REDUCER.merge(REDUCER.merge(empty, REDUCER.start(model)), run(model, CORPUS)).sample.keys) == 700


def test_tags_of_tested_tokens_are_those_of_the_whole_story(model: Any) -> None:
    tokenizer = models.tokenizer_of(model)
    (batch,) = scan.batches(CORPUS[:2], tokenizer, context=40)
    found = tags_in(batch, tokenizer)
    for text, row in zip(batch.texts, found.tolist(), strict=True):
        assert [pos.TAGS[i] for i in row] == pos.tag_tokens(text, tokenizer.offsets(text))[0][:40]


def test_it_reads_beside_other_questions(model: Any) -> None:
    """Other reducers ask for other activations, which the pass hands to all."""
    from tslens.analysis import lens

    alone = neurons.held_out(model, CORPUS, k=6, sample=300, tokens=700)
    beside = scan.scan(model, CORPUS, [lens.ByDepth(groups=4), REDUCER, neurons.Profiles(k=3, sample=50)])[1]
    torch.testing.assert_close(beside.threshold, alone.threshold)
    assert torch.equal(beside.label, alone.label)


def test_an_answer_prints_draws_comes_back_and_is_refused(
    answer: Any, model: Any, tmp_path: Path, refused: Any, compressor: Any
) -> None:
    table = answer.summary()
    assert {"NOUN", "ADJ", "token: and"} <= set(table["label"]) and table["auroc_low"].iloc[0] > 0.9
    assert "2 of 2 labels of a part of speech and 1 of 1 labels of one word predict" in str(answer)
    again = neurons.HeldOutResult.load(answer.save(tmp_path))
    torch.testing.assert_close(again.value, answer.value, equal_nan=True)
    assert len(answer.to_frame("value")) == 2 * WIDTH * len(TESTED)
    drawn = plots.svg(answer.figure())
    assert "NOUN  0.0" in drawn and "“and”  0.2" in drawn
    nothing = dataclasses.replace(answer, low=torch.full_like(answer.low, torch.nan))
    assert nothing.label_of(0, NOUNS) == "NOUN, untested" and plots.svg(nothing.figure()).startswith("<svg")
    with refused("tokens=0 leaves nothing"):
        neurons.HeldOut(tokens=0)
    with refused("k=0 leaves nothing"):
        neurons.HeldOut(k=0)
    with refused("pairs"):
        neurons.held_out(compressor, CORPUS)


def test_without_a_token_in_one_of_the_halves_no_label_is_tested(model: Any) -> None:
    profiles, tested = scan.scan(model, CORPUS[:1], [neurons.Profiles(), neurons.HeldOut()])
    assert "one half of the stories has no token" in str(tested) and not any(tested.counts().values())
    assert {test for row in tested.qualify(profiles).tests for test in row} <= {"", "untested"}


def test_labels_on_all_stories_say_what_other_stories_say_of_them(answer: Any, state: Any) -> None:
    """A label that the half did not give is untested; `and` and `And` are one word."""
    profiles = PROFILES.finish(state.profiles)
    label, word = profiles.label.clone(), profiles.word.clone()
    label[0, NOTHING] = pos.TAGS.index("VERB")
    capital = profiles.pieces.index(next(p for p in profiles.pieces if p.strip() == "And"))
    word[0, WORD] = capital
    found = answer.qualify(dataclasses.replace(profiles, label=label, word=word))
    assert [found.tests[0][i] for i in (NOUNS, ADJECTIVES, WORD, NOTHING)] == ["predicts"] * 3 + ["untested"]
    assert found.label_of(0, NOUNS) == found.name_of(0, NOUNS) == "NOUN" and found.label_of(0, WORD) == "token: And"
    assert found.label_of(0, NOTHING) == "VERB, untested" and found.tests[0][EVERYTHING] == ""
    numbers = [answer.value[0, NOUNS, 0], answer.low[0, NOUNS, 0], *answer.value[0, NOUNS, 1:3]]
    assert found.held_out[0][NOUNS] == [float(number) for number in numbers] and found.held_out[0][NOTHING] == []
    table = found.summary()
    assert {*zip(table["neuron"][:3], table["held_auroc"][:3].round(6), strict=True)} == {
        (i, round(float(answer.value[0, i, 0]), 6)) for i in (NOUNS, ADJECTIVES, WORD)
    }
    assert table["held_auroc"][table["neuron"] == NOTHING].isna().all() and "held_auroc" not in profiles.summary()
    tail = dataclasses.replace(answer, low=answer.low - 1).qualify(profiles)
    assert tail.label_of(0, NOUNS) == "NOUN, tail selector" and "NOUN, tail selector" in set(tail.to_frame()["label"])


@pytest.mark.thorough
def test_twins_count_labels_that_predict(model: Any) -> None:
    found = compare(model, CORPUS, [REDUCER], n=1)
    assert "part-of-speech neurons that predict" in found.labels and found.count.sum() == 0
