"""The training loss of every tenth step, kept on the device until several are read at once."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tslens.train.distributed import World

EVERY, MOST = 10, 10
"""Steps between two that are recorded; records that may wait."""


class StepLog:
    """The records that wait: step, tokens, `step_loss` (nats per token), gradient norm and learning rate."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._known: list[dict[str, Any]] = []
        self._read: list[Tensor] = []

    @property
    def full(self) -> bool:
        """Whether the records should be taken now."""
        return len(self._known) >= MOST

    def add(self, step: int, tokens: int, losses: Mapping[str, Tensor], norm: Tensor, rate: float) -> None:
        """Keep what one step in ten gave, without reading it from the device."""
        if step % EVERY == 0:
            self._known.append({"step": step, "tokens": tokens, "learning_rate": rate})
            self._read.append(torch.stack([losses["train_loss"], norm / self.world.size]))

    def take(self) -> list[dict[str, Any]]:
        """The records that wait, with losses summed over all processes. Waits for the device."""
        if not self._known:
            return []
        values = self.world.sum(torch.stack(self._read)).tolist()
        taken = [
            known | {"step_loss": loss, "gradient_norm": norm}
            for known, (loss, norm) in zip(self._known, values, strict=True)
        ]
        self._known, self._read = [], []
        return taken
