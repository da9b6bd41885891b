"""How much of a head's attention does its mean attention under other words explain? (KL divergence, in nats)

A role of attention is a share of the nats of KL(P || U), P a query's attention and U uniform attention over the keys
that it sees. So is what swapped words change::

    change = sum of KL(P || M) / sum of KL(P || U), over stories and queries
    M = m * mean over the copies of the story + (1 - m) * mean over the copies of the other stories

with the m, for each head and kind of swap, that leaves the fewest nats. Where position decides, M is P, and the change
is 0. Where the swapped words decide, no M tells the keys of one story from those of another, and it is near 1. A copy
without a swap is the story itself, which m near 1 finds: nothing changes, whatever the head.

Neither mean would do alone. That over the other stories leaves as much where no word is swapped, namely about one minus
the positional fraction. Four copies of the story itself are few, and their noise looks like change; mixed with the
others it hardly does. Over few stories the mean over others is noisy too, so a head that looks at single keys by
content comes out high.

What cannot be seen so: the more words are swapped, the more copies of one story are like those of any other, and the
nearer the change comes to what the other stories leave. Of a positional head swaps can find that what its stories
share is made of words, as a common beginning is, or that it attends otherwise where words are at random; no more.

One uniform pattern is added to the copies of the others, so that no logarithm is of 0. Among the keys but BOS both P
and M are scaled to add up to 1, and a query counts by its mass off BOS: the second term of the chain rule of KL, whose
first is the nats of BOS itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, progress
from tslens.analysis.heads.evidence import GroupEstimate
from tslens.analysis.heads.sums import FIRST
from tslens.halves import GROUPS

MIXES = (0.0, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 15 / 16, 255 / 256)
"""The m that are tried: shares of the copies of the story itself. Below 1, so that every key has some attention."""
TINY = 1e-30
"""In place of attention to keys that a query does not see."""


@dataclass(frozen=True)
class OtherCopies:
    """Attention of copies of stories, summed over all stories but those of one group."""

    summed: Float[Tensor, "group swap layer head query key"]
    """In single precision, because it is large."""
    copies: Float[Tensor, "group query"]
    """Copies that reach the query."""

    @classmethod
    def read(cls, run: forward.EditedForward, made: Sequence[Int[Tensor, "swap copy _"]]) -> "OtherCopies":
        """Of the copies of every story, in the order of the hashes."""
        spec, device, longest = run.spec, next(run.model.parameters()).device, max(one.shape[-1] for one in made)
        groups, (swaps, of_story, _) = min(GROUPS, len(made)), made[0].shape
        summed = torch.zeros(groups, swaps, spec.n_layers, spec.n_heads, longest, longest, device=device)
        copies = torch.zeros(groups, longest, device=device)
        for i, tokens in enumerate(progress.track(made, "copies of all stories")):
            n, group = tokens.shape[-1], group_of(i)
            copies[group, :n] += of_story
            for kind in range(swaps):

                def see(layer: int, pattern: Tensor, to: Tensor = summed[group, kind, ..., :n, :n]) -> None:
                    to[layer] += pattern.sum(0)

                run.patterns(tokens[kind].to(device), see)
        return cls.but_own(summed, copies)

    @classmethod
    def but_own(cls, of_groups: Float[Tensor, "group swap layer head query key"], copies: Tensor) -> "OtherCopies":
        """From the sums of every group itself, which are changed in place."""
        return cls(of_groups.neg_().sub_(of_groups.sum(0)), copies.sum(0) - copies)

    def mean(
        self, group: int, swap: int, layer: int, uniform: Float[Tensor, "query key"]
    ) -> Float[Tensor, "head query key"]:
        """The mean, one uniform pattern included."""
        n = len(uniform)
        total = self.summed[group, swap, layer, :, :n, :n].clamp(min=0) + uniform
        return total / (self.copies[group, :n, None] + 1)


def group_of(place: int) -> int:
    """The group of a story, by its place in the order of the hashes: one of few stories is a group of its own."""
    return place % GROUPS


def nats(
    pattern: Float[Tensor, "head query key"], mean: Float[Tensor, "*head query key"]
) -> Float[Tensor, "keys head"]:
    """KL(P || M) over all keys, and over those but BOS by the mass there; summed over queries, from the third on."""
    pattern, mean = pattern[:, FIRST:], mean[..., FIRST:, :].clamp(min=TINY)
    of_keys = _divergence(pattern, mean)
    but_bos = of_keys[..., 1:].sum(-1).double()
    left, of_mean = (part[..., 1:].sum(-1).double() for part in (pattern, mean))
    scaled = but_bos - _divergence(left, of_mean.clamp(min=TINY))
    return torch.stack([but_bos + of_keys[..., 0], scaled]).sum(-1).clamp(min=0).cpu()


def mixed(
    pattern: Float[Tensor, "head query key"],
    copies: Float[Tensor, "copy head query key"],
    others: Float[Tensor, "head query key"],
) -> Float[Tensor, "mix keys head"]:
    """`nats` from the mean over a story's copies and those of others, by `MIXES`."""
    own = copies.mean(0)
    return torch.stack([nats(pattern, torch.lerp(others, own, mix)) for mix in MIXES])


def _divergence(p: Tensor, m: Tensor) -> Tensor:
    """p log(p / m) - p + m, whose sum over a distribution is KL(p || m). No term is negative, and rounding p or m
    changes it by a square: of equal distributions that were rounded apart it makes nothing."""
    return p * torch.log1p((p - m) / m).clamp(min=math.log(TINY)) - p + m


def unexplained(left: Sequence[Tensor], of: Sequence[Tensor]) -> GroupEstimate:
    """The change of every head, by keys and kind of swap, with each story left out.

    `left` are the nats that each mix leaves of a story, `[mix keys swap layer head]`, `of` those of KL(P || U), `[keys
    layer head]`. NaN where there are none; 1 at most, where no mean explains more than uniform attention. A story is
    left out of these sums and not of the mean over others: at the best m the sum hardly changes with that mean.
    """
    over, under = torch.stack(list(left)), torch.stack(list(of))[:, :, None]

    def share(least: Tensor, total: Tensor) -> Tensor:
        return torch.where(total > 0, (least / total).clamp(max=1), torch.nan)

    total, possible = over.sum(0), under.sum(0)
    return GroupEstimate(share(total.amin(0), possible), share((total - over).amin(1), possible - under))
