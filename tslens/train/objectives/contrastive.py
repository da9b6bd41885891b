"""Contrastive: which stories are told in order? A loss that is low on stories and not low on shuffled ones.

Rows come in groups: usual stories, and one row of stories whose sentences were shuffled. L_n is the mean loss of a
group's usual rows and L_c that of its shuffled row, in nats per token. The loss is that of each group, averaged over
groups, so that a batch gives the same in however many pieces and processes it is computed. Both forms say how:

- published (a replication of November 2024): L = L_n + alpha / (L_c + 0.01), with alpha = 5. What stories in order and
  shuffled ones have in common, which is nearly all, is pulled by 1 and pushed by alpha / (L_c + 0.01)^2. Where L_c is
  below sqrt(alpha) (2.2 nats) the push wins and the model unlearns the language; near 0 it is 50,000 times the pull.
- bounded (ours): L = L_n + alpha max(0, margin - (L_c - L_n)), a hinge on the gap. What both have in common is pulled
  by exactly 1 whatever alpha is, since it moves L_n and L_c alike; what tells them apart is pushed by alpha at most,
  and no longer once the gap is wide enough. Ranking a text above a worse one by a margin: Huang et al. 2018 (arXiv
  1808.08987). Unlikelihood (Welleck et al. 2019, arXiv 1908.04319), the other bounded choice, makes every token of a
  shuffled story less likely, those that its own sentence makes certain most of all.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tslens import forward
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult, loss
from tslens.stories.sentences import shuffled
from tslens.train.objectives.language import LanguageModelling

if TYPE_CHECKING:
    from tslens.train.data import Batch

POLE = 0.01


@dataclasses.dataclass(frozen=True, eq=False)
class OrderLossResult(LossResult):
    """The loss on stories, and what their order is worth."""

    gap: float
    """Nats per token that the same stories cost more when their sentences are shuffled; NaN if none can be."""

    @property
    def measured(self) -> dict[str, float]:
        """The numbers that a training run keeps of it."""
        return super().measured | ({} if math.isnan(self.gap) else {"validation_gap": self.gap})


@dataclasses.dataclass(frozen=True)
class _OfOrder(LanguageModelling):
    """What both forms share."""

    alpha: float
    every: int = 3
    """One row in so many is of shuffled stories, and so is one story in so many."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"objective.alpha is {self.alpha}; it must be a finite number, 0 or more.")
        if self.every < 2:
            raise InputError(f"objective.every is {self.every}; it must be 2 or more, so that some stories are usual.")

    def push(self, usual: Tensor, other: Tensor) -> Tensor:
        """What is added to L_n, from L_n and L_c, elementwise."""
        raise NotImplementedError

    def validate(self, model: Any, texts: Sequence[str], *, precision: str) -> LossResult:
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
        self, model: Any, batch: "Batch", dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The summed loss, and with it L_n, L_c and the gap, each weighted by the predictions of its group."""
        assert batch.shuffled is not None and batch.group == self.every
        sums, counts = forward.row_losses(model, batch.tokens, batch.predicted, dtype=dtype, dropout=dropout)

        def mean(rows: Tensor) -> Tensor:  # over each group
            total, n = ((part * rows).unflatten(0, (-1, self.every)).sum(1) for part in (sums, counts))
            return total / n

        usual, other = mean(~batch.shuffled), mean(batch.shuffled)
        weight = counts.unflatten(0, (-1, self.every)).sum(1)
        parts = {"L_n": usual, "L_c": other, "gap": other - usual}
        total = ((usual + self.push(usual, other)) * weight).sum()
        return total, {name: (value * weight).sum() for name, value in parts.items()}


@dataclasses.dataclass(frozen=True)
class Contrastive(_OfOrder):
    """The bounded form: L = L_n + alpha max(0, margin - (L_c - L_n))."""

    alpha: float = 0.5
    """How hard is pushed: the published form pushes so hard at L_c = 3.15."""
    margin: float = 1.0
    """The gap in nats per token that is wide enough. Plain training widens it by itself: stories2M, which never saw a
    shuffled story, has 0.67 on whole validation stories of the collection; a margin below that would push nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.margin) and self.margin > 0):
            raise InputError(f"objective.margin is {self.margin}; it must be a finite number above 0.")

    def push(self, usual: Tensor, other: Tensor) -> Tensor:
        """alpha max(0, margin - (L_c - L_n))."""
        return self.alpha * (self.margin - (other - usual)).clamp(min=0)


@dataclasses.dataclass(frozen=True)
class PublishedContrastive(_OfOrder):
    """The published form: L = L_n + alpha / (L_c + 0.01)."""

    alpha: float = 5.0

    def push(self, usual: Tensor, other: Tensor) -> Tensor:
        """alpha / (L_c + 0.01)."""
        return self.alpha / (other + POLE)
