"""Lists of each neuron's top tokens, updated batch by batch.

A list's smallest value is a threshold: only activations that reach it are examined, and the largest value of a block
of rows rules out nearly all blocks. A list is an unordered set until `ranked`.

Stories that begin with the same words have the same activations there, except for rounding, which depends on the batch.
So values that differ by no more than `TIE` count as equal, and of equal ones the smaller keys stay. A prefix is one
observation, in however many stories: a list has one place of it, that with the smallest key.
"""

import dataclasses
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

NOWHERE = torch.iinfo(torch.int64).max
BLOCK = 16  # rows that are first compared by their largest value
ROUND = 32  # candidates of a neuron that are weighed at a time
PREFIX_BITS = 20  # of a prefix, by which most that are in no list are told without reading the lists
TIE = 2e-5  # of 1, or of larger values; padding moved activations of stories2M by 1e-7 in the mean and 8e-6 at most


def rounding(values: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """The largest difference at which these values still count as equal to others."""
    return TIE * values.abs().clamp(1, 1e30)  # of an empty slot, -inf, it is finite


@dataclasses.dataclass
class Tops:
    """The `rank` largest values of each neuron so far. Of values that tie, those with the smaller keys are kept."""

    values: Float[Tensor, "neurons rank"]
    keys: Int[Tensor, "neurons rank"]
    """The key of each place in the corpus (see `sample.draws_of`); `NOWHERE` while a list is not full."""
    prefixes: Int[Tensor, "neurons rank"]
    """The hash of the tokens up to each place (see `sample.prefixes_of`): all of a list differ."""
    places: Int[Tensor, "neurons rank 3"]
    """Hash and occurrence of the story, and the position in it."""
    contexts: Int[Tensor, "neurons rank window"]
    """Token ids of the context."""

    @classmethod
    def empty(cls, neurons: int, k: int, window: int, device: torch.device) -> "Tops":
        """Lists without entries."""
        return cls(
            torch.full((neurons, k), -torch.inf, device=device),
            torch.full((neurons, k), NOWHERE, device=device),
            torch.full((neurons, k), NOWHERE, device=device),
            torch.full((neurons, k, 3), -1, device=device),
            torch.full((neurons, k, window), -1, dtype=torch.int32, device=device),
        )

    def bounds(self) -> tuple[Float[Tensor, " neurons"], Int[Tensor, " neurons"]]:
        """Each list's smallest value, and the largest key of those that tie with it: the bound for candidates."""
        floor = self.values.amin(1)
        tied = self.values <= (floor + rounding(floor))[:, None]
        return floor, torch.where(tied, self.keys, -1).amax(1)

    def admit(
        self,
        neurons: Int[Tensor, " found"],
        values: Float[Tensor, " found"],
        at: Int[Tensor, " found"],
        rows: Sequence[Int[Tensor, "row ..."]],
    ) -> None:
        """Put candidates that reach the bounds into their neurons' lists: the rows `at` of `rows`, which are the fields
        after `values`. Those of one neuron have different prefixes."""
        new = (~self._renewed(neurons, values, at, rows)).nonzero().flatten()
        order = new[neurons[new].argsort(stable=True)]
        _, count = neurons[order].unique_consecutive(return_counts=True)
        number = torch.arange(len(order), device=order.device) - (count.cumsum(0) - count).repeat_interleave(count)
        for first in range(0, int(count.max()) if len(order) else 0, ROUND):
            now = order[(number >= first) & (number < first + ROUND)]
            self._admit_few(neurons[now], values[now], at[now], rows)

    def _renewed(self, neurons: Tensor, values: Tensor, at: Tensor, rows: Sequence[Tensor]) -> Bool[Tensor, " found"]:
        """The candidates whose prefixes are in their neurons' lists. They take the place of those with larger keys."""
        keys, prefixes, *_ = rows
        in_some = torch.zeros(1 << PREFIX_BITS, dtype=torch.bool, device=at.device)
        in_some[self.prefixes >> 64 - PREFIX_BITS] = True  # of negative ones too, counted from the end
        maybe = in_some[prefixes >> 64 - PREFIX_BITS][at].nonzero().flatten()
        found, slot = (self.prefixes[neurons[maybe]] == prefixes[at[maybe], None]).nonzero(as_tuple=True)
        known = torch.zeros_like(neurons, dtype=torch.bool).index_fill_(0, maybe[found], True)
        earlier = keys[at[maybe[found]]] < self.keys[neurons[maybe[found]], slot]
        now = maybe[found[earlier]]
        self._put(neurons[now], slot[earlier], values[now], at[now], rows)
        return known

    def _put(self, neurons: Tensor, slots: Tensor, values: Tensor, at: Tensor, rows: Sequence[Tensor]) -> None:
        self.values[neurons, slots] = values
        for part, row in zip((self.keys, self.prefixes, self.places, self.contexts), rows, strict=True):
            part[neurons, slots] = row[at]

    def _admit_few(self, neurons: Tensor, values: Tensor, at: Tensor, rows: Sequence[Tensor]) -> None:
        """`admit` for candidates that are sorted by neuron, few of each."""
        keys = rows[0][at]
        k, device = self.values.shape[1], neurons.device
        owners, row, count = neurons.unique_consecutive(return_inverse=True, return_counts=True)
        column = torch.arange(len(row), device=device) - (count.cumsum(0) - count)[row]
        width = int(count.max())
        all_values = torch.cat([self.values[owners], values.new_full((len(owners), width), -torch.inf)], 1)
        all_values[row, k + column] = values
        floor = all_values.topk(k, dim=1).values[:, -1:]
        above, kept = all_values > floor + rounding(floor), all_values >= floor - rounding(floor)
        if len(crowded := (kept.sum(1) > k).nonzero().flatten()):  # of those that tie, the smallest keys stay
            all_keys = torch.full_like(all_values, NOWHERE, dtype=torch.int64)
            all_keys[:, :k] = self.keys[owners]
            all_keys[row, k + column] = keys
            # An empty slot and padding tie too, both at NOWHERE: a stable sort prefers the slots.
            order = all_keys[crowded].argsort(dim=1, stable=True)
            in_order = (kept & ~above)[crowded].gather(1, order)
            in_order &= in_order.cumsum(1) <= k - above[crowded].sum(1, keepdim=True)
            kept[crowded] = above[crowded].scatter(1, order, in_order | above[crowded].gather(1, order))
        into, slot = (~kept[:, :k]).nonzero(as_tuple=True)
        index = torch.full_like(kept[:, k:], -1, dtype=torch.int64)
        index[row, column] = torch.arange(len(row), device=device)
        new = index[kept[:, k:]]  # row after row, as many in each as slots were freed
        self._put(owners[into], slot, values[new], at[new], rows)

    def merge(self, other: "Tops") -> None:
        """Merge the lists of another corpus into these."""
        n, k = other.values.shape
        every = torch.arange(n, device=other.values.device).repeat_interleave(k)
        filled = other.keys.flatten() != NOWHERE
        values, *rows = (part.flatten(0, 1) for part in vars(other).values())
        self.admit(every[filled], values[filled], filled.nonzero().flatten(), rows)

    def ranked(self) -> "Tops":
        """The lists in order: the largest value first, ties by the smallest key."""
        values, falling = self.values.sort(dim=1, descending=True, stable=True)
        lower = values[:, :-1] - values[:, 1:] > rounding(values[:, 1:])
        step = torch.nn.functional.pad(lower.cumsum(1), (1, 0))  # of values that tie
        by_key = self.keys.gather(1, falling).argsort(dim=1, stable=True)
        order = falling.gather(1, by_key.gather(1, step.gather(1, by_key).argsort(dim=1, stable=True)))
        by_field = {2: order, 3: order[:, :, None]}
        return Tops(*(part.gather(1, by_field[part.ndim].expand_as(part)) for part in vars(self).values()))

    def first(self, k: int) -> "Tops":
        """The first `k` entries of every list."""
        return Tops(*(part[:, :k].contiguous() for part in vars(self).values()))


def reaching(
    acts: Float[Tensor, "row neuron"],
    blocks: Sequence[tuple[int, int]],
    peaks: Float[Tensor, "block neuron"],
    floor: Float[Tensor, " neuron"],
    k: int,
) -> tuple[Int[Tensor, " found"], Int[Tensor, " found"], Float[Tensor, " found"]]:
    """Row, neuron and value of all activations that reach their neuron's `floor`, up to `rounding`.

    `blocks` are ranges `[begin, end)` of at most `BLOCK` rows, and `peaks` their largest values. Where a floor is not
    finite yet, the k-th largest peak replaces it: it bounds the k-th largest value from below.
    """
    floor = floor.to(peaks.dtype)
    if len(peaks) >= k and bool(floor.isneginf().any()):
        floor = torch.maximum(floor, peaks.topk(k, dim=0).values[-1])
    floor = floor - rounding(floor)
    block, column = (peaks >= floor).nonzero(as_tuple=True)
    bounds = torch.tensor(blocks, device=acts.device).view(-1, 2)
    at = bounds[block, :1] + torch.arange(BLOCK, device=acts.device)
    inside = at < bounds[block, 1:]
    values = acts[at.clamp(max=len(acts) - 1), column[:, None]]
    hit, place = ((values >= floor[column, None]) & inside).nonzero(as_tuple=True)
    return at[hit, place], column[hit], values[hit, place].float()
