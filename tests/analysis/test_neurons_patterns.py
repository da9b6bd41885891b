"""Word sets and words before: planted ones are found and predict, noise has none; any batches; by hand."""

import dataclasses
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tslens import models, plots, scan
from tslens.analysis import neurons
from tslens.analysis.neurons.proposals import NOTHING, word_set, words_before
from tslens.models import Spec, build
from tslens.scan import Shard, states
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer

WIDTH = 8
SET, AFTER, AFTER_TWO, ONE_WORD, NOISE = range(5)
WORDS = (" mom", " dad", " she")


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [story.text for story in generate(120, seed=8)]


@pytest.fixture(scope="module")
def model(corpus: list[str]) -> Any:
    tokenizer = Tokenizer.train(corpus, 1500)
    return build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=320, d_mlp=WIDTH), seed=1, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def answer(model: Any, corpus: list[str]) -> Any:
    """Activations that follow a set of words, the words before, one word, and nothing."""
    tokenizer, reducer = models.tokenizer_of(model), neurons.Patterns(k=40)
    number = {word: tokenizer.encode([f"x{word}"], bos=False)[0][-1] for word in (" and", " wanted", " to")}
    pieces = tokenizer.pieces(range(tokenizer.size))
    in_set = [i for i, piece in enumerate(pieces) if f" {piece.strip().casefold()}" in WORDS]  # with capitals too
    state, generator = reducer.start(model), torch.Generator().manual_seed(4)
    for batch in scan.batches(corpus, tokenizer, context=320, batch_tokens=4000):
        acts = torch.rand(*batch.tokens.shape, WIDTH, generator=generator)
        before = torch.nn.functional.pad(batch.tokens, (1, 0), value=-1)[:, :-1]
        two = torch.nn.functional.pad(batch.tokens, (2, 0), value=-1)[:, :-2]
        acts[..., SET] += 2 * torch.isin(batch.tokens, torch.tensor(in_set))
        acts[..., AFTER] += 2 * (before == number[" and"])
        acts[..., AFTER_TWO] += 2 * ((before == number[" to"]) & (two == number[" wanted"]))
        acts[..., ONE_WORD] += 2 * (batch.tokens == number[" and"])
        reducer.update(state, {"blocks.0.mlp.hook_post": acts}, batch)
    return reducer.finish(state)


def test_planted_patterns_are_found_and_predict(answer: Any) -> None:
    assert set(answer.pattern_of("word set", 0, SET).casefold().split(", ")) == {word.strip() for word in WORDS}
    assert answer.pattern_of("words before", 0, AFTER) == "after: and"
    assert answer.pattern_of("words before", 0, AFTER_TWO) == "after: wanted to"
    assert answer.predicts[0, 0, SET] and answer.predicts[1, 0, AFTER]
    assert answer.auroc_other_words_low[0, AFTER] > 0.9 and answer.low[1, 0, AFTER_TWO, 0] > 0.9
    assert answer.auroc_other_words[0, AFTER_TWO].isnan()  # all of its few words are on top: untested
    found = {(row.neuron, row.kind) for row in answer.summary().itertuples()}
    assert found == {(SET, "word set"), (AFTER, "words before")}
    assert answer.counts() == {"word set neurons": 1, "words before neurons": 1}


def test_words_before_predict_only_if_they_do_so_for_other_words(answer: Any) -> None:
    """One whose own words alone follow has no other word to test it, and one that does not fire on these is refuted."""
    for low, predicts in ((float("nan"), False), (0.6, False), (0.8, True)):
        other = answer.auroc_other_words_low.clone()
        other[0, AFTER] = low
        found = dataclasses.replace(answer, auroc_other_words_low=other).predicts
        assert bool(found[1, 0, AFTER]) == predicts and found[0, 0, SET]


def test_one_word_and_noise_have_no_pattern_that_predicts(answer: Any) -> None:
    assert not answer.predicts[:, 0, ONE_WORD:].any() and answer.pattern_of("word set", 0, ONE_WORD) == ""


def test_patterns_by_hand() -> None:
    def of(*rows: tuple[int, ...]) -> np.ndarray:
        return np.array(rows)

    six = of((1, 2, 7, 0, 0), (3, 2, 7, 0, 1), (4, 2, 8, 0, 2), (1, 2, 8, 0, 3), (9, 5, 7, 0, 4), (9, 6, 8, 0, 5))
    assert word_set(six).words == (7, 8) and word_set(six).share == 1
    assert words_before(six, 2).words == (2,) and words_before(six, 2).share == pytest.approx(4 / 6)
    assert words_before(of(*[(1, 2, i, 0, 0) for i in range(5)]), 2).words == (2, 1)  # the nearest first, the longest
    assert word_set(of(*[(i, i, 7, 0, 0) for i in range(6)])) is NOTHING  # one word is no set
    assert word_set(of(*[(1, 2, 7, 0, 0)] * 9, (1, 2, 8, 0, 0))) is NOTHING  # the same context counts once
    assert words_before(of(*[(-1, -1, i, 0, 0) for i in range(6)]), 2) is NOTHING  # nothing is before


@pytest.mark.thorough
def test_the_answer_is_the_same_for_every_batch_order_and_shard(model: Any, corpus: list[str]) -> None:
    reducer, some = neurons.Patterns(k=10, sample=200, tokens=1500), corpus[:24] + corpus[3:4]

    def run(stories: list[str], batch_tokens: int = 4096, shards: int = 1) -> Any:
        parts = [
            states(model, stories, [reducer], batch_tokens=batch_tokens, shard=Shard(i, shards))[0]
            for i in range(shards)
        ]
        return reducer.finish(reduce(reducer.merge, parts))

    first = run(some)
    for other in (run(some, 1), run(some[::-1], 500, 3)):
        for name in ("words", "before", "positives"):
            assert torch.equal(getattr(first, name), getattr(other, name)), name
        for name in ("value", "low", "share", "base_rate", "auroc_other_words"):
            torch.testing.assert_close(getattr(first, name), getattr(other, name), atol=1e-3, rtol=0, equal_nan=True)


def test_an_answer_prints_draws_comes_back_and_is_refused(
    answer: Any, model: Any, corpus: list[str], tmp_path: Path, refused: Any
) -> None:
    assert "other stories" in str(answer) and "word set, layer 0" in plots.svg(answer.figure())
    assert "No untrained twin was counted (" in str(answer)
    again = neurons.PatternsResult.load(answer.save(tmp_path))
    assert torch.equal(again.q.nan_to_num(), answer.q.nan_to_num()) and again.counts() == answer.counts()
    with refused("tokens=0 leaves nothing"):
        neurons.Patterns(tokens=0)
    with refused("one half has no token"):
        neurons.patterns(model, corpus[:1])
