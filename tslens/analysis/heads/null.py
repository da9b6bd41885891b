"""Null keys of the content classes: for each key of a class, a matched key of the same story outside the class.

A key that duplicates the query's token (or follows a duplicate) differs from other keys in distance and in token
frequency too. Its null key has the same query, a similar distance and a similar frequency, but is not of the class,
and no duplicate.
Frequency is the token's count in the story: it does not depend on the order of the corpus or on the tokenizer, whereas
a count over the corpus would need a second pass.
"""

from itertools import count

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.draws import below, draw

DISTANCES = tuple(1 << i for i in range(24))
"""Greatest distance of each bin: 1, 2, 3-4, 5-8, ... The nearest have a bin each, because heads distinguish them."""
FREQUENCIES = (1, 3, 7, 15)
"""Greatest count of each bin but the last: 1, 2-3, 4-7, 8-15, more."""
TRIES = 4  # independent draws, before the keys of the bin are gone through one after the other


def null_keys(
    found: Int[Tensor, "found 4"],
    content: Bool[Tensor, "batch content query key"],
    same: Bool[Tensor, "batch pos pos"],
    visible: Bool[Tensor, "query key"],
    seeds: Int[Tensor, " batch"],
) -> Int[Tensor, " found"]:
    """The null key of each (class, story, query, key) in `found`, or -1 where there is none.

    `content` marks the keys of each class, `same` the equal tokens of a story. The draw depends on the story's seed,
    the class, the query and the key alone.
    """
    which, story, query, key = found.unbind(1)
    frequencies = torch.bucketize(same.sum(-1), torch.tensor(FREQUENCIES, device=same.device))
    ordered, start, until = _by_frequency(frequencies)
    last = torch.tensor(DISTANCES, device=found.device)
    bin_ = torch.bucketize(query - key, last)
    sight = torch.maximum(visible.int().argmax(1), torch.ones_like(visible[0], dtype=torch.int64))  # BOS is no key
    low = torch.maximum(query - last[bin_], sight[query])
    high = query - torch.where(bin_ > 0, last[bin_ - 1] + 1, 1)  # bin 0 is the distance 1
    frequency = frequencies[story, key]
    first = until[story, frequency, low]
    n = until[story, frequency, high + 1] - first
    first = first + start[story, frequency]
    base = draw(seeds[story], which, query, key)

    null = torch.full_like(key, -1)
    open_ = (n > 1).nonzero().flatten()  # alone in its bins is the key itself
    for attempt in count():
        if not len(open_):
            break
        size = n[open_]
        at = below(size, draw(base[open_], torch.full_like(size, min(attempt, TRIES))))
        if attempt >= TRIES:
            at = (at + attempt) % size
        chosen = ordered[story[open_], first[open_] + at]
        at_hand = content[story[open_], which[open_], query[open_], chosen]
        taken = at_hand | content[story[open_], 0, query[open_], chosen]
        null[open_[~taken]] = chosen[~taken]
        open_ = open_[taken & (size + TRIES > attempt + 1)]
    return null


def _by_frequency(
    frequencies: Int[Tensor, "batch pos"],
) -> tuple[Int[Tensor, "batch pos"], Int[Tensor, "batch bin"], Int[Tensor, "batch bin pos+1"]]:
    """The positions of each story sorted by frequency bin; where each bin begins; and how many positions before each
    one are in each bin."""
    one_hot = torch.nn.functional.one_hot(frequencies, len(FREQUENCIES) + 1).transpose(1, 2)
    until = torch.nn.functional.pad(one_hot.cumsum(-1), (1, 0))
    sizes = until[..., -1]
    return frequencies.argsort(dim=1, stable=True), sizes.cumsum(1) - sizes, until
