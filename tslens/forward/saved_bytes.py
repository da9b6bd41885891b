"""Bytes that a forward pass keeps for its backward pass.

All distinct storages that autograd saves, parameters excluded: exact, and the same on every machine.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def saved_bytes(model: "LanguageModel | torch.nn.Module", loss: Callable[[], torch.Tensor]) -> int:
    """Bytes saved for the backward pass of `loss()`, the model's own parameters not counted."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    saved: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # a node that kept its own output would keep itself, and all before it, for ever

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        value = loss()  # kept to the end: a storage that is freed could lend its address to another
    del value
    return sum(saved.values())
