"""The base class of objectives, whose defaults are language modelling."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from tslens import models
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult, loss
from tslens.models import CompressorSpec, LanguageModel, Spec
from tslens.tokenizer import Tokenizer
from tslens.train.data import Batches, PackStories, Rows, TrainingBatch


@dataclasses.dataclass(frozen=True)
class Objective(ABC):
    """A loss over batches, with the model, the rows and the stories that it needs.

    A subclass is a frozen dataclass. Its fields are the settings of a recipe's `[objective]`; `__post_init__` refuses
    invalid values.
    """

    made: ClassVar[str] = "made"
    """The source of generated stories on which it can be tried."""

    @property
    def group(self) -> int:
        """Number of rows that are computed together: no piece of a batch and no process separates them."""
        return 1

    @abstractmethod
    def __call__(
        self, model: LanguageModel, batch: TrainingBatch, dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The loss summed over the batch's predictions, and its logged parts, summed in the same way.

        The loop divides both by the number of predictions of the whole step, so the pieces of a batch add up.
        Validation and analysis have no dropout.
        """

    def shape(self, spec: Spec) -> Spec | CompressorSpec:
        """The spec of the trained model, given the recipe's spec: by default the same."""
        return spec

    def build(self, spec: Spec, *, seed: int, tokenizer: Tokenizer | None) -> LanguageModel:
        """The model, with weights drawn from the seed: a HookedTransformer of this spec."""
        return models.build(spec, seed=seed, tokenizer=tokenizer)

    def rows(self, pack: PackStories, *, context: int, rows_per_step: int, seed: int, story_seed: int) -> Batches:
        """The batches of a run, over stories that `pack` packs, by default unchanged.

        `seed` determines the order of rows; `story_seed` the changes made to stories when they are packed.
        """
        return Rows(pack(iter), context, rows_per_step, seed)

    def probe(self, tokens: Tensor) -> TrainingBatch:
        """A batch of these tokens (whole groups of rows), on which a step's time and memory are measured."""
        return TrainingBatch(tokens, group=self.group)

    def validate(self, model: LanguageModel, texts: Sequence[str], *, precision: str) -> LossResult:
        """Nats per token and bits per byte of stories that were not trained on."""
        return loss(model, texts, precision=precision)

    def check_batch(self, key: str, rows: int) -> None:
        """InputError if a recipe's `key` is a number of rows that separates a group."""
        if rows % self.group:
            raise InputError(
                f"{key} is {rows}; with this objective rows come in groups of {self.group} (objective.group), so it "
                "must be a multiple of that."
            )

    def keeps(self, split: str) -> Callable[[str], bool] | None:
        """Which stories of a split, `train` or `validation`, are used; None for all of them."""
        return None

    def check_stories(self, stories: Iterable[str]) -> None:  # noqa: B027  most objectives take any stories
        """InputError if the training stories are unsuitable for the objective. Reads the first ones only."""

    def check_context(self, stories: Iterable[str], tokenizer: Tokenizer, context: int) -> None:  # noqa: B027
        """InputError if a context of this many tokens cannot hold a prediction of any of these stories."""
