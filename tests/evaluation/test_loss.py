"""The loss of a model on stories: equals a hand computation, ignores padding, compares across tokenizers."""

import json
import math

import numpy as np
import pytest
import tokenizers
import torch

from tslens import models
from tslens.backends import unknown_id
from tslens.evaluation.bits import bits_per_byte
from tslens.evaluation.loss import LossResult, loss
from tslens.models import Spec, build
from tslens.tokenizer import Tokenizer

TEXTS = [
    "The cat sat. It was a big cat.",
    "A dog ran.",
    "Ünï — “quotes” and a cat.",
    "The dog and the cat ran and ran.",
]


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train(TEXTS * 3, 300)
    return build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer, seed=4)


def by_hand(model, text: str) -> tuple[float, int]:
    ids = models.tokenizer_of(model).encode([text])[0]
    row = torch.tensor([[*ids, ids[0]]])
    with torch.no_grad():
        logp = model(row[:, :-1]).log_softmax(-1)[0]
    return -sum(float(logp[i, w]) for i, w in enumerate(row[0, 1:])), len(ids)


def test_equals_the_hooked_forward_story_by_story(model):
    result = loss(model, TEXTS)
    for i, text in enumerate(TEXTS):
        nats, tokens = by_hand(model, text)
        assert float(result.nats[i]) == pytest.approx(nats, abs=1e-3)
        assert int(result.tokens[i]) == tokens and int(result.text_bytes[i]) == len(text.encode())
    assert result.nats_per_token == pytest.approx(math.log(model.cfg.d_vocab), abs=0.2)  # untrained
    assert result.bits_per_byte == pytest.approx(float(result.nats.sum()) / math.log(2) / len("".join(TEXTS).encode()))


def test_a_story_alone_and_in_a_batch_cost_the_same(model):
    together, alone = loss(model, TEXTS), loss(model, TEXTS[1:2])
    assert float(alone.nats[0]) == pytest.approx(float(together.nats[1]), abs=1e-4)


def test_a_story_longer_than_the_context_is_cut_and_its_bytes_too(model):
    long = " ".join(TEXTS) * 4
    result = loss(model, [long, TEXTS[1]], context=16)
    assert result.cut == 1 and int(result.tokens[0]) == 16
    spans = models.tokenizer_of(model).offsets(long, bos=False)
    assert int(result.text_bytes[0]) == len(long[: spans[15][1]].encode())


def test_the_interval_is_that_of_a_ratio_of_sums():
    tokens = torch.tensor([10, 10, 10, 10])
    result = LossResult(torch.tensor([10.0, 20.0, 30.0, 40.0]), tokens, tokens, 0, "a model")
    low, high = result.interval("tokens")
    error = math.sqrt(4 / 3 * ((15**2) * 2 + 5**2 * 2)) / 40
    assert (low, high) == pytest.approx((2.5 - 3.182 * error, 2.5 + 3.182 * error), abs=1e-3)  # t(0.975, 3)


@pytest.mark.parametrize("per", ["tokens", "text_bytes"])
def test_the_interval_of_a_loss_is_not_below_zero(per):
    counts = torch.tensor([1, 5])
    low, high = LossResult(torch.tensor([10.0, 6.0]), counts, counts, 0, "a model").interval(per)
    assert low == 0 and high > 10
    nats = np.array([-10.0, -6.0])
    assert bits_per_byte(nats, counts.numpy(), np.arange(2)).low == 0


def test_saves_and_loads(model, tmp_path):
    result = loss(model, TEXTS)
    again = LossResult.load(result.save(tmp_path))
    assert torch.equal(again.nats, result.nats) and again.cut == result.cut
    assert again.model == result.to_json()["model"] == "16x1x2"
    assert set(result.to_frame()["model"]) == set(result.summary()["model"]) == {"16x1x2"}
    assert "bits per byte" in str(result) and result.figure().axes


@pytest.mark.parametrize("kind", ["WordLevel", "WordPiece", "BPE", "Unigram"])
def test_unknown_tokens_are_counted_and_said(kind, tmp_path):
    """Those that are read, not one beyond the context."""
    words = {"<|endoftext|>": 0, "[UNK]": 1, "t": 2, "o": 3}
    if kind == "Unigram":
        backend = tokenizers.Tokenizer(tokenizers.models.Unigram([(word, -1.0) for word in words], 1))
    else:
        more = {"merges": []} if kind == "BPE" else {}
        backend = tokenizers.Tokenizer(getattr(tokenizers.models, kind)(words, unk_token="[UNK]", **more))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    own = build(Spec(16, 1, 2, d_vocab=4, n_ctx=5), tokenizer=Tokenizer(backend), seed=4)
    result = loss(own, ["t o", "o a t", "t t t t t a"])
    assert result.unknown == 1 and int(result.tokens.sum()) == 12 and result.cut == 1
    said = "8.33% of the tokens are unknown to the tokenizer, so that bits per byte are not those of the text."
    assert said in result.headline() and said in str(result) and result.to_json()["unknown"] == 1
    again = LossResult.load(result.save(tmp_path))
    assert again.unknown == 1 and "unknown" not in loss(own, ["t o"]).headline()
    record = tmp_path / "LossResult/result.json"
    older = json.loads(record.read_text())
    del older["fields"]["unknown"]
    record.write_text(json.dumps(older))
    assert LossResult.load(tmp_path).unknown == 0


def test_an_end_that_is_the_unknown_token_is_no_unknown_word(model):
    """As GPT-2's files name it."""
    backend = tokenizers.Tokenizer.from_str(models.tokenizer_of(model).backend.to_str())
    backend.model.unk_token = "<|endoftext|>"
    own = build(models.spec_of(model), tokenizer=Tokenizer(backend))
    assert unknown_id(backend) == 0 and loss(own, TEXTS).unknown == loss(model, TEXTS).unknown == 0


def test_no_stories_is_an_error(model):
    with pytest.raises(ValueError, match="no story to scan"):
        loss(model, [])


def test_one_story_has_no_interval(model):
    one = loss(model, TEXTS[:1])
    assert all(math.isnan(bound) for bound in one.interval())
    assert " nats per token (one story has no interval), " in one.headline()
