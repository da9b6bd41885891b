"""The base class of objectives, whose defaults are language modelling."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from tslens import models
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult, loss
from tslens.models import CompressorSpec, Spec
from tslens.tokenizer import Tokenizer
from tslens.train.data import Batches, PackStories, Rows, TrainingBatch


@dataclasses.dataclass(frozen=True)
class Objective(ABC):
    """A loss over batches, with the model, the rows and the stories that it takes.

    A subclass is a frozen dataclass. Its fields are what a recipe's `[objective]` may choose; `__post_init__` refuses
    what they cannot be.
    """

    made: ClassVar[str] = "made"
    """The source of generated stories that it can be tried on."""

    @property
    def group(self) -> int:
        """Rows that are computed together: no piece of a batch and no process parts them."""
        return 1

    @abstractmethod
    def __call__(
        self, model: Any, batch: TrainingBatch, dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The loss summed over the batch's predictions, and the parts of it that are logged, summed alike.

        The loop divides both by the number of predictions of the whole step, so the pieces of a batch add up.
        Validation and analysis have no dropout.
        """

    def shape(self, spec: Spec) -> Spec | CompressorSpec:
        """The spec of the model that is trained in place of a HookedTransformer of this spec: that itself."""
        return spec

    def build(self, spec: Spec, *, seed: int, tokenizer: Tokenizer | None) -> Any:
        """The model, with weights drawn from the seed: a HookedTransformer of this spec."""
        return models.build(spec, seed=seed, tokenizer=tokenizer)

    def rows(self, pack: PackStories, *, context: int, rows_per_step: int, seed: int, story_seed: int) -> Batches:
        """The batches of a run, over stories that `pack` packs: each story as it is.

        `seed` draws the order of rows; `story_seed` draws what is changed in stories, once, when they are packed.
        """
        return Rows(pack(iter), context, rows_per_step, seed)

    def probe(self, tokens: Tensor) -> TrainingBatch:
        """A batch of these tokens (whole groups of rows), on which a step's time and memory are measured."""
        return TrainingBatch(tokens, group=self.group)

    def validate(self, model: Any, texts: Sequence[str], *, precision: str) -> LossResult:
        """Nats per token and bits per byte of stories that were not trained on."""
        return loss(model, texts, precision=precision)

    def check_batch(self, key: str, rows: int) -> None:
        """InputError where a recipe's `key` asks for a number of rows that parts a group."""
        if rows % self.group:
            raise InputError(
                f"{key} is {rows}; with this objective rows come in groups of {self.group} (objective.group), so it "
                "must be a multiple of that."
            )

    def check_stories(self, stories: Iterable[str]) -> None:  # noqa: B027  most objectives take any stories
        """InputError where the training stories are not what it can be trained on. Reads the first ones only."""

    def check_context(self, stories: Iterable[str], tokenizer: Tokenizer, context: int) -> None:  # noqa: B027
        """InputError where a context of so many tokens cannot hold what is predicted of any of these stories."""
