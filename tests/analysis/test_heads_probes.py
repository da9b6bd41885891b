"""Probes: planted vectors that carry a class, a word or nothing; held-out corners; the same answer in any batches."""

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch

from tslens import models, plots, pos
from tslens.analysis import heads
from tslens.analysis.heads import probes_fit
from tslens.analysis.heads.probes_fit import (
    OF_A_TYPE,
    Accuracy,
    accuracies,
    balanced,
    chosen,
    fit,
    of_tokens,
    predicted,
    shuffled,
)
from tslens.draws import draw
from tslens.models import Spec, build
from tslens.scan import Shard, states
from tslens.stories.generator import generate
from tslens.stories.identity import content_hash
from tslens.twins.counting import units

TAGS = [pos.TAGS.index(name) for name in ("NOUN", "VERB", "ADJ")]
N_TYPES, TIMES, D = 60, 5, 12


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    """Words of three parts of speech, each 60 types five times, in 80 stories."""
    types = [f"{tag}-{i}" for tag in TAGS for i in range(N_TYPES) for _ in range(TIMES)]
    tags = torch.tensor([tag for tag in TAGS for _ in range(N_TYPES * TIMES)])
    seeds = draw(torch.arange(len(types)) % 80)
    return {"tags": tags, "types": types, "seeds": seeds}


def test_a_planted_class_is_read_and_a_word_learnt_by_heart_is_not(sample: dict[str, Any]) -> None:
    """Head 0.0's queries carry the class, its keys the word alone, head 0.1's nothing."""
    generator = torch.Generator().manual_seed(1)
    n = len(sample["types"])
    centre = {tag: torch.randn(D, generator=generator) for tag in TAGS}
    of_word = {word: 3 * torch.randn(D, generator=generator) for word in sorted(set(sample["types"]))}
    vectors = torch.randn(n, 2, 1, 2, D, generator=generator)
    vectors[:, 0, 0, 0] += 3 * torch.stack([centre[int(tag)] for tag in sample["tags"]])
    vectors[:, 1, 0, 0] += torch.stack([of_word[word] for word in sample["types"]])
    embedding = torch.stack([of_word[word] for word in sample["types"]])
    found = fit("planted", vectors, embedding, sample["tags"], sample["types"], sample["seeds"])
    assert found.classes == ["ADJ", "NOUN", "VERB"] and found.chance == pytest.approx(1 / 3)
    assert found.accuracy[0, 0, 0] > 0.95 and found.gain_low[0, 0, 0] > 0.3
    assert found.q_shuffled[0, 0, 0] < 0.01 and found.q_embedding[0, 0, 0] < 0.01
    others = torch.stack([found.accuracy[1, 0, 0], found.accuracy[0, 0, 1], found.accuracy[1, 0, 1]])
    assert (others < 0.45).all() and abs(found.embedding - 1 / 3) < 0.12
    assert (found.shuffled < 0.45).all()
    assert found.carried == found.added == 1
    # Accuracy on words that were fitted, vectors of words are read all the same: why words are held out.
    words = chosen(sample["tags"], sample["types"], sample["seeds"])
    wide = {word: torch.randn(150, generator=generator) for word in sorted(set(sample["types"]))}
    read = torch.stack([wide[sample["types"][i]] for i in words.kept.tolist()]).numpy()
    mixed = np.arange(len(read)) // 7 % 4
    assert (predicted(read, mixed, words.labels[0], None) == words.labels[0]).mean() > 0.5
    assert (predicted(read, words.corner, words.labels[0], None) == words.labels[0]).mean() < 0.45


def test_corners_share_neither_story_nor_word(sample: dict[str, Any]) -> None:
    words = chosen(sample["tags"], sample["types"], sample["seeds"])
    types = np.array(sample["types"])[words.kept]
    seeds = sample["seeds"].numpy()[words.kept]
    for corner in range(4):
        fitted, judged = words.corner == corner, words.corner == 3 - corner
        assert fitted.sum() > 50
        assert not set(types[fitted]) & set(types[judged])
        assert not set(seeds[fitted]) & set(seeds[judged])


def test_a_frequent_word_is_read_twenty_times_and_a_part_of_speech_of_few_words_not_at_all(
    sample: dict[str, Any], refused: Any
) -> None:
    often = ["the"] * 100 + ["a"] * 50
    types, tags = sample["types"] + often, torch.cat([sample["tags"], torch.full((150,), pos.TAGS.index("DET"))])
    seeds = draw(torch.arange(len(types)) % 80)
    words = chosen(tags, types, seeds)
    assert words.classes == ["ADJ", "NOUN", "VERB"] and len(words.kept) == len(sample["types"])
    noun = torch.full((100,), TAGS[0])
    more = chosen(
        torch.cat([sample["tags"], noun]), sample["types"] + ["thing"] * 100, seeds[: len(sample["types"]) + 100]
    )
    assert len(more.kept) == len(sample["types"]) + OF_A_TYPE
    with refused("A probe needs two parts of speech"):
        chosen(noun, ["thing"] * 100, seeds[:100])


def test_shuffled_labels_are_a_permutation_within_frequency() -> None:
    from collections import Counter

    tag_of = {f"w{i}": i % 3 for i in range(60)}
    often = Counter({word: 1 if int(word[1:]) < 30 else 9 for word in tag_of})
    found = shuffled(tag_of, often, 0)
    for low, high in ((0, 30), (30, 60)):
        words = [f"w{i}" for i in range(low, high)]
        assert Counter(found[w] for w in words) == Counter(tag_of[w] for w in words)
    assert found != tag_of and found != shuffled(tag_of, often, 1) and found == shuffled(tag_of, often, 0)


def test_balanced_accuracy_by_hand() -> None:
    """Class 0: 3 of 4, class 1: 1 of 2, so 0.625; without the second group 1 of 2 and 1 of 1."""
    hit = np.array([True, False, True, False, True, True])
    labels = np.array([0, 0, 1, 1, 0, 0])
    found = balanced(hit, labels, np.array([3, 3, 3, 5, 5, 5]))
    assert float(found.value) == pytest.approx(0.625)
    assert found.without.tolist() == pytest.approx([(1 + 0) / 2, (0.5 + 1) / 2])


def test_the_embedding_is_read_whole_where_that_is_better(sample: dict[str, Any]) -> None:
    """The class lies in the coordinates that vary least, which a cut to a head's dimensions loses."""
    generator = torch.Generator().manual_seed(2)
    embedding = torch.randn(len(sample["types"]), 40, generator=generator) * 10
    of_class = torch.stack([sample["tags"] == tag for tag in TAGS], 1)
    embedding[:, 37:] = 0.3 * of_class + 0.003 * embedding[:, 37:]
    words = chosen(sample["tags"], sample["types"], sample["seeds"])
    read = embedding[torch.as_tensor(words.kept)].numpy()
    cut, whole = (float(accuracies(read, words, dimensions)[0].value) for dimensions in (D, None))
    assert cut < 0.5 < 0.9 < whole == float(of_tokens(read, words, D).value)


def test_errors_are_those_of_word_types_where_these_decide(sample: dict[str, Any]) -> None:
    """Each type is read right in every story or in none."""
    words = chosen(sample["tags"], sample["types"], sample["seeds"])
    types = np.array(sample["types"])[words.kept]
    hit = np.array([content_hash(f"{word} is read") % 2 == 0 for word in types])
    found = Accuracy(*(balanced(hit, words.labels[0], group) for group in words.groups))
    (low, high), (low_, high_) = found.of_stories.interval, found.of_types.interval
    assert high - low < 0.6 * (high_ - low_) and found.interval == (min(low, low_), max(high, high_))
    assert found.p_above_0() == found.of_types.p_above(0.0)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [made.text for made in generate(20, seed=6)]


@pytest.mark.thorough
def test_the_sample_is_the_same_for_every_batch_order_and_shard(
    made_words: Any, loud: Any, corpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loud(
        build(
            Spec(8, 2, 2, d_vocab=made_words.size, n_ctx=64, style="llama", n_key_value_heads=1), tokenizer=made_words
        )
    )
    reducer = heads.Probes(words=300)

    def sampled(stories: list[str], batch_tokens: int = 4096, shards: int = 1) -> Any:
        parts = [
            states(model, stories, [reducer], batch_tokens=batch_tokens, shard=Shard(i, shards))[0]
            for i in range(shards)
        ]
        return reduce(reducer.merge, parts)

    whole = sampled(corpus)
    assert len(whole.keys) == len(whole.types) == 300
    for other in (sampled(corpus, 128), sampled(corpus[::-1], 200), sampled(corpus, 4096, 3)):
        assert (
            other.types == whole.types and torch.equal(other.keys, whole.keys) and torch.equal(other.tags, whole.tags)
        )
        torch.testing.assert_close(other.vectors, whole.vectors, atol=1e-5, rtol=1e-4)
    # The vectors are the hooked model's, at the last token of the word.
    text = corpus[0]
    tokens = torch.tensor(made_words.encode([text]))[:, :64]
    with torch.no_grad():
        _, cache = model.run_with_cache(tokens)
    where = (whole.tokens[:, None] == tokens[0]).nonzero()
    keys = cache["blocks.1.attn.hook_k"][0]
    distance = (whole.vectors[where[:, 0], 1, 1, 1] - keys[where[:, 1], 0]).abs().amax(-1)
    assert (distance < 1e-4).sum() >= 3  # the sampled words of this story
    assert set(whole.tags.tolist()) <= set(range(len(pos.TAGS)))
    monkeypatch.setattr(probes_fit, "TYPES", 3)
    found = reducer.finish(whole)
    assert found.accuracy.shape == (2, 2, 2)
    assert found.distinct[0].all() and found.distinct[1].tolist() == [[True, False]] * 2  # both heads share a key
    assert torch.equal(found.accuracy[1, :, 0], found.accuracy[1, :, 1])
    assert units(model, "queries and keys beyond tokens") == 6
    sure = replace(found, q_shuffled=found.q_shuffled * 0, q_embedding=found.q_embedding * 0)
    assert sure.counts() == {"queries and keys beyond shuffled labels": 6, "queries and keys beyond tokens": 6}
    assert "6 of 6 queries and keys exceed shuffled labels" in str(sure)


def test_an_answer_prints_draws_comes_back_and_is_refused(
    made_words: Any,
    loud: Any,
    corpus: list[str],
    tmp_path: Any,
    refused: Any,
    compressor: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = loud(build(Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=96), tokenizer=made_words))
    monkeypatch.setattr(probes_fit, "TYPES", 3)
    found = heads.probes(model, corpus, words=500)
    assert found.words <= 500 and (found.low <= found.accuracy).all()
    assert list(found.counts().values()) == [found.carried, found.added]  # what twins are counted by
    assert "exceed shuffled labels" in str(found) and plots.svg(found.figure()).startswith("<svg")
    assert heads.ProbesResult.load(found.save(tmp_path)).classes == found.classes
    with refused("words=0 leaves nothing"):
        heads.Probes(words=0)
    with refused("pairs"):
        heads.probes(compressor, corpus)


@pytest.mark.thorough
def test_no_head_tells_parts_of_speech_better_than_the_embedding_alone(shared: Any) -> None:
    """stories2M on real stories: every vector carries the part of speech of words it was not fitted on."""
    import json

    path = shared / "data" / "stories" / "tinystories-v2.jsonl"
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()[:40]]
    found = heads.probes(models.load("stories2M"), texts, words=2500)
    assert found.carried == 32 and found.added <= 2
    assert found.embedding > 0.5 and (found.shuffled < 2 * found.chance).all()
