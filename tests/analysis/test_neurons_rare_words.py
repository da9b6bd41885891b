"""Neurons of ordinary words, too rare among the random tokens: planted ones are named, and no others."""

import re
from collections import Counter
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch

from tslens import cli, models, twins
from tslens.analysis import neurons
from tslens.analysis.neurons.choice import is_too_rare
from tslens.analysis.neurons.rare_words import TOKENS, WordTokens
from tslens.analysis.neurons.sample import Sample
from tslens.cluster import scan_shard
from tslens.models import Spec, build
from tslens.models.twins import twins as every_twin
from tslens.pos.types import words
from tslens.scan import Shard, scan
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer
from tslens.twins.rare_words import OF_RARE_WORDS

PLANTS, WIDTH, CONTEXT = 4, 24, 128  # planted neurons, and all


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [story.text for story in generate(120, seed=21)]


@pytest.fixture(scope="module")
def tokenizer(corpus: list[str]) -> Tokenizer:
    return Tokenizer.train(corpus, 1500)


@pytest.fixture(scope="module")
def planted(corpus: list[str], tokenizer: Tokenizer) -> list[int]:
    """Tokens of ordinary words: 50 to 110 of each in these stories, below one in a hundred."""
    pieces, read = tokenizer.pieces(range(tokenizer.size)), tokenizer.encode(corpus, bos=False)
    times = Counter(token for row in read for token in row[: CONTEXT - 1])
    of_word = Counter(pieces[token].strip().casefold() for token in times)  # words that are one token, in one case
    whole = [t for t, n in times.items() if re.fullmatch(" [a-z]{3,}", pieces[t]) and 50 <= n <= 110]
    chosen = sorted(t for t in whole if of_word[pieces[t].strip()] == 1)[:PLANTS]
    assert len(chosen) == PLANTS and max(times[t] for t in chosen) < 0.01 * sum(times.values())
    return chosen


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer, planted: list[int]) -> Any:
    """Neuron i of the first layer fires on the planted token i and on nothing else; the others are random."""
    made = build(Spec(64, 1, 2, d_vocab=tokenizer.size, n_ctx=CONTEXT, d_mlp=WIDTH), seed=1, tokenizer=tokenizer)
    block = made.blocks[0]
    with torch.no_grad():
        made.embed.W_E[:, :PLANTS] = 0
        made.pos_embed.W_pos.zero_()
        block.attn.W_O.zero_()
        for i, token in enumerate(planted):
            made.embed.W_E[token, i] = 5
            block.mlp.W_in[:, i] = 0
            block.mlp.W_in[i, i], block.mlp.b_in[i] = 1, -1
    return made


@pytest.fixture(scope="module")
def found(model: Any, corpus: list[str]) -> neurons.ProfilesResult:
    return neurons.profiles(model, corpus, sample=200)


def test_planted_neurons_of_ordinary_words_are_named(
    model: Any, corpus: list[str], found: neurons.ProfilesResult, planted: list[int]
) -> None:
    """Random tokens name none of them; tokens of the words name all, and change no count. Random neurons of this small
    model may fire on a word too: so no others are ruled out."""
    assert is_too_rare(found)[0, :PLANTS].all() and {found.label_of(0, i) for i in range(PLANTS)} == {"unresolved"}
    answer = neurons.rare_words(model, corpus, found)
    assert answer.rare_words is not None and answer.rare_words[:PLANTS] == [[0, i] for i in range(PLANTS)]
    for i, token in enumerate(planted):
        assert answer.label_of(0, i) == f"token: {found.pieces[token].strip()}, rare word"
    assert answer.counts() == found.counts() and torch.equal(answer.by_word, found.by_word)
    table = answer.to_frame()
    assert table["label"].str.endswith("rare word").sum() == len(answer.rare_words)
    assert f"{len(answer.rare_words)} fire on it" in str(answer)
    assert "more (`--sample`) test it" in str(found)


@pytest.mark.thorough
def test_they_are_counted_on_untrained_twins_and_on_halves(model: Any, corpus: list[str], tmp_path: Any) -> None:
    """A permuted embedding has no neuron of a word by design; what it has is counted by the same rule."""
    models.save(model, tmp_path / "model")
    loaded = models.load(str(tmp_path / "model"))
    counted = twins.of_rare_words(loaded, corpus, n=3)
    profiles = neurons.profiles(loaded, corpus[:100])
    own = neurons.rare_words(loaded, corpus[:100], profiles).rare_words
    assert counted.stories == 100 and counted.labels == [OF_RARE_WORDS] and own is not None
    assert int(counted.count[0]) == len(own) >= PLANTS and counted.low[0] <= len(own) <= counted.high[0] <= WIDTH
    first = every_twin(1)[0].of(loaded)
    of_first = neurons.rare_words(first, corpus[:100], neurons.profiles(first, corpus[:100])).rare_words
    assert of_first is not None and int(counted.of_twins[0, 0]) == len(of_first)
    assert not counted.leads[0] and counted.said(counted.labels).endswith("p = 0.25)")
    assert torch.equal(twins.of_rare_words(loaded, corpus, n=3).of_twins, counted.of_twins)


def test_a_neuron_tells_its_own_word_and_not_another(
    model: Any, corpus: list[str], found: neurons.ProfilesResult, planted: list[int]
) -> None:
    word_of = words(found.pieces)
    own, other = (int(word_of[token]) for token in planted[:2])
    reducer = WordTokens(((0, 0), (0, 0)), (own, other), 200)
    measured = reducer.measured(scan(model, corpus, [reducer])[0], found)
    assert measured[0, 0] > 0.99 and measured[0, 1] > 0.6 and measured[0, 2] < 0.01
    assert measured[1, 0] < 0.8


def test_top_tokens_do_not_test_the_word_that_they_chose(
    model: Any, corpus: list[str], found: neurons.ProfilesResult, planted: list[int]
) -> None:
    """Where all drawn tokens of the word are on top nothing is left to test it by."""
    reducer = WordTokens(((0, 0),), (int(words(found.pieces)[planted[0]]),), 200)
    (drawn,) = scan(model, corpus, [reducer])
    ((word, own),) = drawn.of_words.items()
    own, rank = own.in_order(), found.top_tokens.shape[-1]
    drawn.of_words[word] = Sample(own.keys[:rank], own.places[:rank], own.contexts[:rank], own.values[:rank])
    known, row = own.places[:rank, :2].unique(dim=0, return_inverse=True)
    story, at = found.top_story.clone(), found.top_pos.clone()
    story[0, 0], at[0, 0] = row, own.places[:rank, 2]
    on_top = replace(found, story_hashes=known[:, 0], story_occurrences=known[:, 1], top_story=story % len(known))
    assert np.isnan(reducer.measured(drawn, replace(on_top, top_pos=at))[0]).all()
    at[0, 0] = -1
    assert reducer.measured(drawn, replace(on_top, top_pos=at))[0, 0] > 0.99


def test_parts_and_order_change_nothing(model: Any, corpus: list[str], found: neurons.ProfilesResult) -> None:
    word_of = words(found.pieces)
    places = tuple((0, i) for i in range(PLANTS))
    reducer = WordTokens(places, tuple(int(word_of[found.word[place]]) for place in places), 200)
    whole, reversed_ = (
        reducer.measured(scan(model, texts, [reducer], batch_tokens=n)[0], found)
        for texts, n in ((corpus, 4000), (corpus[::-1], 600))
    )
    parts = [scan_shard(model, corpus, Shard(n, 3), [reducer])[0] for n in range(3)]
    merged = reduce(reducer.merge, parts)
    assert np.allclose(whole, reversed_, atol=1e-6, equal_nan=True)
    assert np.allclose(whole, reducer.measured(merged, found), atol=1e-6, equal_nan=True)
    assert all(len(drawn.in_order().keys) <= TOKENS for drawn in merged.of_words.values())


def test_without_such_a_neuron_nothing_is_read(model: Any, found: neurons.ProfilesResult) -> None:
    none = replace(found, word_share=torch.zeros_like(found.word_share))
    answer = neurons.rare_words(model, [], none, lambda reducers: pytest.fail("the stories were read again"))
    assert answer.rare_words == [] and "one word is on top" not in str(answer)


def test_the_command_names_them(
    model: Any, corpus: list[str], tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    models.save(model, tmp_path / "model")
    (tmp_path / "stories.txt").write_text("\n<|endoftext|>\n".join(corpus))
    command = ["analyze", "neurons", "--model", "model", "--stories", "stories.txt", "--sample", "200"]
    assert cli.main([*command, "--label", "token", "--limit", "120"]) == 0
    said = capsys.readouterr().out
    assert "rare word" in said and "were not asked (`--twins 19`)" in " ".join(said.split())
    assert cli.main([*command, "--limit", "40", "--twins", "1"]) == 0
    assert re.search(
        r"fire on it, by more tokens of it\. On 40 stories: \d+ neurons of a rare word \(",
        " ".join(capsys.readouterr().out.split()),
    )
