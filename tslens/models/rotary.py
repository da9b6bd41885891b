"""The two orders of a head's directions that rotary positions turn: neighbours, or the two halves."""

from collections.abc import Mapping

import torch
from torch import Tensor

from tslens.models.spec import Spec

TURNED = ("attn.W_Q", "attn.W_K", "attn._W_K")


def in_halves(spec: Spec, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters for positions that turn direction i with i + d_head/2 (transformers); others are not copied."""
    if not spec.rotary_adjacent:
        return dict(parameters)
    return _ordered(parameters, torch.arange(spec.d_head).view(-1, 2).T.flatten())


def in_neighbours(spec: Spec, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters for positions that turn direction 2i with 2i + 1 (llama2.c); others are not copied."""
    if spec.rotary_adjacent:
        return dict(parameters)
    return _ordered(parameters, torch.arange(spec.d_head).view(2, -1).T.flatten())


def _ordered(parameters: Mapping[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    return {name: w[..., order] if name.endswith(TURNED) else w for name, w in parameters.items()}
