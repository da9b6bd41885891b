"""The training loop: steps, validation, records, checkpoints and rollbacks of one run."""

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from tslens import runs
from tslens.errors import InputError
from tslens.interrupt import Interrupted, stop_requested
from tslens.train import divergence, loggers, saving
from tslens.train.data import prefetch
from tslens.train.distributed import World
from tslens.train.divergence import Diverged
from tslens.train.position import Position, Watch
from tslens.train.run import Run
from tslens.train.saving import TrainingState
from tslens.train.step import step_function
from tslens.train.step_log import StepLog

SECONDS, WRITES = 60.0, 20
"""A kill loses at most so many seconds of training, or where writing a checkpoint takes long, so many times that."""


class Loop:
    """The steps of a run, from its current state to the last."""

    def __init__(self, run: Run, world: World, state: TrainingState, watchers: Sequence[Watch] = ()) -> None:
        self.run, self.world, self.state, self.watchers = run, world, state, watchers
        self.settings = run.recipe.train
        self.step_once = step_function(run.recipe, run.steps, world, state)
        self.losses: deque[float] = deque(maxlen=divergence.WINDOW)
        self.log: loggers.Write = lambda record, file: None
        self.steps = StepLog(world)
        self.due = time.monotonic() + SECONDS  # when the next checkpoint is written, if none is before

    def run_to_end(self) -> None:
        """Run the remaining steps, with validation, records, checkpoints and snapshots.

        On Ctrl-C or SIGTERM saves and raises `Interrupted`; raises InputError if the loss diverges and the recipe
        says to stop.
        """
        run, state, world = self.run, self.state, self.world
        self._forget_later_records()
        with contextlib.ExitStack() as stack:
            asked = stack.enter_context(stop_requested())
            if world.first:
                sinks = loggers.opened(self.settings.log, run.folder, run.recipe.to_dict(), state.step)
                self.log = stack.enter_context(sinks)
            if state.step == 0 and self.settings.on_divergence == "rollback":
                self._save()  # something to go back to
            while state.step < run.steps:
                try:
                    self._steps(asked)
                except Diverged as fault:
                    self._roll_back(fault)
        if world.first and not state.measured:
            self._validate()

    def _forget_later_records(self) -> None:
        """Delete records of later steps from the folder, and read the losses of the remaining records."""
        if self.world.first:
            saving.delete_later_records(self.run.folder, self.state.step)
            records = runs.read_metrics(self.run.folder)
            self.losses.clear()
            self.losses.extend(record["train_loss"] for record in records if "train_loss" in record)
        self.world.wait()

    def _steps(self, asked: Callable[[], bool]) -> None:
        """Run steps to the end; raises Diverged, and after saving Interrupted if asked to stop."""
        run, state, meter = self.run, self.state, self.state.meter
        saving.record_hardware(run, state)
        with contextlib.closing(prefetch(run.rows, state.step, run.steps)) as batches:
            for batch in batches:
                meter.batch_ready()
                losses, norm, rate = self.step_once(batch)
                state.step += 1
                meter.step_done(batch.predictions, losses)
                self.steps.add(state.step, meter.tokens, losses, norm, rate)
                stop = self.world.any(asked() or self.world.orphaned)
                self._after_step(norm, rate, stop)
                with meter.excluding("drawing"):
                    seen = state.measured.get("validation_loss")
                    for watch in self.watchers:
                        watch(Position(state.step, run.steps, meter.tokens, meter.shown, meter.speed, seen))
                if stop and state.step < run.steps:
                    said = f"stopped at step {state.step}, saved. To go on: tslens train --resume {run.folder.name}"
                    raise self.world.error_here(Interrupted(said), 130)

    def _after_step(self, norm: Tensor, rate: float, stop: bool) -> None:
        """Validate, snapshot and save when due; raises Diverged before bad weights are saved."""
        settings, step = self.settings, self.state.step
        ends = step == self.run.steps
        validates = ends or step % settings.validate_every == 0
        late = self.world.any(self.world.first and time.monotonic() >= self.due)
        saves = ends or stop or late or step % settings.checkpoint_every == 0
        snapshots = settings.keep_log_spaced and step.bit_count() == 1
        if validates or saves or snapshots or self.steps.full:
            self._log_steps()
        if not (validates or saves or snapshots):
            return
        sums = self._checked_losses(norm)
        if validates:
            self._record(sums, float(norm), rate)
        if snapshots and self.world.first:  # before the checkpoint, from which a killed run would not make it
            with self.state.meter.excluding("checkpoint"):
                saving.snapshot(self.run, self.state)
        if saves:
            self._save()

    def _log_steps(self) -> None:
        records = self.steps.take()
        if self.world.first:
            for record in records:
                self.log(record, runs.STEPS)

    def _checked_losses(self, norm: Tensor) -> Mapping[str, float]:
        """The losses summed since the last record; raises Diverged if training has diverged."""
        state = self.state
        sums = state.meter.read()
        loss = sums["train_loss"] / state.meter.n
        chance = math.log(self.run.tokenizer.size)
        fault = divergence.reason(loss, float(norm), self.losses, self.settings.divergence_threshold, chance)
        if fault is None and not saving.is_finite(state):
            fault = "The weights were not finite"
        if self.world.any(self.world.first and fault is not None):
            raise Diverged(fault)
        return sums

    def _record(self, sums: Mapping[str, float], norm: float, rate: float) -> None:
        """Validate, and write a record."""
        record = self.state.meter.record(sums)
        self.losses.append(record["train_loss"])
        if self.world.first:
            with self.state.meter.excluding("validation"):
                self._validate()
            self.log(
                {
                    "step": self.state.step,
                    **record,
                    "learning_rate": rate,
                    "gradient_norm": norm,
                    **self.state.measured,
                    **self.state.computed_in,
                },
                runs.METRICS,
            )
        self.world.wait()

    def _validate(self) -> None:
        validate = self.run.recipe.objective.validate
        last = validate(self.state.model, self.run.validation, precision=self.state.precision)
        self.state.measured = last.measured

    def _save(self) -> None:
        losses, began = self.state.meter.read(), time.monotonic()
        if self.world.first:
            with self.state.meter.excluding("checkpoint"):
                saving.save(self.run, self.state, losses)
        ended = time.monotonic()
        self.due = ended + max(SECONDS, WRITES * (ended - began))
        self.world.wait()

    def _roll_back(self, fault: Diverged) -> None:
        """Return to the last checkpoint with a lower rate; InputError if the recipe allows no more rollbacks."""
        run, state, settings = self.run, self.state, self.settings
        if settings.on_divergence == "stop" or state.rollbacks >= settings.max_rollbacks:
            raise self.world.error_here(self._no_rollback(fault), 2) from None
        far = state.step
        saving.restore(run, state)
        state.rollbacks += 1
        self._forget_later_records()
        if self.world.first:
            saving.record_rollbacks(run, state)
            rate = settings.rollback_lr_factor**state.rollbacks
            why = {"rollbacks": state.rollbacks, "from_step": far, "rate_factor": rate, "why": str(fault)}
            self.log({"step": state.step, "tokens": state.meter.tokens, **why}, runs.METRICS)
        self.world.wait()

    def _no_rollback(self, fault: Diverged) -> InputError:
        """The message for a run that diverged and is not rolled back."""
        run, rollbacks = self.run, self.state.rollbacks
        if self.settings.on_divergence == "stop":
            before, setting = "", "train.on_divergence=rollback"
        else:
            before, setting = f", after {rollbacks} rollbacks", f"train.max_rollbacks={2 * max(1, rollbacks)}"
        kept = runs.steps(run.folder / "checkpoints")
        again = "The last good checkpoint is kept; to go on from it" if kept else "It has no checkpoint; to begin again"
        return InputError(
            f"{fault} at step {self.state.step}{before}. {again}, at a lower rate if it comes again: "
            f"tslens train --resume {run.folder.name} --set {setting}. "
            f"Or train again with a lower optimizer.lr (now {run.recipe.optimizer.lr})."
        )
