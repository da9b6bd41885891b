"""Language modelling: the loss of each token, given those before it.

L = -sum_t log p(x_t | x_<t), as Bengio et al. 2003 (JMLR 3, 1137-1155) train a network to predict words, over tokens of
pieces of words (Radford et al. 2019) and of small models on stories for children (Eldan & Li 2023, arXiv 2305.07759).
The sum runs over each row's tokens but its first.
"""

import dataclasses
from collections.abc import Mapping

import torch
from torch import Tensor

from tslens import forward
from tslens.models import LanguageModel
from tslens.train.data import TrainingBatch
from tslens.train.objectives.base import Objective


@dataclasses.dataclass(frozen=True)
class LanguageModelling(Objective):
    """Cross-entropy of each token given those before it, in nats."""

    def __call__(
        self, model: LanguageModel, batch: TrainingBatch, dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The summed loss; it has no parts."""
        total, _ = forward.loss(model, batch.tokens, batch.predicted, dtype=dtype, dropout=dropout)
        return total, {}
