"""A training session: from a recipe to the finished model.

The order of events: join the processes of `torchrun` and take the run's lock, once; create or reopen the run's folder,
tokenizer and packed data; build model and optimizer and restore the newest checkpoint; run steps, validation and
checkpoints; write the finished model. Of several processes only the first writes and prints.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from tslens import interrupt, lock, progress, runs
from tslens.errors import InputError
from tslens.gradients import gradients
from tslens.models import LanguageModel
from tslens.train import ground, loggers, optimizer, precision, saving
from tslens.train.distributed import World, process_group
from tslens.train.loop import Loop
from tslens.train.meter import Meter
from tslens.train.position import Watch, progress_bar
from tslens.train.prepare import RECIPE, create_run, reopen_run
from tslens.train.recipe import Recipe
from tslens.train.run import Run
from tslens.train.saving import TrainingState

Begun = Callable[[Run], None]


@dataclasses.dataclass(frozen=True)
class Trained:
    """A finished run."""

    run: Run
    model: LanguageModel
    """The trained model, on the CPU."""
    world: World
    """All processes that trained it, from the view of this one."""


def train(
    recipe: Recipe,
    name: str | None = None,
    *,
    overwrite: bool = False,
    begun: Begun | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Train a new run `runs/<name>` by a recipe; the name defaults to the recipe's.

    With `overwrite`, a run of that name is removed once the new one is prepared, and stays if preparation fails.
    `begun` is called with the run before its first step, in the first process; `watch` with its position after every
    step. Under `torchrun` every process calls this.

    Ctrl-C and SIGTERM raise `Interrupted` once a checkpoint is saved; it says how to resume. InputError if the run
    exists (unless `overwrite`) or another process writes it, if the recipe cannot be trained with these stories, or if
    the loss diverges and the recipe says to stop.
    """
    loggers.check(recipe.train.log)  # before the long work
    folder = runs.run_folder(recipe.name if name is None else name)
    with _processes(folder) as world:
        world.check_rows(recipe)
        with _stopped_early(folder, keeps=not overwrite):
            run = world.once(
                lambda: create_run(recipe, folder, overwrite=overwrite),
                lambda: reopen_run(folder),
            )
        return train_run(run, world, begun=begun, watch=watch)


def resume(
    name: str,
    changes: Mapping[str, str] | None = None,
    *,
    recipe: Recipe | None = None,
    log: str | None = None,
    begun: Begun | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Resume the run `runs/<name>` from its newest whole checkpoint, or from its beginning if it has none.

    Recipe, tokenizer and data are those of its folder; a stopped packing is finished. A finished run is only written
    again. `changes` are new settings for a diverging loss (`CHANGEABLE`). A `recipe` must be the run's own; `changes`
    may then also contain the settings that the run was started with. `log` names further loggers of this session
    besides `metrics.jsonl`. For the other parameters and errors see `train`.

    Also InputError if there is no such run, if its data were altered, or if the changes would make it another run.
    """
    changes = dict(changes or {})
    if log is None and recipe is not None and "train.log" in changes:
        log = recipe.train.log
    loggers.check(log or "")
    folder = runs.run_folder(name)
    with _processes(folder) as world:
        with _stopped_early(folder):
            run = world.once(
                lambda: reopen_run(folder, changes, recipe=recipe, check=True),
                lambda: reopen_run(folder),
            )
        if log is not None:
            settings = dataclasses.replace(run.recipe.train, log=log)
            run = dataclasses.replace(run, recipe=dataclasses.replace(run.recipe, train=settings))
        return train_run(run, world, begun=begun, watch=watch)


def prepare(recipe: Recipe, name: str | None = None, *, overwrite: bool = False) -> Run:
    """Prepare a new run as `train` does, without its steps; `resume` trains it."""
    folder = runs.run_folder(recipe.name if name is None else name)
    with lock.held(folder):
        return create_run(recipe, folder, overwrite=overwrite)


def reopen(name: str, changes: Mapping[str, str] | None = None, *, check: bool = True) -> Run:
    """Reopen a run as `resume` does, without its steps. With `check` the packed stories' hashes are verified."""
    folder = runs.run_folder(name)
    with lock.held(folder):
        return reopen_run(folder, changes, check=check)


@contextlib.contextmanager
def _processes(folder: Path) -> Iterator[World]:
    """The processes that train the run in this folder; the first holds its lock and alone shows progress."""
    with process_group(folder.name) as world, lock.held(folder) if world.first else progress.off():
        yield world


@gradients()
def train_run(run: Run, world: World, *, begun: Begun | None = None, watch: Watch | None = None) -> Trained:
    """Build the run's model, restore the newest checkpoint, run the steps, write the finished model.

    The caller holds the run's lock and has joined the processes.
    """
    world.check_rows(run.recipe)
    own_draws = torch.random.fork_rng([world.device] if world.device.type == "cuda" else [])
    with interrupt.explained(f"stopped at once. To go on from what is saved: {_go_on(run.folder)}"), own_draws:
        if world.first:
            saving.remove_partial_files(run.folder)
            if begun is not None:
                begun(run)
        state = _newest_state(run, world)
        with ground.explain_unwritable(run.folder), progress_bar() as show:
            Loop(run, world, state, [show] if watch is None else [show, watch]).run_to_end()
            if world.first:
                saving.finish(run, state)
            world.wait()
        state.model.to("cpu", print_details=False)
    return Trained(run, state.model, world)


def _newest_state(run: Run, world: World) -> TrainingState:
    """The state of the newest whole checkpoint, or the initial state."""
    recipe = run.recipe
    model = recipe.objective.build(recipe.spec(run.tokenizer.size), seed=recipe.seed, tokenizer=run.tokenizer)
    model.to(world.device, print_details=False)
    state = TrainingState(model, optimizer.make(model, recipe.optimizer), Meter(world))
    saving.restore(run, state)
    if not world.same(state.step):
        raise InputError(f"The processes do not see the same checkpoints in {run.folder}: it must be a shared folder.")
    state.settled = _settled_precision(run, state, world)
    if "muon_precision" in state.settled:
        optimizer.set_muon_dtype(state.optimizer, precision.dtype_of(state.settled, "muon_precision"))
    return state


def _settled_precision(run: Run, state: TrainingState, world: World) -> precision.Record:
    """The precisions of the run's steps: its recipe's, or for `auto` those that the run recorded (older runs: in their
    checkpoints only), or else those that the first process measures for all processes."""
    recorded = saving.kept_precision(run) or state.computed_in
    world.wait()  # until all have read
    settled = precision.settle(run.recipe, state.model, world, recorded)
    if world.first and run.recipe.train.precision == "auto":
        saving.keep_precision(run, settled)
    return settled


@contextlib.contextmanager
def _stopped_early(folder: Path, *, keeps: bool = True) -> Iterator[None]:
    """Tell how to resume after a stop during preparation, if the prepared files are kept."""
    said = f"stopped before training began. To go on: {_go_on(folder)}"
    with interrupt.explained(said, lambda: keeps and (folder / RECIPE).is_file()):
        yield


def _go_on(folder: Path) -> str:
    return f"tslens train --resume {folder.name}"
