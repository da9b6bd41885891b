"""Labels of one model read in several ways: they depend on no batch size, order, sharding or padding."""

import random
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tslens.analysis import heads, neurons
from tslens.progress import off
from tslens.scan import Shard, states

if TYPE_CHECKING:
    from tslens.models import LanguageModel

WAYS = ("one story a batch", "all in one batch", "another order", "three shards")
"""How the stories are read again. In one batch the shortest story is padded to the longest."""


def labels(
    model: "LanguageModel", texts: Sequence[str], *, batch_tokens: int = 4096, shards: int = 1
) -> tuple[Tensor, Tensor]:
    """The role of every head as a number, `[layer head]`, and the label of every neuron, `[layer neuron]`: the number
    of its part of speech, or of its word below -1, or -1."""
    reducers: list[Any] = [heads.Roles(), neurons.Profiles()]
    with off():
        parts = [
            states(model, texts, reducers, batch_tokens=batch_tokens, shard=Shard(i, shards)) for i in range(shards)
        ]
        roles, profiles = (
            reducer.finish(reduce(reducer.merge, found))
            for reducer, found in zip(reducers, zip(*parts, strict=True), strict=True)
        )
    of_neurons = torch.where(profiles.by_word, -2 - profiles.word, profiles.label)
    return roles.role_code, of_neurons


def changed(model: "LanguageModel", texts: Sequence[str]) -> tuple[int, dict[str, int]]:
    """The number of labels of heads and neurons, and for each of `WAYS` how many differ from an ordinary pass."""
    usual = labels(model, texts)
    mixed = random.Random(0).sample(texts, len(texts))
    again = (
        labels(model, texts, batch_tokens=1),
        labels(model, texts, batch_tokens=1 << 30),
        labels(model, mixed),
        labels(model, texts, shards=3),
    )
    differing = {
        way: sum(int((a != b).sum()) for a, b in zip(usual, other, strict=True))
        for way, other in zip(WAYS, again, strict=True)
    }
    return sum(part.numel() for part in usual), differing
