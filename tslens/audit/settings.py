"""Labels of one model read in several ways: they depend on no batch size, order, sharding or padding.

Roles, kinds of keys and written classes of heads; labels, labels that predict and patterns of neurons. A family of a
kernel follows from the role and its mean attention, and is not compared.
"""

import random
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.analysis import heads, neurons
from tslens.audit.judging import Controlled
from tslens.progress import off
from tslens.scan import Shard, states

if TYPE_CHECKING:
    from tslens.models import LanguageModel

READ_AGAIN = 24
"""Stories that are read in every way."""
WAYS = ("one story a batch", "all in one batch", "another order", "three shards")
"""How the stories are read again. In one batch the shortest story is padded to the longest."""


def labels(
    model: "LanguageModel",
    texts: Sequence[str],
    controlled: Controlled,
    *,
    batch_tokens: int = 4096,
    shards: int = 1,
) -> tuple[Tensor, ...]:
    """Of every head, `[layer head]`, the number of its role, and which kinds of keys it chooses and word classes it
    writes, as the bits of a number; of every neuron, `[layer neuron]`, its label, that which predicts on other stories
    (the number of a part of speech, or of a word below -1, or -1), and which patterns predict, as bits."""
    kinds, writes, tested = controlled.kinds, controlled.writes, neurons.HeldOut()
    reducers: list[Any] = [heads.Roles(), kinds, writes, neurons.Profiles(), tested]
    with off():
        parts = [
            states(model, texts, reducers, batch_tokens=batch_tokens, shard=Shard(i, shards)) for i in range(shards)
        ]
        read = [reduce(one.merge, found) for one, found in zip(reducers, zip(*parts, strict=True), strict=True)]
        roles, chosen, written, profiles, held_out = (
            one.finish(found) for one, found in zip(reducers, read, strict=True)
        )
        patterns = neurons.Patterns().finish(read[-1])  # which reads as the tests of labels do
    label, test = (torch.where(found.by_word, -2 - found.word, found.label) for found in (profiles, held_out))
    predicting = torch.where(held_out.predicts, test, -1)
    return roles.role_code, bits(chosen.held), bits(written.held), label, predicting, bits(patterns.predicts)


def bits(flags: Bool[Tensor, "flag *axes"]) -> Int[Tensor, "*axes"]:
    """All flags of a head or neuron as one number."""
    return sum((flag.long() << i for i, flag in enumerate(flags)), torch.zeros_like(flags[0], dtype=torch.long))


def changed(model: "LanguageModel", texts: Sequence[str], controlled: Controlled) -> tuple[int, dict[str, int]]:
    """The number of answers about heads and neurons, each a label or none, and for each of `WAYS` how many differ from
    an ordinary pass. Kinds of keys are read with the generated stories of their reducer, in the same order."""
    texts = [*texts, *controlled.kinds.texts]
    mixed = random.Random(0).sample(texts, len(texts))
    read = ((texts, 4096, 1), (texts, 1, 1), (texts, 1 << 30, 1), (mixed, 4096, 1), (texts, 4096, 3))
    usual, *again = (
        labels(model, stories, controlled, batch_tokens=size, shards=shards) for stories, size, shards in read
    )
    differing = {
        way: sum(int((a != b).sum()) for a, b in zip(usual, other, strict=True))
        for way, other in zip(WAYS, again, strict=True)
    }
    return sum(part.numel() for part in usual), differing
