"""Classes of keys: those that duplicate the query's token or follow a duplicate, and their null keys."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.heads.null import null_keys

BOS, SELF, PREVIOUS, DUPLICATE, INDUCTION = range(5)  # in the order of `result.CLASSES`
N_CLASSES = 5
CONTENT = slice(DUPLICATE, INDUCTION + 1)  # the classes that the story decides, not the position
N_CONTENT = 2


@dataclass(frozen=True)
class Keys:
    """Which keys of a batch belong to which class, the same for every head."""

    real: Bool[Tensor, "batch query"]
    """True on tokens of a story."""
    visible: Bool[Tensor, "query key"]
    """True where a query may attend."""
    content: Int[Tensor, "found 4"]
    """The keys of the content classes, as (class, story, query, key): class 0 duplicates the query's token, class 1
    follows such a duplicate."""
    null: Int[Tensor, " found"]
    """The null key of each row of `content`, or -1 where it has none (see `null_keys`)."""
    matched: Int[Tensor, " matched"]
    """The rows of `content` that have a null key."""
    sizes: Float[Tensor, "batch content query"]
    """Number of keys of each content class, by query."""
    lengths: Int[Tensor, " batch"]
    """Number of tokens of each story, BOS included."""
    groups: Int[Tensor, " batch"]
    """The group that each story belongs to."""
    n_groups: int
    """Number of groups."""


def keys_of(
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"],
    visible: Bool[Tensor, "pos pos"],
    groups: Int[Tensor, " batch"],
    n_groups: int,
    seeds: Int[Tensor, " batch"],
) -> Keys:
    """The classes of keys of a batch; BOS is in none of the content classes. `seeds` determine the null keys."""
    same = (tokens[:, :, None] == tokens[:, None, :]) & mask[:, :, None] & mask[:, None, :]
    looks = visible & torch.ones_like(visible).tril(-1)
    looks[:, 0] = False
    follows = torch.zeros_like(same)
    follows[:, :, 2:] = same[:, :, 1:-1] & looks[:, 2:]
    content = torch.stack([same & looks, follows], dim=1)
    found = content.transpose(0, 1).nonzero()
    null = null_keys(found, content, same, visible, seeds)
    matched = (null >= 0).nonzero().flatten()
    return Keys(mask, visible, found, null, matched, content.sum(-1).double(), mask.sum(1), groups, n_groups)
