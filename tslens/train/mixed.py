"""Which rows does contrastive training see? Most of stories as they are, one in `every` of stories in pieces."""

import dataclasses
from collections.abc import Iterable, Iterator

import torch

from tslens.errors import InputError
from tslens.stories.sentences import shuffled
from tslens.train.data import Batch, Rows


@dataclasses.dataclass(frozen=True, eq=False)
class MixedRows:
    """Batches in groups of `every` rows, of which the last is of stories whose sentences were shuffled.

    The proportion is that of every batch, every piece of one and every process's share, since none parts a group.
    Both kinds go through their own epochs; the batch's size is a multiple of `every`.
    """

    usual: Rows
    shuffled: Rows
    every: int

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of usual stories was seen."""
        return self.usual.steps_per_epoch

    def batch(self, step: int) -> Batch:
        """The rows of a step, counted from 0."""
        usual, shuffled = self.usual.batch(step).tokens, self.shuffled.batch(step).tokens
        tokens = torch.cat([usual.unflatten(0, (-1, self.every - 1)), shuffled[:, None]], 1).flatten(0, 1)
        return Batch(tokens, shuffled=torch.arange(len(tokens)) % self.every == self.every - 1, group=self.every)

    def facts(self) -> dict[str, int]:
        """What a run records of its data."""
        one, other = self.usual.facts(), self.shuffled.facts()
        return {name: one[name] + other[name] for name in one} | {"shuffled_stories": other["training_stories"]}


def in_order_or_not(stories: Iterable[str], every: int, seed: int, *, apart: bool) -> Iterator[str]:
    """The stories as they are, without one in `every`; or with `apart` those ones, their sentences shuffled.

    A story without two sentences is never shuffled. ValueError if that leaves none to shuffle.
    """
    found = 0
    for number, story in enumerate(stories):
        other = shuffled(story, seed) if number % every == every - 1 else None
        if (other is not None) == apart:
            found += 1
            yield story if other is None else other
    if apart and not found:
        raise InputError(
            "No story has two sentences to shuffle, so there is nothing to contrast with. Give whole stories, or more."
        )
