"""Train: steps, validation, metrics and checkpoints of one run, resumable."""

import dataclasses
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tslens import checkpoints, forward, models
from tslens.evaluation.loss import Loss
from tslens.train import optimizer as optimizers
from tslens.train import saving
from tslens.train.data import Batch, prefetch
from tslens.train.interrupt import Interrupted, interruptible
from tslens.train.meter import Meter
from tslens.train.run import Run

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


@dataclasses.dataclass
class Progress:
    """What a person watches: where the run is and how fast."""

    step: int
    steps: int
    tokens: int
    train_loss: float
    tokens_per_second: float
    validation: float | None = None


Watch = Callable[[Progress], None]


def train(run: Run, *, resume: bool = False, watch: Watch | None = None) -> "HookedTransformer":
    """Train the run to its end and write it as a model; returns the model.

    With `resume`, goes on from the newest whole checkpoint, or begins where there is none yet; a run that has all its
    steps is only written again. Ctrl-C and SIGTERM save a checkpoint first and raise
    `Interrupted`. A loss that is not finite stops the run with ValueError, the last good checkpoint kept.
    """
    recipe, settings, objective = run.recipe, run.recipe.train, run.recipe.objective
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = objective.build(recipe.spec(run.tokenizer.size), seed=recipe.seed, tokenizer=run.tokenizer)
    model.to(device, print_details=False)
    optimizer = optimizers.make(model, recipe.optimizer)
    saving.sweep(run.folder)
    step, tokens = saving.restore(run, model, optimizer) if resume else (0, 0)
    step_once = _step_function(run, model, optimizer, device)
    meter = Meter(tokens)
    metrics = run.folder / checkpoints.METRICS
    saving.forget_after(metrics, step)
    with interruptible() as stopped, metrics.open("a", encoding="utf-8") as log:
        last: Loss | None = None
        for batch in prefetch(run.rows, step, run.steps):
            meter.waited()
            losses, grad_norm, rate = step_once(batch, step)
            step += 1
            meter.stepped(batch.predictions, losses)
            ends, stop = step == run.steps, stopped()
            looks = step % settings.validate_every == 0 or ends or stop
            saves = step % settings.checkpoint_every == 0 or ends or stop
            if looks or saves:
                _refuse_nonfinite(run, meter.loss, step)
            if looks:
                last = objective.validate(model, run.validation, precision=settings.precision)
                record = meter.record(step, rate, float(grad_norm)) | {
                    "validation_loss": last.nats_per_token,
                    "bits_per_byte": last.bits_per_byte,
                }
                log.write(json.dumps(record) + "\n")
                log.flush()
                meter.restart()
            if watch is not None:
                seen = None if last is None else last.nats_per_token
                watch(Progress(step, run.steps, meter.tokens, meter.shown, meter.speed, seen))
            if saves:
                saving.save(run, model, optimizer, step, meter.tokens, last)
            if stop and not ends:
                raise Interrupted(f"stopped at step {step}, saved. To go on: tslens train --resume {run.folder.name}")
    if last is None:  # resumed with all its steps made
        last = objective.validate(model, run.validation, precision=settings.precision)
    checkpoints.write(run.folder, run.config(step, meter.tokens, last), models.weights(model))
    model.to("cpu", print_details=False)
    return model


Losses = dict[str, Tensor]


def _step_function(
    run: Run, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device
) -> Callable[[Batch, int], tuple[Losses, Tensor, float]]:
    """One optimiser step on a batch: its mean loss and the parts of it (not yet read from the device), gradient norm
    and rate."""
    settings, dtype = run.recipe.train, forward.precision(run.recipe.train.precision, device)
    objective = run.recipe.objective
    compute = torch.compile(objective.__call__) if settings.compile else objective
    trained = [p for p in model.parameters() if p.requires_grad]

    def step_once(batch: Batch, step: int) -> tuple[Losses, Tensor, float]:
        rate = optimizers.learning_rate(run.recipe.optimizer, step, run.steps)
        optimizers.set_rate(optimizer, rate)
        predictions = batch.predictions
        totals: Losses = {}
        for part in batch.split(settings.micro_batch or len(batch.tokens)):
            total, parts = compute(model, part.apply(lambda t: t.to(device, non_blocking=True)), dtype)
            (total / predictions).backward()
            for name, value in {"train_loss": total, **parts}.items():
                totals[name] = totals.get(name, torch.zeros((), device=device)) + value.detach() / predictions
        grad_norm = torch.nn.utils.clip_grad_norm_(trained, run.recipe.optimizer.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return totals, grad_norm, rate

    return step_once


def _refuse_nonfinite(run: Run, value: float, step: int) -> None:
    if not math.isfinite(value):
        raise ValueError(
            f"The loss was {value} before step {step}. Lower optimizer.lr (now {run.recipe.optimizer.lr}); "
            f"the last good checkpoint is kept in {run.folder}/checkpoints."
        )
