"""Count tokens, mean losses and time of a run without waiting for the device at every step."""

import contextlib
import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from tslens.train.distributed import World

SHOW_EVERY = 10


class Meter:
    """Tokens, the mean losses since the last record, and the use of time since then.

    Time is spent waiting for data, in steps, or outside training (validation, checkpoints, drawing). Waiting is
    measured on the host: a device that computes asynchronously waits less.
    """

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.tokens = 0
        self.n = 0
        """Steps since the last record."""
        self.sums: dict[str, Tensor] = {}
        self.shown = math.nan
        """Approximate training loss of the last steps, for display."""
        self._coming: tuple[Tensor, Any] | None = None
        self._recent: deque[tuple[int, float]] = deque(maxlen=20)
        self._restart()

    def _restart(self) -> None:
        self.sums, self.n, self._since, self._waiting = {}, 0, self.tokens, 0.0
        self._aside: dict[str, float] = {}
        self._began = self._at = time.perf_counter()

    def batch_ready(self) -> None:
        """Record that a batch is ready."""
        now = time.perf_counter()
        self._waiting += now - self._at
        self._span, self._at = now - self._at, now

    def step_done(self, tokens: int, losses: Mapping[str, Tensor]) -> None:
        """Record a step over `tokens` tokens, without reading its losses from the device."""
        self.tokens += tokens
        for name, value in losses.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.n += 1
        if self.n % SHOW_EVERY == 1:
            self._show(losses["train_loss"])
        now = time.perf_counter()
        self._recent.append((tokens, self._span + now - self._at))
        self._at = now

    @contextlib.contextmanager
    def excluding(self, what: str) -> Iterator[None]:
        """Exclude the block's time from steps and waiting; record it as `<what>_seconds`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self._aside[what] = self._aside.get(what, 0.0) + spent
            self._at += spent

    def _show(self, value: Tensor) -> None:
        """Read a loss from a device some steps late, when it is already computed. With several processes, each knows
        only its own part of the loss."""
        if not value.is_cuda:
            self.shown = float(value) * self.world.size
        elif self._coming is None:
            host, event = torch.empty((), pin_memory=True), torch.cuda.Event()
            host.copy_(value, non_blocking=True)
            event.record()
            self._coming = host, event
        elif self._coming[1].query():
            self.shown, self._coming = float(self._coming[0]) * self.world.size, None

    def read(self) -> dict[str, float]:
        """The losses summed over the steps since the last record and over all processes. Waits for the device."""
        if not self.sums:
            return {}
        values = self.world.sum(torch.stack(list(self.sums.values())))
        return dict(zip(self.sums, values.tolist(), strict=True))

    def resume(self, tokens: int, n: int, sums: Mapping[str, float]) -> None:
        """Take over the counts of another meter: `n` steps since the last record, and the losses summed over them."""
        self.tokens = tokens
        self._restart()
        self.n = n
        own = sums if self.world.first else dict.fromkeys(sums, 0.0)
        self.sums = {name: torch.tensor(value, device=self.world.device) for name, value in own.items()}

    @property
    def speed(self) -> float:
        """Tokens per second over the last steps, without validation and checkpoints."""
        return sum(n for n, _ in self._recent) / max(1e-9, sum(s for _, s in self._recent))

    def record(self, sums: Mapping[str, float]) -> dict[str, float]:
        """The record of the steps since the last one, from the result of `read()`; starts the next record."""
        aside = {f"{what}_seconds": seconds for what, seconds in self._aside.items()}
        seconds = max(1e-9, time.perf_counter() - self._began - sum(self._aside.values()))
        said = {
            "tokens": self.tokens,
            **{name: value / self.n for name, value in sums.items()},
            "tokens_per_second": (self.tokens - self._since) / seconds,
            "waiting_share": self._waiting / seconds,
            **aside,
        }
        self._restart()
        return said
