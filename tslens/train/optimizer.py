"""Optimizers and the learning rate over time, with the recipe's section `optimizer`."""

import math
import re
from collections.abc import Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from tslens.errors import InputError
from tslens.models import LanguageModel, spec_of
from tslens.train.settings import Count, NotNegative, Positive, Share, ShareBelowOne, settings

Named = tuple[str, nn.Parameter]
RATES = {"adamw": 4e-3, "muon": 1e-2}  # tuned at 128x4 and 2,048 tokens a step: analyses/optimizers.py


@settings("optimizer")
class OptimizerSettings:
    """A method, its rates, and a schedule: linear warm-up, then a decay to `min_lr_ratio` of the peak."""

    method: Literal["adamw", "muon"] = "adamw"
    """`adamw`: Loshchilov & Hutter 2019, arXiv 1711.05101. `muon`: Jordan et al. 2024 for the matrices inside the
    blocks, with updates as large as AdamW's (Liu et al. 2025, arXiv 2502.16982), and AdamW for the rest."""
    lr: Positive = None  # type: ignore[assignment]  # a number once it is built
    """The peak rate; by default that of `RATES`."""
    adamw_lr_scale: Positive = 1.0
    """Muon only: the rate of AdamW (embeddings, norms, biases), as a multiple of `lr`."""
    tuned_width: Count | None = None
    """Muon only: the width at which `lr` was chosen. At another, the matrices' rate is multiplied by
    sqrt(tuned_width / d_model), so that the spectral norm of their steps does not depend on the width (as in Yang,
    Simon & Bernstein 2023, arXiv 2310.17813); embeddings, norms and biases keep their rate."""
    weight_decay: NotNegative = 0.1
    beta1: ShareBelowOne = 0.9
    beta2: ShareBelowOne = 0.95
    momentum: ShareBelowOne = 0.95
    """Muon only."""
    clip: Positive = 1.0
    warmup: Share = 0.05
    """Share of the steps in which the rate rises linearly from 0."""
    schedule: Literal["cosine", "linear", "constant", "wsd"] = "cosine"
    """Rate after warm-up. `wsd` (warm-up, stable, decay: Hu et al. 2024, arXiv 2404.06395): constant, then linear."""
    decay: Share = 0.3
    """`wsd` only: share of the steps, at the end, in which the rate falls."""
    min_lr_ratio: Share = 0.05
    """The final rate as a share of the peak, reached at the step after the last; `constant` stays at the peak."""

    def __post_init__(self) -> None:
        if self.lr is None:
            object.__setattr__(self, "lr", RATES[self.method])
        if self.schedule == "wsd" and self.warmup + self.decay > 1:
            raise InputError(
                f"optimizer.warmup and optimizer.decay are {self.warmup} and {self.decay} of the steps; "
                "together they can be 1 at most."
            )


def make(model: LanguageModel | nn.Module, settings: OptimizerSettings) -> torch.optim.Optimizer:
    """The optimizer of the trained parameters, with its state by parameter.

    Weight decay applies to matrices, not to position embeddings, norms and biases. Fused AdamW; with Muon, AdamW
    updates the parameters that are outside the blocks or are no matrix.
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
        spec = spec_of(cast(LanguageModel, model), compressors=True)
        both.param_groups[0]["scale"] = math.sqrt(settings.tuned_width / spec.d_model)
    return both


def orthogonalized(update: Tensor, dtype: torch.dtype, iterations: int = 5) -> Tensor:
    """A matrix with the singular vectors of `update` [row column] and singular values near 1: Newton-Schulz
    iterations with the coefficients of Jordan et al. 2024, as `torch.optim.Muon` has them, in products of `dtype`. Of
    several matrices [matrix row column], each by itself."""
    a, b, c = 3.4445, -4.7750, 2.0315
    product = torch.addmm if update.ndim == 2 else torch.baddbmm
    tall = update.shape[-2] > update.shape[-1]
    x = update.to(dtype)
    x = x.mT if tall else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = product(x, product(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def muon_matrices(model: LanguageModel | nn.Module) -> dict[str, Tensor]:
    """The matrices that Muon updates, by parameter name."""
    return {n: as_matrix(n, p.detach()) for n, p in model.named_parameters() if p.requires_grad and _IN_BLOCK.search(n)}


def set_muon_dtype(optimizer: torch.optim.Optimizer, dtype: torch.dtype) -> None:
    """Set the dtype of Muon's products, if the optimizer has Muon."""
    if isinstance(optimizer, MuonAndAdamW):
        optimizer.param_groups[0]["dtype"] = dtype


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]


_IN_BLOCK = re.compile(r"\bblocks\.\d+\..*\b_?W_(Q|K|V|O|in|out|gate)$")


def as_matrix(name: str, weight: Tensor) -> Tensor:
    """A parameter as one matrix: all heads of Q, K and V side by side, those of O stacked."""
    if weight.ndim == 2:
        return weight
    return weight.flatten(0, 1) if name.endswith("W_O") else weight.permute(1, 0, 2).flatten(1)


class MuonAndAdamW(torch.optim.Optimizer):
    """Muon over some matrices and AdamW over the rest, as one optimizer.

    Muon's steps are those of `torch.optim.Muon`, whose products are always in bfloat16; here they may be in float32.

    It updates whole matrices, [d_model, heads x d_head] for queries, which TransformerLens stores by head. `state` is
    by parameter, in the parameter's shape; `dtype` of the first group is that of Muon's products.
    """

    def __init__(
        self, matrices: dict[str, nn.Parameter], adamw: torch.optim.AdamW, settings: OptimizerSettings
    ) -> None:
        muon = {"params": list(matrices.values()), "lr": settings.lr, "scale": 1.0, "dtype": torch.bfloat16}
        super().__init__([muon], {})
        self.param_groups += adamw.param_groups
        self._names, self._adamw, self._settings = list(matrices), adamw, settings
        adamw.state = self.state

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        own = self.param_groups[0]
        named = [(n, p) for n, p in zip(self._names, own["params"], strict=True) if p.grad is not None]
        for group in by_shape(named) if together(named) else ([one] for one in named):
            updates = [self._update(name, p) for name, p in group]
            if len(updates) > 1:
                updates = [*orthogonalized(torch.stack(updates), own["dtype"])]
            else:
                updates = [orthogonalized(updates[0], own["dtype"])]
            for (name, p), update in zip(group, updates, strict=True):
                p.mul_(1 - own["lr"] * self._settings.weight_decay)
                matrix = as_matrix(name, p.detach())
                assert matrix.untyped_storage().data_ptr() == p.untyped_storage().data_ptr(), f"{name} was copied"
                matrix.add_(update, alpha=-own["lr"] * 0.2 * math.sqrt(max(matrix.shape)))  # as large as AdamW's steps
        self._adamw.step()

    def _update(self, name: str, p: nn.Parameter) -> Tensor:
        """The gradient with its momentum, as a matrix."""
        assert p.grad is not None
        momentum = self._settings.momentum
        if "momentum_buffer" not in (state := self.state[p]):
            state["momentum_buffer"] = torch.zeros_like(p)
        past = state["momentum_buffer"].lerp_(p.grad, 1 - momentum)
        return as_matrix(name, p.grad.lerp(past, momentum))


def together(named: Sequence[Named]) -> bool:
    """Whether matrices of one shape are orthogonalized at once: on a GPU, where launches cost more than products."""
    return any(p.is_cuda for _, p in named)


def by_shape(named: Sequence[Named]) -> list[list[Named]]:
    """The parameters in groups of equal matrices."""
    groups: dict[torch.Size, list[Named]] = {}
    for name, p in named:
        groups.setdefault(as_matrix(name, p).shape, []).append((name, p))
    return list(groups.values())


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
