"""How far, how fast and how well does a run go, without waiting for the device at every step?"""

import math
import time
from collections import deque
from collections.abc import Mapping

from torch import Tensor


class Meter:
    """Tokens, speed, and the mean training loss since the last record."""

    def __init__(self, tokens: int) -> None:
        self.tokens, self.waiting = tokens, 0.0
        self.shown = math.nan
        self.recent: deque[tuple[int, float]] = deque(maxlen=20)
        self.at = time.perf_counter()
        self.restart()

    def restart(self) -> None:
        self.sums: dict[str, Tensor] = {}
        self.n, self.since, self.waiting = 0, self.tokens, 0.0
        self.began = self.at = time.perf_counter()

    def waited(self) -> None:
        now = time.perf_counter()
        self.waiting += now - self.at
        self.at = now

    def stepped(self, tokens: int, losses: Mapping[str, Tensor]) -> None:
        self.tokens += tokens
        self.recent.append((tokens, time.perf_counter() - self.at))
        for name, value in losses.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.n += 1
        self.at = time.perf_counter()
        if self.n % 10 == 1:
            self.shown = float(losses["train_loss"])

    @property
    def loss(self) -> float:
        return self.means().get("train_loss", 0.0)

    def means(self) -> dict[str, float]:
        """The mean loss since the last record, and of its parts."""
        return {name: float(value) / self.n for name, value in self.sums.items()}

    @property
    def speed(self) -> float:
        """Tokens per second over the last steps, validation and checkpoints left out."""
        spans = list(self.recent)
        return sum(n for n, _ in spans) / max(1e-9, sum(s for _, s in spans))

    def record(self, step: int, rate: float, grad_norm: float) -> dict[str, float]:
        seconds = max(1e-9, time.perf_counter() - self.began)
        return {
            "step": step,
            "tokens": self.tokens,
            **self.means(),
            "learning_rate": rate,
            "gradient_norm": grad_norm,
            "tokens_per_second": (self.tokens - self.since) / seconds,
            "waiting_share": self.waiting / seconds,
        }
