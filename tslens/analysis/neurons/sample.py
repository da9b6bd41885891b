"""The random sample of tokens, the same for every neuron, for the null of a label (see `null`).

The sample is the tokens with the smallest keys; a token's key depends on its story's text, the story's occurrence and
the position. So the sample is the same for every order of the corpus, every batch size and every number of shards, and
samples of parts merge into that of the whole.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.neurons.tops import NOWHERE
from tslens.draws import draw
from tslens.scan import Batch


@dataclasses.dataclass
class Sample:
    """Tokens drawn so far, in no order."""

    keys: Int[Tensor, " sample"]
    """The key of each token; `NOWHERE` where none was drawn yet."""
    places: Int[Tensor, "sample 3"]
    """Hash and occurrence of the story, and the position in it."""
    contexts: Int[Tensor, "sample window"]
    """Token ids of the context, or other facts about each token."""
    values: Float[Tensor, "sample layer neuron"]
    """Activations."""

    @classmethod
    def empty(cls, size: int, window: int, layers: int, width: int, device: torch.device) -> "Sample":
        """An empty sample."""
        return cls(
            torch.full((size,), NOWHERE, device=device),
            torch.full((size, 3), -1, device=device),
            torch.full((size, window), -1, dtype=torch.int32, device=device),
            torch.empty(size, layers, width, device=device),  # takes no memory before it is filled
        )

    def with_room(self, more: int, most: int) -> "Sample":
        """The sample with room for `more` tokens beside those drawn, and for `most` in all. It doubles where it grows,
        so that what was drawn is seldom copied."""
        n, (layers, width) = len(self.keys), self.values.shape[1:]
        needed = min(int((self.keys != NOWHERE).sum()) + more, most)
        if needed <= n:
            return self
        grown = Sample.empty(min(max(needed, 2 * n), most), self.contexts.shape[1], layers, width, self.keys.device)
        for name, part in vars(self).items():
            getattr(grown, name)[:n] = part
        return grown

    def on_cpu(self) -> "Sample":
        """The sample in the processor's memory."""
        return Sample(**{name: part.cpu() for name, part in vars(self).items()})

    def admit(
        self,
        keys: Int[Tensor, " candidate"],
        places: Int[Tensor, "candidate 3"],
        contexts: Int[Tensor, "candidate window"],
        values: Callable[[Tensor], Tensor],
    ) -> None:
        """Keep the smallest keys of the sample and of these candidates; `values` gives activations of candidates."""
        size = len(self.keys)
        chosen = torch.cat([self.keys, keys]).argsort(stable=True)[:size]
        fresh = chosen[chosen >= size] - size
        if not len(fresh):
            return
        leaving = torch.ones(size, dtype=torch.bool, device=keys.device)
        leaving[chosen[chosen < size]] = False
        self.keys[leaving] = keys[fresh]
        self.places[leaving] = places[fresh]
        self.contexts[leaving] = contexts[fresh]
        self.values[leaving] = values(fresh)

    def merge(self, other: "Sample") -> None:
        """Merge the sample of another corpus into this one."""
        with torch.inference_mode():  # as samples that grew in a scan were made
            self.admit(other.keys, other.places, other.contexts, lambda rows: other.values[rows])

    def in_order(self) -> "Sample":
        """The drawn tokens, ordered by key: a random order."""
        order = self.keys.argsort(stable=True)[: int((self.keys != NOWHERE).sum())]
        return Sample(self.keys[order], self.places[order], self.contexts[order], self.values[order])

    def drawn(self) -> "Sample":
        """The drawn tokens alone, in no order. They move into the empty places of this sample, which they share."""
        filled = self.keys != NOWHERE
        n = int(filled.sum())
        empty, late = (~filled[:n]).nonzero().flatten(), filled[n:].nonzero().flatten() + n
        with torch.inference_mode():  # as samples that grew in a scan were made
            for part in vars(self).values():
                part[empty] = part[late]
            self.keys[n:] = NOWHERE
        return Sample(**{name: part[:n] for name, part in vars(self).items()})

    def groups(self, n: int) -> Int[np.ndarray, " sample"]:
        """The group of stories of each token, of `n` equal ones, in the order of the stories' hashes."""
        return np.asarray(np.unique(self.places[:, 0].numpy(), return_inverse=True)[1] % n)


def places_of(batch: Batch) -> Int[Tensor, "places 3"]:
    """Hash and occurrence of the story, and the position in it, for each place of the batch, row after row."""
    rows, width = batch.tokens.shape
    position = torch.arange(width).expand(rows, width)
    story = (part[:, None].expand(rows, width) for part in (batch.hashes, batch.occurrences))
    return torch.stack([*story, position], dim=-1).flatten(0, 1)


def draws_of(batch: Batch) -> Int[Tensor, " places"]:
    """A number from 0 to 2^63 - 1 for each place of the batch, as if drawn at random."""
    return (draw(batch.seeds[:, None], torch.arange(batch.tokens.shape[1])) & NOWHERE).flatten()


def prefixes_of(batch: Batch) -> Int[Tensor, " places"]:
    """A hash of the tokens up to each place of the batch. Where it is the same, so are a causal model's activations.

    The sum, modulo 2^64, of one draw for each token at its position (Bellare and Micciancio 1997,
    doi:10.1007/3-540-69053-0_13): of ten million prefixes two have the same with a probability of 3e-6.
    """
    return draw(torch.arange(batch.tokens.shape[1]), batch.tokens).cumsum(1).flatten()


def refresh(
    sample: Sample,
    layers: list[Tensor],
    read: Int[Tensor, " token"],
    keys: Int[Tensor, " places"],
    places: Int[Tensor, "places 3"],
    windows: Int[Tensor, "places window"],
) -> None:
    """Draw from the tokens `read` of a batch; `layers` are activations `[places neuron]`."""
    hot = read[keys[read] < sample.keys.max()]
    if len(hot) > len(sample.keys):
        hot = hot[keys[hot].argsort()[: len(sample.keys)]]
    sample.admit(
        keys[hot],
        places[hot],
        windows[hot],
        lambda rows: torch.stack([acts[hot[rows]] for acts in layers], dim=1).float(),
    )
