"""Train: steps, validation, metrics and checkpoints of one run, resumable."""

import contextlib
import dataclasses
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from tslens import lock, runs
from tslens.errors import InputError
from tslens.train import divergence, loggers, saving
from tslens.train import optimizer as optimizers
from tslens.train.data import prefetch
from tslens.train.distributed import World, joined
from tslens.train.divergence import Diverged
from tslens.train.interrupt import Interrupted, interruptible
from tslens.train.meter import Meter
from tslens.train.run import Run
from tslens.train.saving import State
from tslens.train.step import step_function


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


def train(run: Run, *, resume: bool = False, watch: Watch | None = None) -> Any:
    """Train the run to its end and write it as a model; returns the model.

    With `resume`, goes on from the newest whole checkpoint, or begins where there is none yet; a run that has all its
    steps is only written again. Ctrl-C and SIGTERM save a checkpoint first and raise `Interrupted`. A run whose loss is
    not finite or explodes goes on from the last good checkpoint at a lower rate, if its recipe says so, or stops with
    ValueError. Under `torchrun` every process calls this; the first one writes.
    """
    recipe, objective = run.recipe, run.recipe.objective
    with joined() as world, contextlib.ExitStack() as stack:
        world.check_rows(recipe)
        if world.first:
            stack.enter_context(lock.held(run.folder))
            saving.sweep(run.folder)
        stack.enter_context(torch.random.fork_rng(_devices(world)))
        model = objective.build(recipe.spec(run.tokenizer.size), seed=recipe.seed, tokenizer=run.tokenizer)
        model.to(world.device, print_details=False)
        state = State(model, optimizers.make(model, recipe.optimizer), Meter(world))
        if resume:
            saving.restore(run, state)
        if not world.same(state.step):
            raise InputError(
                f"The processes do not see the same checkpoints in {run.folder}: it must be a shared folder."
            )
        with saving.told(run):
            _Training(run, world, state, watch or (lambda at: None)).go()
        model.to("cpu", print_details=False)
    return model


class _Training:
    """A run on its way."""

    def __init__(self, run: Run, world: World, state: State, watch: Watch) -> None:
        self.run, self.world, self.state, self.watch = run, world, state, watch
        self.settings = run.recipe.train
        self.step_once = step_function(run.recipe, run.steps, world, state)
        self.losses: deque[float] = deque(maxlen=divergence.REMEMBERED)

    def go(self) -> None:
        """To the end."""
        run, state, world = self.run, self.state, self.world
        self._settle()
        with contextlib.ExitStack() as stack:
            asked = stack.enter_context(interruptible())
            self.log: loggers.Write = lambda record: None
            if world.first:
                sinks = loggers.opened(self.settings.log, run.folder, run.recipe.to_dict(), state.step)
                self.log = stack.enter_context(sinks)
            if state.step == 0 and self.settings.on_divergence == "rollback":
                self._save()  # something to go back to
            while state.step < run.steps:
                try:
                    self._advance(asked)
                except Diverged as fault:
                    self._roll_back(fault)
        if world.first:
            if not state.measured:
                self._validate()
            saving.finish(run, state)
        world.wait()

    def _settle(self) -> None:
        """Let the folder say no more than the state."""
        if self.world.first:
            saving.forget_after(self.run.folder, self.state.step)
            records = runs.read_metrics(self.run.folder)
            self.losses.clear()
            self.losses.extend(record["train_loss"] for record in records if "train_loss" in record)
        self.world.wait()

    def _advance(self, asked: Callable[[], bool]) -> None:
        """Steps to the end; raises Interrupted, saved, if asked to stop, and Diverged."""
        run, state, settings, meter = self.run, self.state, self.settings, self.state.meter
        saving.compute_here(run, state)
        with contextlib.closing(prefetch(run.rows, state.step, run.steps)) as batches:
            for batch in batches:
                meter.waited()
                losses, norm, rate = self.step_once(batch)
                state.step += 1
                meter.stepped(batch.predictions, losses)
                ends, stop = state.step == run.steps, self.world.any(asked())
                looks = ends or state.step % settings.validate_every == 0
                saves = ends or stop or state.step % settings.checkpoint_every == 0
                keeps = settings.keep_log_spaced and state.step.bit_count() == 1
                if looks or saves or keeps:
                    sums = self._sound(norm)
                    if looks:
                        self._look(sums, float(norm), rate)
                    if keeps and self.world.first:  # before the checkpoint, from which a killed run would not make it
                        with meter.beside("checkpoint"):
                            saving.snapshot(run, state)
                    if saves:
                        self._save()
                with meter.beside("drawing"):
                    seen = state.measured.get("validation_loss")
                    self.watch(Progress(state.step, run.steps, meter.tokens, meter.shown, meter.speed, seen))
                if stop and not ends:
                    go_on = f"tslens train --resume {run.folder.name}"
                    raise self.world.spoken(Interrupted(f"stopped at step {state.step}, saved. To go on: {go_on}"), 130)

    def _sound(self, norm: Tensor) -> Mapping[str, float]:
        """The losses summed since the last record, if the weights are worth keeping; else raises Diverged."""
        state = self.state
        sums = state.meter.read()
        loss = sums["train_loss"] / state.meter.n
        chance = math.log(self.run.tokenizer.size)
        fault = divergence.fault(loss, float(norm), self.losses, self.settings.explode, chance)
        if fault is None and not saving.is_finite(state):
            fault = "The weights were not finite"
        if self.world.any(self.world.first and fault is not None):
            raise Diverged(fault)
        return sums

    def _look(self, sums: Mapping[str, float], norm: float, rate: float) -> None:
        """Validate, and write a record."""
        record = self.state.meter.record(sums)
        self.losses.append(record["train_loss"])
        if self.world.first:
            with self.state.meter.beside("validation"):
                self._validate()
            self.log(
                {
                    "step": self.state.step,
                    **record,
                    "learning_rate": rate,
                    "gradient_norm": norm,
                    **self.state.measured,
                    **self.state.computed_in,
                }
            )
        self.world.wait()

    def _validate(self) -> None:
        validate, precision = self.run.recipe.objective.validate, self.settings.precision
        last = validate(self.state.model, self.run.validation, precision=precision)
        self.state.measured = last.measured

    def _save(self) -> None:
        losses = self.state.meter.read()
        if self.world.first:
            with self.state.meter.beside("checkpoint"):
                saving.save(self.run, self.state, losses)
        self.world.wait()

    def _roll_back(self, fault: Diverged) -> None:
        """Go back to the last checkpoint with a lower rate; ValueError where the recipe says to stop."""
        run, state, settings = self.run, self.state, self.settings
        said = f"{fault} at step {state.step}"
        anew = f"train anew with a lower optimizer.lr (now {run.recipe.optimizer.lr})"
        kept = runs.steps(run.folder / "checkpoints")
        whence = (
            "The last good checkpoint is kept; to go on from it" if kept else "It has no checkpoint yet; to begin again"
        )
        go_on = f"{whence}, at a lower rate if it comes again: tslens train --resume {run.folder.name}"
        if settings.on_divergence == "stop":
            stop = ValueError(f"{said}. {go_on} --set train.on_divergence=rollback. Or {anew}.")
            raise self.world.spoken(stop, 2) from None
        if state.rollbacks >= settings.rollbacks:
            more = f"--set train.rollbacks={2 * max(1, state.rollbacks)}"
            stop = ValueError(f"{said}, after {state.rollbacks} rollbacks. {go_on} {more}. Or {anew}.")
            raise self.world.spoken(stop, 2) from None
        far = state.step
        saving.restore(run, state)
        state.rollbacks += 1
        self._settle()
        if self.world.first:
            saving.note_rollbacks(run, state)
            rate = settings.cut**state.rollbacks
            told = {"rollbacks": state.rollbacks, "from_step": far, "rate_factor": rate, "why": str(fault)}
            self.log({"step": state.step, "tokens": state.meter.tokens, **told})
        self.world.wait()


def _devices(world: World) -> list[torch.device]:
    return [world.device] if world.device.type == "cuda" else []
