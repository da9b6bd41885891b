"""What a training step makes smaller: one module for each objective, all with the same few methods.

An objective is a frozen dataclass; its fields are what a recipe's `[objective]` may choose.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from tslens.evaluation.loss import LossResult
from tslens.models import CompressorSpec, Spec
from tslens.tokenizer import Tokenizer
from tslens.train.objectives.compressor import Compressor
from tslens.train.objectives.contrastive import Contrastive, PublishedContrastive
from tslens.train.objectives.instruct import Instruct
from tslens.train.objectives.language import LanguageModelling

if TYPE_CHECKING:
    from tslens.train.data import Batch

__all__ = ["OBJECTIVES", "Objective"]


@runtime_checkable
class Objective(Protocol):
    """A loss over batches, and the model that it trains."""

    def shape(self, spec: Spec) -> Spec | CompressorSpec:
        """The spec of the model that it trains in place of a HookedTransformer of this spec: mostly that itself."""
        ...

    def build(self, spec: Spec, *, seed: int, tokenizer: Tokenizer | None) -> Any:
        """The model, with weights drawn from the seed."""
        ...

    def validate(self, model: Any, texts: Sequence[str], *, precision: str) -> LossResult:
        """How well the model does on stories that were not trained on."""
        ...

    def __call__(
        self, model: Any, batch: "Batch", dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The loss summed over the batch's predictions, and the parts of it that are logged, summed alike.

        Dropout is what a step of training applies; validation and analysis have none.
        The loop divides both by the number of predictions of the whole step, so that the parts of a batch that is
        computed in pieces add up.
        """
        ...


OBJECTIVES: dict[str, type[Objective]] = {
    "language modelling": LanguageModelling,
    "contrastive": Contrastive,
    "published contrastive": PublishedContrastive,
    "instruct": Instruct,
    "compressor": Compressor,
}
"""By the name that a recipe gives."""
