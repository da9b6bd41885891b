"""Sums, counts and top tokens of a batch, layer by layer.

Each story is read while its activations are still in the processor's cache.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.neurons.state import ProfilesState
from tslens.analysis.neurons.tops import BLOCK, NOWHERE, reaching, rounding
from tslens.threads import in_threads


def read_layers(
    state: ProfilesState,
    layers: Sequence[Float[Tensor, "batch pos neuron"]],
    stories: Sequence[tuple[int, int]],
    read: Int[Tensor, " token"],
    keys: Int[Tensor, " row"],
    prefixes: Int[Tensor, " row"],
    places: Int[Tensor, "row 3"],
    windows: Int[Tensor, "row window"],
) -> None:
    """Update sums, counts and tops. `stories` are the positions `[begin, end)` that are read of each row of the
    batch, and `read` the places of all these among those of the batch."""
    _, length, width = layers[0].shape
    device = layers[0].device
    blocks = [
        (row * length + at, row * length + min(at + BLOCK, end))
        for row, (begin, end) in enumerate(stories)
        for at in range(begin, end, BLOCK)
    ]
    floor, last = state.tops.bounds()
    upper = floor + rounding(floor)
    chosen, mixed = _one_of_each(prefixes, keys, read), list[int]()
    if bool(floor.isneginf().any()):  # the peaks of candidates will bound it
        among = chosen.tolist()
        mixed = [number for number, (begin, end) in enumerate(blocks) if not all(among[begin:end])]

    def read_layer(i: int) -> tuple[Tensor, Tensor, Tensor]:
        room = torch.empty(2, length, width, device=device)
        peaks = torch.empty(len(blocks), width, device=device)
        filled = 0
        for row, (begin, end) in enumerate(stories):
            n = len(range(begin, end, BLOCK))
            _read_story(layers[i][row, begin:end], state.total[i], state.fired[i], peaks[filled : filled + n], room)
            filled += n
        own, rows = floor[i * width : (i + 1) * width], layers[i].flatten(0, 1)
        for number in mixed:
            begin, end = blocks[number]
            peaks[number] = rows[begin:end].masked_fill(~chosen[begin:end, None], -torch.inf).amax(0)
        at, column, values = reaching(rows, blocks, peaks, own, state.tops.values.shape[1])
        neurons = column + i * width
        better = chosen[at] & ((values > upper[neurons]) | (keys[at] <= last[neurons]))
        return neurons[better], values[better], at[better]

    every = range(len(layers))
    found = in_threads(read_layer, every) if device.type == "cpu" else [read_layer(i) for i in every]
    neurons, values, at = (torch.cat(parts) for parts in zip(*found, strict=True))
    state.tops.admit(neurons, values, at, (keys, prefixes, places, windows))


def _one_of_each(
    prefixes: Int[Tensor, " row"], keys: Int[Tensor, " row"], read: Int[Tensor, " token"]
) -> Bool[Tensor, " row"]:
    """Of the places `read` that have the same prefix, the one with the smallest key."""
    _, prefix = prefixes[read].unique(return_inverse=True)
    smallest = torch.full_like(read, NOWHERE).scatter_reduce(0, prefix, keys[read], "amin")
    chosen = torch.zeros_like(keys, dtype=torch.bool)
    chosen[read] = keys[read] == smallest[prefix]
    return chosen


def _read_story(acts: Tensor, total: Tensor, fired: Tensor, peaks: Tensor, room: Tensor) -> None:
    """Add one story's activations `[pos neuron]` to the sums, and write the largest value of each block of them."""
    n = len(acts)
    if not n:
        return
    ones = acts.new_ones(n, dtype=torch.float32)
    exact = acts if acts.dtype is torch.float32 else room[1, :n].copy_(acts)
    total += torch.mv(exact.T, ones)
    fired += torch.mv(torch.gt(exact, 0, out=room[0, :n]).T, ones)
    whole = n // BLOCK
    torch.amax(exact[: whole * BLOCK].unflatten(0, (whole, BLOCK)), 1, out=peaks[:whole])
    if n % BLOCK:
        torch.amax(exact[whole * BLOCK :], 0, out=peaks[whole])
