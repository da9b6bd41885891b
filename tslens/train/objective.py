"""What a training step makes smaller."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
from torch import Tensor

from tslens import forward

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


@runtime_checkable
class Objective(Protocol):
    """A loss to sum over rows; the loop divides by the number of predictions and adds no term of its own."""

    def __call__(self, model: "HookedTransformer", rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The summed loss of `rows` (`[row pos]`), and how many predictions it sums."""
        ...


class LanguageModelling:
    """Cross-entropy of each token given those before it, in nats: L = -sum_t log p(x_t | x_<t)."""

    def __call__(self, model: "HookedTransformer", rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return forward.loss(model, rows, dtype=dtype)


OBJECTIVES: dict[str, Callable[[], Objective]] = {"language modelling": LanguageModelling}
"""By the name that a recipe gives."""
