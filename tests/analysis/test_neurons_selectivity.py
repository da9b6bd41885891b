"""What decides a neuron's activation: planted classes, a planted token, noise; facts by hand; any batches."""

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from tslens import models, plots, pos, scan, stats
from tslens.analysis import neurons
from tslens.analysis.neurons.facts import CLASSES, facts, facts_of
from tslens.analysis.neurons.selectivity_measures import areas, token_share
from tslens.models import Spec, build
from tslens.scan import Shard, states
from tslens.stories.generator import generate
from tslens.stories.sentences import quotations
from tslens.tokenizer import Tokenizer

WIDTH = 24
PLANTED = ("NOUN", "character name", "sentence start", "inside a quotation", "first quarter", "last quarter")
TOKEN, HALF, NOTHING, EVERYTHING, NOISE = range(len(PLANTED), len(PLANTED) + 5)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [story.text for story in generate(60, seed=8)]


@pytest.fixture(scope="module")
def model(corpus: list[str]) -> Any:
    tokenizer = Tokenizer.train(corpus, 1200)
    return build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=320, d_mlp=WIDTH), seed=1, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def answer(model: Any, corpus: list[str]) -> Any:
    """Activations made from the classes themselves; `TOKEN` is a number of each token, `HALF` as much noise too."""
    tokenizer, reducer = models.tokenizer_of(model), neurons.Selectivity(tokens=6000)
    state, generator = reducer.start(model), torch.Generator().manual_seed(4)
    of_token = torch.randn(tokenizer.size, generator=generator)
    for batch in scan.batches(corpus, tokenizer, context=320, batch_tokens=4000):
        shape = (*batch.tokens.shape, WIDTH)
        acts = {f"blocks.{i}.mlp.hook_post": torch.randn(shape, generator=generator) for i in range(2)}
        first, told = acts["blocks.0.mlp.hook_post"], facts(batch, tokenizer)
        for i, name in enumerate(PLANTED):
            first[..., i] += 3 * (told >> CLASSES.index(name) & 1)
        first[..., TOKEN] = of_token[batch.tokens]
        first[..., HALF] += of_token[batch.tokens]
        first[..., NOTHING], first[..., EVERYTHING] = 0, 1
        reducer.update(state, acts, batch)
    return reducer.finish(state)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_class_is_selected(answer: Any, name: str) -> None:
    neuron, i = PLANTED.index(name), CLASSES.index(name)
    assert answer.selects[0, neuron, i] and answer.auroc[0, neuron, i] == answer.auroc[0, neuron].nan_to_num().max()
    assert answer.low[0, neuron, i] > 0.95 and answer.q[0, neuron, i] < 1e-3
    assert answer.counts()[f"neurons that select {name}"] >= 1


def test_the_tail_is_of_the_planted_class(answer: Any) -> None:
    """Of the tokens above the 99.9% quantile of 6,000: noise of size 1 rarely outruns a shift of 3."""
    for neuron, name in enumerate(PLANTED):
        assert answer.tail_share[0, neuron, CLASSES.index(name)] >= 0.6, name
    assert answer.tail_share[0, NOTHING].isnan().all()


def test_what_ignores_the_token_selects_nothing(answer: Any) -> None:
    """Noise, a constant, and a neuron that has a number of its own for each token, whatever its part of speech."""
    assert not answer.selects[1].any() and not answer.selects[0, TOKEN:].any()
    assert (answer.q[1] <= 0.05).float().mean() < 0.01
    assert ((answer.auroc[0, NOTHING] - 0.5).abs().nan_to_num() < 1e-6).all()


def test_the_share_of_the_token(answer: Any) -> None:
    share = answer.token_share[0]
    assert share[TOKEN] == pytest.approx(1, abs=1e-6) and share[NOTHING].isnan() and share[EVERYTHING].isnan()
    assert answer.token_share_low[0, HALF] < share[HALF] < answer.token_share_high[0, HALF]
    assert 0.35 < share[HALF] < 0.65
    covered = (answer.token_share_low[1] < 0) & (answer.token_share_high[1] > 0)
    assert answer.token_share[1].abs().max() < 0.03 and covered.float().mean() > 0.75
    middle = np.nanmedian(answer.token_share.numpy(), axis=1)
    assert answer.median_share.tolist() == pytest.approx(middle.tolist())
    low, high = answer.median_share_low, answer.median_share_high
    assert (low < answer.median_share).all() and low[1] < 0 < high[1]


def test_the_null_of_the_share_is_that_of_shuffled_tokens() -> None:
    rng = np.random.default_rng(0)
    token, value = rng.integers(0, 30, 400), rng.normal(size=400)
    shuffled = np.stack([value[rng.permutation(400)] for _ in range(600)])
    found = token_share(shuffled, token, np.zeros(400, dtype=int))[0]
    assert abs(found.mean()) < 3 * found.std() / np.sqrt(600)
    means = np.bincount(token, value, 30) / np.bincount(token, minlength=30)
    explained, chance = ((means[token] - value.mean()) ** 2).sum() / ((value - value.mean()) ** 2).sum(), 29 / 399
    assert token_share(value[None], token, token % 2)[0, 0] == pytest.approx((explained - chance) / (1 - chance))


def test_areas_are_aurocs_with_and_without_a_group() -> None:
    rng = np.random.default_rng(0)
    values, marks, group = rng.normal(size=(3, 1500)), rng.random((1500, 2)) < [0.1, 0.4], rng.integers(0, 4, 1500)
    values[0] += marks[:, 0]
    values[1] = values[1].round()
    found = areas(rankdata(values, axis=1), marks, group)
    assert found.shape == (5, 3, 2)
    for left in range(-1, 4):
        kept = group != left
        for i in range(2):
            exact = stats.auroc(values[:, kept], marks[kept, i]).estimate
            assert found[left + 1, :, i] == pytest.approx(exact, abs=1 / 256)


def test_the_facts_of_a_text_by_hand() -> None:
    text = 'Tom ran. "Stop it!" said Sue. Tom sat in Paris.'
    tagged = pos.tag_words(text)
    spans = [(0, 0), *((start, end) for start, end, _ in tagged)]
    found = {text[a:b] + str(a): {name for i, name in enumerate(CLASSES) if mask >> i & 1}
             for (a, b), mask in zip(spans, facts_of(text, tagged, spans), strict=True)}  # fmt: skip
    assert {"PROPN", "character name", "sentence start", "first quarter"} == found["Tom0"]
    assert "character name" not in found["Paris41"] and "last quarter" in found["Paris41"]
    assert {word for word, told in found.items() if "inside a quotation" in told} == {"Stop10", "it15", "!17"}
    assert {word for word, told in found.items() if "sentence start" in told} == {"Tom0", "Stop10", "Tom30"}
    assert quotations('a “b”\n"c" d') == [(2, 5), (6, 9)]


REDUCER = neurons.Selectivity(tokens=700)


@pytest.mark.thorough
def test_the_answer_is_the_same_for_every_batch_order_and_shard(corpus: list[str]) -> None:
    model, some = models.load("stories2M"), corpus[:20] + corpus[3:4]

    def run(stories: list[str], batch_tokens: int = 4096, shards: int = 1) -> Any:
        parts = [
            states(model, stories, [REDUCER], context=80, batch_tokens=batch_tokens, shard=Shard(i, shards))[0]
            for i in range(shards)
        ]
        return REDUCER.finish(reduce(REDUCER.merge, parts))

    first = run(some)
    assert first.n_tokens == 700
    for other in (run(some, 1), run(some[::-1], 500, 3)):
        assert torch.equal(first.base_rate, other.base_rate) and first.counts() == other.counts()
        for name in ("auroc", "low", "token_share"):
            torch.testing.assert_close(getattr(first, name), getattr(other, name), atol=5e-3, rtol=0, equal_nan=True)


def test_an_answer_prints_draws_comes_back_and_is_refused(
    answer: Any, model: Any, corpus: list[str], tmp_path: Path, refused: Any, compressor: Any
) -> None:
    assert len(answer.summary()) == len(CLASSES) and "token alone explains" in str(answer)
    again = neurons.SelectivityResult.load(answer.save(tmp_path))
    assert again.classes == answer.classes and torch.equal(again.q.nan_to_num(), answer.q.nan_to_num())
    assert "inside a quotation" in plots.svg(answer.figure())
    assert len(answer.to_frame()) == 2 * WIDTH * len(CLASSES)
    with refused("tokens=0 leaves nothing"):
        neurons.Selectivity(tokens=0)
    with refused("two stories"):
        neurons.selectivity(model, corpus[:1])
    with refused("pairs"):
        neurons.selectivity(compressor, corpus[:2])
