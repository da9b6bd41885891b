"""Language modelling: how likely is each token, given those before it?

L = -sum_t log p(x_t | x_<t), as Bengio et al. 2003 (JMLR 3, 1137-1155) train a network to predict words, over tokens of
pieces of words (Radford et al. 2019) and of small models on stories for children (Eldan & Li 2023, arXiv 2305.07759).
The sum runs over each row's tokens but its first.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tslens import forward, models
from tslens.evaluation.loss import LossResult, loss
from tslens.models import CompressorSpec, Spec
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.train.data import Batch


@dataclasses.dataclass(frozen=True)
class LanguageModelling:
    """Cross-entropy of each token given those before it, in nats."""

    def shape(self, spec: Spec) -> Spec | CompressorSpec:
        """What is built: this spec."""
        return spec

    def build(self, spec: Spec, *, seed: int, tokenizer: Tokenizer | None) -> Any:
        """A HookedTransformer of this shape."""
        return models.build(spec, seed=seed, tokenizer=tokenizer)

    def validate(self, model: Any, texts: Sequence[str], *, precision: str) -> LossResult:
        """Nats per token and bits per byte of stories that were not trained on."""
        return loss(model, texts, precision=precision)

    def __call__(
        self, model: Any, batch: "Batch", dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The summed loss; it has no parts."""
        total, _ = forward.loss(model, batch.tokens, batch.predicted, dtype=dtype, dropout=dropout)
        return total, {}
