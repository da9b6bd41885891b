"""Attribution patching: the effect of patching every place at once, to first order, from one backward pass.

Nanda 2023 ("Attribution patching: activation patching at industrial scale"); Syed, Rager and Conmy 2023 (arXiv
2310.10348). The estimate is the difference of an activation between two runs times the gradient of the margin.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.analysis.circuits.runs import Runs
from tslens.gradients import gradients
from tslens.stories.pairs import Pairs

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def first_order(
    model: "LanguageModel", pairs: Pairs, names: Sequence[str], *, both_ends: bool = False
) -> dict[str, Float[Tensor, "pair pos ..."]]:
    """How much each activation, exchanged from corrupt to clean, changes the margin to first order, by name and place.

    The gradient is that of the corrupt run, into which activation patching puts the clean value; with `both_ends` the
    mean of it and that of the clean run (integrated gradients of two steps, as in Hanna et al. 2024, arXiv
    2403.17806).
    """
    with gradients():
        runs = Runs.of(model, pairs)  # made here: weights that were packed for inference let no gradient pass
        at_corrupt, corrupt = _gradients(runs, runs.corrupt, names)
        at_clean, clean = _gradients(runs, runs.clean, names)
    slopes = {name: (at_corrupt[name] + at_clean[name]) / 2 for name in names} if both_ends else at_corrupt
    return {name: (clean[name] - corrupt[name]) * slopes[name] for name in names}


def _gradients(
    runs: Runs, start: Float[Tensor, "pair pos d_model"], names: Sequence[str]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The gradient of every pair's margin by these activations of a run, by name, and the activations."""
    margin, kept = runs.activations(start, names)
    found = torch.autograd.grad(margin.sum(), [kept[name] for name in names])
    return dict(zip(names, found, strict=True)), {name: value.detach() for name, value in kept.items()}
