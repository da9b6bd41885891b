"""Contrastive: a loss that is low on stories and not low on shuffled ones.

Rows come in groups: usual stories, and one row of stories whose sentences were shuffled. L_n is the mean loss of a
group's usual rows and L_c that of its shuffled row, in nats per token. The loss is the mean over groups, so it does not
depend on the number of pieces and processes. It has two forms:

- published (a replication of November 2024): L = L_n + alpha / (L_c + 0.01), with alpha = 5. What stories in order and
  shuffled ones have in common, which is nearly all, is pulled with weight 1 and pushed with alpha / (L_c + 0.01)^2. If
  L_c is below sqrt(alpha) (2.2 nats) the push wins and the model unlearns the language; near 0 it is 50,000 times the
  pull.
- bounded (ours): L = L_n + alpha max(0, margin - (L_c - L_n)), a hinge on the gap. What both have in common is pulled
  with weight exactly 1 for any alpha, since it moves L_n and L_c alike; what distinguishes them is pushed with alpha at
  most, and not at all once the gap is wide enough. Ranking a text above a worse one by a margin: Huang et al. 2018
  (arXiv 1808.08987). Unlikelihood (Welleck et al. 2019, arXiv 1908.04319), the other bounded option, makes every token
  of a shuffled story less likely, most of all those that its own sentence makes certain.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated

import torch
from torch import Tensor

from tslens import forward
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult, loss
from tslens.models import LanguageModel
from tslens.stories.sentences import shuffled
from tslens.train.data import Batches, PackStories, Rows, TrainingBatch
from tslens.train.objectives.base import Objective
from tslens.train.settings import NotNegative, Positive, must_be, settings

POLE = 0.01


@dataclasses.dataclass(frozen=True, eq=False)
class OrderLossResult(LossResult):
    """The loss on stories, and the gap to shuffled ones."""

    gap: float
    """Increase of the loss, nats per token, when the sentences are shuffled; NaN if no story can be shuffled."""

    @property
    def measured(self) -> dict[str, float]:
        """The numbers that a training run records."""
        return super().measured | ({} if math.isnan(self.gap) else {"validation_gap": self.gap})


@settings("objective")
class _OfOrder(Objective):
    """The common part of both forms."""

    alpha: NotNegative
    group: Annotated[int, must_be("2 or more, so that some stories are usual", lambda n: n >= 2)] = 3
    """One row in this many holds shuffled stories, and one story in this many is shuffled."""

    def push(self, usual: Tensor, other: Tensor) -> Tensor:
        """The term added to L_n, from L_n and L_c, elementwise."""
        raise NotImplementedError

    def rows(self, pack: PackStories, *, context: int, rows_per_step: int, seed: int, story_seed: int) -> Batches:
        """Batches of both kinds of rows."""
        split, share = partial(split_off, every=self.group, seed=story_seed), rows_per_step // self.group
        other = Rows(pack(partial(split, shuffle=True), "shuffled"), context, share, seed)
        usual = Rows(pack(partial(split, shuffle=False)), context, rows_per_step - share, seed)
        return ContrastiveRows(usual, other, self.group)

    def validate(self, model: LanguageModel, texts: Sequence[str], *, precision: str) -> LossResult:
        """The usual loss, and the gap between the same stories shuffled and in order."""
        usual = loss(model, texts, precision=precision)
        pairs = [(i, other) for i, text in enumerate(texts) if (other := shuffled(text)) is not None]
        gap = math.nan
        if pairs:
            which, others = zip(*pairs, strict=True)
            index, apart = torch.tensor(which), loss(model, others, precision=precision)
            gap = apart.nats_per_token - float(usual.nats[index].sum() / usual.tokens[index].sum())
        given = {field.name: getattr(usual, field.name) for field in dataclasses.fields(usual)}
        return OrderLossResult(**given, gap=gap)

    def __call__(
        self, model: LanguageModel, batch: TrainingBatch, dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The summed loss, and L_n, L_c and the gap, each weighted by the predictions of its group."""
        assert batch.group == self.group
        sums, counts = forward.row_losses(model, batch.tokens, batch.predicted, dtype=dtype, dropout=dropout)

        def mean(rows: Tensor) -> Tensor:  # over each group
            total, n = ((part * rows).unflatten(0, (-1, self.group)).sum(1) for part in (sums, counts))
            means: Tensor = total / n
            return means

        shuffled_rows = torch.arange(len(sums), device=sums.device) % self.group == self.group - 1
        usual, other = mean(~shuffled_rows), mean(shuffled_rows)
        weight = counts.unflatten(0, (-1, self.group)).sum(1)
        parts = {"L_n": usual, "L_c": other, "gap": other - usual}
        total = ((usual + self.push(usual, other)) * weight).sum()
        return total, {name: (value * weight).sum() for name, value in parts.items()}


@settings("objective")
class Contrastive(_OfOrder):
    """The bounded form: L = L_n + alpha max(0, margin - (L_c - L_n))."""

    alpha: NotNegative = 0.5
    """Weight of the push; the published form has this weight at L_c = 3.15."""
    margin: Positive = 1.0
    """The gap in nats per token beyond which nothing is pushed. Plain training already widens it: stories2M, which
    never saw a shuffled story, has 0.67 on whole validation stories of the collection; a lower margin has no effect."""

    def push(self, usual: Tensor, other: Tensor) -> Tensor:
        """alpha max(0, margin - (L_c - L_n))."""
        return self.alpha * (self.margin - (other - usual)).clamp(min=0)


@settings("objective")
class PublishedContrastive(_OfOrder):
    """The published form: L = L_n + alpha / (L_c + 0.01)."""

    alpha: NotNegative = 5.0

    def push(self, usual: Tensor, other: Tensor) -> Tensor:
        """alpha / (L_c + 0.01)."""
        return self.alpha / (other + POLE)


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastiveRows:
    """Batches in groups of `group` rows, of which the last is of stories whose sentences were shuffled.

    Every batch, piece of a batch and share of a process has this proportion, because no group is separated. Each
    kind has its own epochs; the batch size is a multiple of `group`.
    """

    usual: Rows
    shuffled: Rows
    group: int

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of usual stories was seen."""
        return self.usual.steps_per_epoch

    def batch(self, step: int) -> TrainingBatch:
        """The rows of a step, counted from 0."""
        usual, shuffled = self.usual.batch(step).tokens, self.shuffled.batch(step).tokens
        tokens = torch.cat([usual.unflatten(0, (-1, self.group - 1)), shuffled[:, None]], 1).flatten(0, 1)
        return TrainingBatch(tokens, group=self.group)

    def facts(self) -> dict[str, int]:
        """Facts about the data that a run records."""
        one, other = self.usual.facts(), self.shuffled.facts()
        return {name: one[name] + other[name] for name in one} | {"shuffled_stories": other["training_stories"]}


def split_off(stories: Iterable[str], every: int, seed: int, *, shuffle: bool) -> Iterator[str]:
    """The stories without one in `every`; or, with `shuffle`, only those, with their sentences shuffled.

    A story without two sentences is never shuffled. InputError if that leaves none to shuffle.
    """
    found = 0
    for number, story in enumerate(stories):
        other = shuffled(story, seed) if number % every == every - 1 else None
        if (other is not None) == shuffle:
            found += 1
            yield story if other is None else other
    if shuffle and not found:
        raise InputError(
            "No story has two sentences to shuffle, so there is nothing to contrast with. Give whole stories, or more."
        )
