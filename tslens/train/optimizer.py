"""How weights move: AdamW, or Muon for the matrices inside the blocks, and the learning rate over time."""

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from tslens.errors import InputError
from tslens.models import spec_of
from tslens.train.settings import Count, NotNegative, Positive, Share, ShareBelowOne, settings

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


RATES = {"adamw": 4e-3, "muon": 1e-2}  # tuned at 128x4 and 2,048 tokens a step: analyses/optimizers.py


@settings("optimizer")
class OptimizerSettings:
    """A method, its rates, and a schedule: linear warm-up, then a decay to `min_lr_ratio` of the peak."""

    method: Literal["adamw", "muon"] = "adamw"
    """`adamw`: Loshchilov & Hutter 2019, arXiv 1711.05101. `muon`: Jordan et al. 2024 for the matrices inside the
    blocks, with updates as large as AdamW's (Liu et al. 2025, arXiv 2502.16982), and AdamW for the rest."""
    lr: Positive = None  # type: ignore[assignment]  # a number once it is built
    """The peak rate; where none is given that of `RATES`."""
    adamw_lr_scale: Positive = 1.0
    """Muon only: the rate of what AdamW moves (embeddings, norms, biases), as a multiple of `lr`."""
    tuned_width: Count | None = None
    """Muon only: the width at which `lr` was chosen. At another, the matrices' rate is multiplied by
    sqrt(tuned_width / d_model): so the spectral norm of their steps does not depend on the width (as in Yang, Simon &
    Bernstein 2023, arXiv 2310.17813), while embeddings, norms and biases keep theirs."""
    weight_decay: NotNegative = 0.1
    beta1: ShareBelowOne = 0.9
    beta2: ShareBelowOne = 0.95
    momentum: ShareBelowOne = 0.95
    """Muon only."""
    clip: Positive = 1.0
    warmup: Share = 0.05
    """Share of the steps in which the rate rises linearly from 0."""
    schedule: Literal["cosine", "linear", "constant", "wsd"] = "cosine"
    """After the warm-up. `wsd`, warm-up, stable, decay (Hu et al. 2024, arXiv 2404.06395): constant, then linear."""
    decay: Share = 0.3
    """`wsd` only: share of the steps, the last ones, in which the rate falls."""
    min_lr_ratio: Share = 0.05
    """What the rate falls to, as a share of the peak: where it would be at the step after the last; `constant` stays at
    the peak."""

    def __post_init__(self) -> None:
        if self.lr is None:
            object.__setattr__(self, "lr", RATES[self.method])
        if self.schedule == "wsd" and self.warmup + self.decay > 1:
            raise InputError(
                f"optimizer.warmup and optimizer.decay are {self.warmup} and {self.decay} of the steps; "
                "together they can be 1 at most."
            )


def make(model: "HookedTransformer | nn.Module", settings: OptimizerSettings) -> torch.optim.Optimizer:
    """The optimizer of the trained parameters, its state kept by parameter.

    Matrices decay, embeddings of positions, norms and biases do not. The fused AdamW; with Muon, AdamW moves whatever
    lies outside the blocks or is no matrix.
    """
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    decays = {n for n in trained if "W_" in n and "pos_embed." not in n}
    by_muon = {n: p for n, p in trained.items() if settings.method == "muon" and _IN_BLOCK.search(n)}
    rest = trained.keys() - by_muon.keys()
    scale = settings.adamw_lr_scale if by_muon else 1.0
    groups = [
        {"params": [p for n, p in trained.items() if n in rest & decays], "weight_decay": settings.weight_decay},
        {"params": [p for n, p in trained.items() if n in rest - decays], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=settings.lr, betas=(settings.beta1, settings.beta2), fused=True)
    for group in adamw.param_groups:
        group["scale"] = scale
    if not by_muon:
        return adamw
    both = MuonAndAdamW(by_muon, adamw, settings)
    if settings.tuned_width is not None:
        both.param_groups[0]["scale"] = math.sqrt(settings.tuned_width / spec_of(model, compressors=True).d_model)
    return both


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let the next step move by this learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]


_IN_BLOCK = re.compile(r"\bblocks\.\d+\..*\b_?W_(Q|K|V|O|in|out|gate)$")


def as_matrix(name: str, weight: Tensor) -> Tensor:
    """The matrix that a block multiplies by: all heads of Q, K and V side by side, those of O one below another."""
    if weight.ndim == 2:
        return weight
    return weight.flatten(0, 1) if name.endswith("W_O") else weight.permute(1, 0, 2).flatten(1)


class MuonAndAdamW(torch.optim.Optimizer):
    """`torch.optim.Muon` over some matrices and AdamW over the rest, as one optimizer.

    Muon moves a whole matrix, [d_model, heads x d_head] for queries, which TransformerLens keeps by head: it is given
    views of the parameters, their gradients and their momentum. `state` holds all by parameter, in its own shape.
    """

    def __init__(
        self, matrices: dict[str, nn.Parameter], adamw: torch.optim.AdamW, settings: OptimizerSettings
    ) -> None:
        super().__init__([{"params": list(matrices.values()), "lr": settings.lr, "scale": 1.0}], {})
        self.param_groups += adamw.param_groups
        self._names, self._adamw = list(matrices), adamw
        self._views = [as_matrix(name, p.detach()) for name, p in matrices.items()]
        self._muon = torch.optim.Muon(
            self._views,
            lr=settings.lr,
            weight_decay=settings.weight_decay,
            momentum=settings.momentum,
            adjust_lr_fn="match_rms_adamw",
        )
        adamw.state = self.state

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        own, (muon,) = self.param_groups[0], self._muon.param_groups
        muon["lr"] = own["lr"]
        for name, p, view in zip(self._names, own["params"], self._views, strict=True):
            assert view.untyped_storage().data_ptr() == p.untyped_storage().data_ptr(), (
                f"{name} is no longer what moves"
            )
            view.grad = None if p.grad is None else as_matrix(name, p.grad)
            if "momentum_buffer" not in (state := self.state[p]):
                state["momentum_buffer"] = torch.zeros_like(p)
            self._muon.state[view]["momentum_buffer"] = as_matrix(name, state["momentum_buffer"])
        self._muon.step()
        self._muon.zero_grad(set_to_none=True)
        self._adamw.step()


def learning_rate(settings: OptimizerSettings, step: int, steps: int) -> float:
    """The rate of a step, counted from 0, of `steps` in all."""
    warmup = max(1, round(settings.warmup * steps))
    if step < warmup:
        return settings.lr * (step + 1) / warmup
    falls = max(warmup, steps - round(settings.decay * steps)) if settings.schedule == "wsd" else warmup
    done = max(0.0, (step - falls) / max(1, steps - falls))
    down = {
        "constant": 0.0,
        "linear": done,
        "wsd": done,
        "cosine": 0.5 * (1 - math.cos(math.pi * done)),
    }[settings.schedule]
    return settings.lr * (1 - down * (1 - settings.min_lr_ratio))
