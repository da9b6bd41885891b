"""One optimizer step on a whole batch, split over processes and pieces."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from tslens.errors import InputError
from tslens.forward import PRECISIONS
from tslens.models import LanguageModel
from tslens.train import optimizer as optimizers
from tslens.train.data import TrainingBatch
from tslens.train.distributed import World, no_sync
from tslens.train.recipe import Recipe
from tslens.train.saving import TrainingState

Losses = dict[str, Tensor]


def can_compile() -> bool:
    """Whether `torch.compile` finds a C++ compiler."""
    return shutil.which(os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")) is not None


def check_compiler(recipe: Recipe) -> None:
    """InputError if the recipe compiles steps and this machine has no compiler."""
    if recipe.train.compile and not can_compile():
        raise InputError(
            "train.compile needs a C++ compiler, and this machine has none. Install g++, or set it to false."
        )


class StepLoss(nn.Module):
    """The objective as a module with the trained parameters only, without the model's masks and frozen biases, which
    several processes would needlessly communicate. Compiled, if the recipe says so."""

    def __init__(self, model: LanguageModel, recipe: Recipe, dtype: torch.dtype) -> None:
        super().__init__()
        check_compiler(recipe)
        self.moved = nn.ParameterList(p for p in model.parameters() if p.requires_grad)
        self.model, objective = (model,), recipe.objective
        self.dtype = dtype
        self.dropout = recipe.train.dropout
        self.compute = torch.compile(objective.__call__) if recipe.train.compile else objective

    def forward(self, batch: TrainingBatch) -> tuple[Tensor, Mapping[str, Tensor]]:
        return self.compute(*self.model, batch, self.dtype, self.dropout)


def move(optimizer: torch.optim.Optimizer, moved: Iterable[nn.Parameter], clip: float) -> Tensor:
    """Clip the gradients to this global norm, update the parameters and clear the gradients; returns the norm."""
    norm = torch.nn.utils.clip_grad_norm_(moved, clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm


def step_function(
    recipe: Recipe, steps: int, world: World, state: TrainingState
) -> Callable[[TrainingBatch], tuple[Losses, Tensor, float]]:
    """A function for one of `steps` steps on a whole batch; it returns the mean loss and its parts (this process's
    share, still on the device), the gradient's norm and the rate.

    The loss is the mean over the predictions of the whole batch, in however many pieces and processes it is computed.
    """
    settings, optimizer, device = recipe.train, state.optimizer, world.device
    loss = world.parallel(StepLoss(state.model, recipe, PRECISIONS[state.precision]))
    moved = [p for p in state.model.parameters() if p.requires_grad]

    def step_once(batch: TrainingBatch) -> tuple[Losses, Tensor, float]:
        rate = optimizers.learning_rate(recipe.optimizer, state.step, steps)
        rate *= settings.rollback_lr_factor**state.rollbacks
        optimizers.set_rate(optimizer, rate)
        _seed(recipe.seed, state.step, world.rank)
        predictions, own = batch.predictions, world.share(batch)
        pieces = own.split(settings.micro_batch or len(own.tokens))
        totals: Losses = {}
        for number, piece in enumerate(pieces, 1):
            with no_sync(loss) if number < len(pieces) else contextlib.nullcontext():
                total, parts = loss(piece.apply(lambda t: t.to(device, non_blocking=True)))
                (total / (predictions / world.size)).backward()  # the processes' gradients are averaged
            for name, value in {"train_loss": total, **parts}.items():
                totals[name] = totals.get(name, torch.zeros((), device=device)) + value.detach() / predictions
        return totals, move(optimizer, moved, recipe.optimizer.clip), rate

    return step_once


def _seed(*numbers: int) -> None:
    """Seed a step's random draws (dropout) by these numbers alone, so that a resumed run draws the same."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1)))
