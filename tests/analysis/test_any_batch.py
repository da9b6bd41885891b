"""Labels, lists and counts of neurons and lens are the same for every batch size, order and number of shards."""

import random
from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from typing import Any

import pytest
import torch

from tslens import models
from tslens.analysis import lens, neurons
from tslens.analysis.neurons.tops import rounding
from tslens.scan import Shard, states
from tslens.stories import stories
from tslens.stories.identity import content_hash

CORPUS = list(stories("made", limit=14, seed=5))
CORPUS += [CORPUS[3], CORPUS[3], CORPUS[8]]  # some twice or three times, as in real corpora
REDUCERS: list[Any] = [neurons.Profiles(k=6, sample=300), lens.ByDepth(groups=8)]
LONGER = neurons.Profiles(k=7, sample=300)
ROUNDING = 3e-6  # of the largest value
NEAR = {"quantile_samples"}  # which token of the sample is nearest to a quantile: neighbours differ by rounding alone
RANKED = {f"{word}{name}" for word in ("", "word_") for name in ("auroc", "auroc_low", "auroc_high", "q")}
"""Two activations that differ by rounding alone may change places: one place is 1/299 where one token is positive."""


def answers(name: str, corpus: Sequence[str], batch_tokens: int = 4096, shards: int = 1) -> list[Any]:
    model = models.load(name)
    parts = [
        states(model, corpus, REDUCERS, context=80, batch_tokens=batch_tokens, shard=Shard(i, shards))
        for i in range(shards)
    ]
    return [r.finish(reduce(r.merge, found)) for r, found in zip(REDUCERS, zip(*parts, strict=True), strict=True)]


@pytest.fixture(scope="module", params=["stories2M", "stories260K"])
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "stories2M":
        return "stories2M"
    return f"llama2c:{request.getfixturevalue('shared') / 'data/models/stories260K.bin'}"


@pytest.fixture(scope="module")
def whole(name: str) -> list[Any]:
    return answers(name, CORPUS)


@pytest.fixture(scope="module")
def decided(name: str) -> torch.Tensor:
    """Neurons whose lists do not hang on rounding: no two values that follow one another, the first outside the list
    included, differ by as much as values that still tie. Of some thousand gaps a few do."""
    (state,) = states(models.load(name), CORPUS, [LONGER], context=80)
    values = LONGER.finish(state).top_values.sort(-1, descending=True).values
    gap, tied = values[..., :-1] - values[..., 1:], rounding(values[..., 1:])
    found = ((gap - tied).abs() > ROUNDING * values.nan_to_num().max()).all(-1)
    assert found.double().mean() > 0.98
    return found


def shuffled() -> list[str]:
    return random.Random(1).sample(CORPUS, len(CORPUS))


@pytest.mark.parametrize(
    ("corpus", "batch_tokens", "shards"),
    [(CORPUS, 1, 1), (shuffled(), 700, 1), (shuffled(), 300, 3), (CORPUS, 512, 5)],
    ids=["one story a batch", "shuffled", "3 shards, shuffled", "5 shards"],
)
def test_the_answer_is_that_of_the_corpus(
    name: str, whole: list[Any], decided: torch.Tensor, corpus: list[str], batch_tokens: int, shards: int
) -> None:
    for one, other in zip(whole, answers(name, corpus, batch_tokens, shards), strict=True):
        for field in fields(one):
            x, y = getattr(one, field.name), getattr(other, field.name)
            if field.name in NEAR:
                continue
            if field.name.startswith("top_") and isinstance(x, torch.Tensor):
                x, y = x[decided], y[decided]
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                scale = float(x.nan_to_num().abs().max())
                near = {"rtol": 0.01, "atol": 2e-3} if field.name in RANKED else {"rtol": 0, "atol": ROUNDING * scale}
                torch.testing.assert_close(x, y, **near, equal_nan=True, msg=lambda m, name=field.name: f"{name}: {m}")
            else:
                assert torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y, field.name


def test_something_is_labelled_and_something_is_read_twice(whole: list[Any]) -> None:
    """Without either the test above would say nothing. And what is read twice is in a list once."""
    profiles = whole[0]
    assert ((profiles.label >= 0) | profiles.by_word).sum() >= 3
    story = profiles.story_hashes[profiles.top_story]
    twice = torch.isin(story, torch.tensor([content_hash(CORPUS[i]) for i in (3, 8)]))
    places = torch.stack([story, profiles.top_pos], -1)
    assert twice.sum() > 100 and ((places[..., :, None, :] == places[..., None, :, :]).all(-1).sum((-1, -2)) == 6).all()
