"""Where is each neuron largest? Lists of its top tokens, raised batch by batch.

A list's smallest value is a threshold: of a batch only what reaches it is looked at, and nearly all rows are passed
over by the largest value of a block of them. A list is a set, its slots in no order, until `ranked`.
"""

import dataclasses
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

NOWHERE = torch.iinfo(torch.int64).max
BLOCK = 16  # rows that are first compared by their largest value
ROUND = 32  # candidates of a neuron that are weighed at a time


@dataclasses.dataclass
class Tops:
    """The `rank` largest values of each neuron so far. Where values tie, the earlier place is in the list."""

    values: Float[Tensor, "neurons rank"]
    places: Int[Tensor, "neurons rank"]
    """Where each stands in the corpus; `NOWHERE` while a list is not full."""
    contexts: Int[Tensor, "neurons rank window"]
    """Token ids around."""

    @classmethod
    def empty(cls, neurons: int, k: int, window: int, device: torch.device) -> "Tops":
        """Lists without entries."""
        return cls(
            torch.full((neurons, k), -torch.inf, device=device),
            torch.full((neurons, k), NOWHERE, device=device),
            torch.full((neurons, k, window), -1, dtype=torch.int32, device=device),
        )

    def bounds(self) -> tuple[Float[Tensor, " neurons"], Int[Tensor, " neurons"]]:
        """Each list's smallest value, and the last place at which it stands: what a candidate must beat."""
        floor = self.values.amin(1)
        at_floor = torch.where(self.values == floor[:, None], self.places, -1)
        return floor, at_floor.amax(1)

    def admit(self, neurons: Tensor, values: Tensor, places: Tensor, contexts: Tensor) -> None:
        """Put candidates (one row of each argument) into their neurons' lists, as far as they belong there."""
        order = neurons.argsort(stable=True)
        _, count = neurons[order].unique_consecutive(return_counts=True)
        number = torch.arange(len(order), device=order.device) - (count.cumsum(0) - count).repeat_interleave(count)
        for first in range(0, int(count.max()) if len(order) else 0, ROUND):
            now = order[(number >= first) & (number < first + ROUND)]
            self._admit_few(neurons[now], values[now], places[now], contexts[now])

    def _admit_few(self, neurons: Tensor, values: Tensor, places: Tensor, contexts: Tensor) -> None:
        """`admit` for candidates that are sorted by neuron, few of each."""
        k, device = self.values.shape[1], neurons.device
        owners, row, count = neurons.unique_consecutive(return_inverse=True, return_counts=True)
        column = torch.arange(len(row), device=device) - (count.cumsum(0) - count)[row]
        width = int(count.max())
        all_values = torch.cat([self.values[owners], values.new_full((len(owners), width), -torch.inf)], 1)
        all_values[row, k + column] = values
        floor = all_values.topk(k, dim=1).values[:, -1:]
        above, tied = all_values > floor, all_values == floor
        kept = above | tied
        spare = kept.sum(1) - k
        if len(crowded := spare.nonzero().flatten()):  # of those that tie at the threshold, the earliest stay
            all_places = torch.full_like(all_values, NOWHERE, dtype=torch.int64)
            all_places[:, :k] = self.places[owners]
            all_places[row, k + column] = places
            # An empty slot and padding tie too, both at NOWHERE: a stable sort prefers the slots.
            order = all_places[crowded].argsort(dim=1, stable=True)
            in_order = tied[crowded].gather(1, order)
            in_order &= in_order.cumsum(1) <= k - above[crowded].sum(1, keepdim=True)
            kept[crowded] = above[crowded].scatter(1, order, in_order | above[crowded].gather(1, order))
        into, slot = (~kept[:, :k]).nonzero(as_tuple=True)
        index = torch.full_like(kept[:, k:], -1, dtype=torch.int64)
        index[row, column] = torch.arange(len(row), device=device)
        new = index[kept[:, k:]]  # row after row, as many in each as slots were freed
        into = owners[into]
        self.values[into, slot] = values[new]
        self.places[into, slot] = places[new]
        self.contexts[into, slot] = contexts[new]

    def merge(self, other: "Tops") -> None:
        """Take in the lists of another corpus."""
        n, k = other.values.shape
        every = torch.arange(n, device=other.values.device).repeat_interleave(k)
        filled = other.places.flatten() != NOWHERE
        parts = (every, other.values.flatten(), other.places.flatten(), other.contexts.flatten(0, 1))
        self.admit(*(part[filled] for part in parts))

    def ranked(self) -> "Tops":
        """The same lists in order: the largest value first, and where values tie the earlier place."""
        order = self.places.argsort(dim=1, stable=True)
        order = order.gather(1, self.values.gather(1, order).argsort(dim=1, descending=True, stable=True))
        width = self.contexts.shape[-1]
        return Tops(
            self.values.gather(1, order),
            self.places.gather(1, order),
            self.contexts.gather(1, order[:, :, None].expand(-1, -1, width)),
        )


def reaching(
    acts: Float[Tensor, "row neuron"],
    blocks: Sequence[tuple[int, int]],
    peaks: Float[Tensor, "block neuron"],
    floor: Float[Tensor, " neuron"],
    k: int,
) -> tuple[Int[Tensor, " found"], Int[Tensor, " found"], Float[Tensor, " found"]]:
    """Row, neuron and value of all activations that reach their neuron's `floor`.

    `blocks` are the rows `[begin, end)` that are read, at most `BLOCK` in each, and `peaks` their largest values. Where
    a floor is not finite yet, the k-th largest peak is: it bounds the k-th largest value from below.
    """
    floor = floor.to(peaks.dtype)
    if len(peaks) >= k and bool(floor.isneginf().any()):
        floor = torch.maximum(floor, peaks.topk(k, dim=0).values[-1])
    block, column = (peaks >= floor).nonzero(as_tuple=True)
    bounds = torch.tensor(blocks, device=acts.device).view(-1, 2)
    at = bounds[block, :1] + torch.arange(BLOCK, device=acts.device)
    inside = at < bounds[block, 1:]
    values = acts[at.clamp(max=len(acts) - 1), column[:, None]]
    hit, place = ((values >= floor[column, None]) & inside).nonzero(as_tuple=True)
    return at[hit, place], column[hit], values[hit, place].float()
