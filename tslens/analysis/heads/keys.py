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
    """Which keys of a batch belong to which class, whatever the head."""

    real: Bool[Tensor, "batch query"]
    """True on tokens of a story."""
    visible: Bool[Tensor, "query key"]
    """True where a query may look."""
    content: Int[Tensor, "found 4"]
    """Which content class, story, query and key: keys that duplicate the query's token (0), keys that follow such a
    duplicate (1)."""
    null: Int[Tensor, " found"]
    """The null key of each, or -1 where it has none (see `null_keys`)."""
    matched: Int[Tensor, " matched"]
    """Which of them have one."""
    sizes: Float[Tensor, "batch content query"]
    """How many keys of each content class a query has."""
    lengths: Int[Tensor, " batch"]
    """Tokens of each story, BOS included."""
    groups: Int[Tensor, " batch"]
    """The group that each story belongs to."""
    n_groups: int
    """How many groups there are."""


def keys_of(
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"],
    visible: Bool[Tensor, "pos pos"],
    groups: Int[Tensor, " batch"],
    n_groups: int,
    seeds: Int[Tensor, " batch"],
) -> Keys:
    """The classes of keys of a batch; BOS is in none of the content classes. `seeds` decide the null keys."""
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
