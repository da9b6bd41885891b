"""How weights move: AdamW and the learning rate over time."""

import dataclasses
import math
from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


@dataclasses.dataclass(frozen=True)
class OptimizerSettings:
    """AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101) with linear warm-up and a decay to `final` of the peak."""

    lr: float = 2e-3
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    clip: float = 1.0
    warmup: float = 0.05
    """Share of the steps in which the rate rises linearly from 0."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    final: float = 0.05
    """The rate at the end, as a share of the peak."""

    def __post_init__(self) -> None:
        for name in ("lr", "clip"):
            if not (math.isfinite(value := getattr(self, name)) and value > 0):
                raise ValueError(f"optimizer.{name} is {value}; it must be a finite number above 0.")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise ValueError(f"optimizer.weight_decay is {self.weight_decay}; it must be a finite number, 0 or more.")
        if self.schedule not in ("cosine", "linear", "constant"):
            raise ValueError(f"optimizer.schedule is {self.schedule!r}; it must be cosine, linear or constant.")
        for name in ("warmup", "final"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"optimizer.{name} is {getattr(self, name)}; it must lie between 0 and 1.")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"optimizer.{name} is {getattr(self, name)}; it must be 0 or more and below 1.")


def make(model: "HookedTransformer", settings: OptimizerSettings) -> torch.optim.AdamW:
    """AdamW over the trained parameters; matrices decay, embeddings of positions, norms and biases do not."""
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    decayed = [p for n, p in trained if "W_" in n and not n.startswith("pos_embed.")]
    kept = [p for n, p in trained if not ("W_" in n and not n.startswith("pos_embed."))]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.lr, betas=(settings.beta1, settings.beta2), fused=True)


def learning_rate(settings: OptimizerSettings, step: int, steps: int) -> float:
    """The rate of a step, counted from 0, of `steps` in all."""
    warmup = max(1, round(settings.warmup * steps))
    if step < warmup:
        return settings.lr * (step + 1) / warmup
    done = (step - warmup) / max(1, steps - warmup)
    shape = {
        "constant": 1.0,
        "linear": 1 - done * (1 - settings.final),
        "cosine": settings.final + (1 - settings.final) * 0.5 * (1 + math.cos(math.pi * done)),
    }[settings.schedule]
    return settings.lr * shape
