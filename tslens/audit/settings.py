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
) -> tuple[Tensor, Tensor, Tensor]:
    """The role of every head as a number, `[layer head]`; and of every neuron, `[layer neuron]`, its label and that
    which predicts on other stories: the number of a part of speech, or of a word below -1, or -1."""
    reducers: list[Any] = [heads.Roles(), neurons.Profiles(), neurons.HeldOut()]
    with off():
        parts = [
            states(model, texts, reducers, batch_tokens=batch_tokens, shard=Shard(i, shards)) for i in range(shards)
        ]
        roles, *of_neurons = (
            reducer.finish(reduce(reducer.merge, found))
            for reducer, found in zip(reducers, zip(*parts, strict=True), strict=True)
        )
    labels, tested = (torch.where(found.by_word, -2 - found.word, found.label) for found in of_neurons)
    return roles.role_code, labels, torch.where(of_neurons[1].predicts, tested, -1)


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
