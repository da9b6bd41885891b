"""The command that trains a model."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.options import Json, Settings, settings
from tslens.cli.recipes import show_estimate, show_recipes
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.train.loop import Progress as Position
    from tslens.train.loop import Watch
    from tslens.train.recipe import Recipe
    from tslens.train.run import Run


def train(
    recipe: str | None = None,
    *,
    data: str | None = None,
    name: str | None = None,
    set_: Settings = None,
    resume: str | None = None,
    overwrite: bool = False,
    log: str | None = None,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    json_: Json = False,
) -> None:
    """Train a model by a recipe, a shape such as 256x8, or a TOML file; or go on with a run.

    The run is a folder `runs/NAME` that every other command takes by its name.

    Parameters
    ----------
    recipe
        The recipe's name, a shape, or a TOML file.
    data
        Where the stories come from: a file, a dataset folder or hub id, or `made`.
    name
        The run's name, where it is not the recipe's.
    resume
        The name of a run to go on with. A recipe beside it must be the run's own; without one, --set takes what a
        diverging loss brings, such as train.on_divergence=rollback.
    overwrite
        Start the run again if it exists.
    log
        Where records go besides metrics.jsonl: tensorboard, wandb, or both with a comma between.
    list_
        Show the recipes that there are.
    dry_run
        Say what it would take (parameters, operations, memory, tokens, time here) after a probe of ten seconds, and
        write nothing.
    """
    from tslens import lock, runs
    from tslens.models import CompressorSpec
    from tslens.train import distributed
    from tslens.train.loop import train as run_to_end
    from tslens.train.prepare import ON_DIVERGENCE, prepare
    from tslens.train.prepare import resume as reopen

    if list_:
        show_recipes(json_)
        return
    if json_ and not dry_run:
        raise InputError("--json goes with --list or --dry-run; a run's numbers are in its metrics.jsonl.")
    if recipe is None and (resume is None or data is not None):
        raise InputError("name a recipe or a shape to train, or a run to --resume. --data is a setting of a recipe.")
    if resume is not None and (name is not None or overwrite or dry_run):
        raise InputError("--resume goes on with a run as it was chosen: leave out --name, --overwrite, --dry-run.")
    chosen = None if recipe is None else _chosen(recipe, data, settings(set_), log)
    if dry_run:
        assert chosen is not None
        show_estimate(chosen, json_)
        return
    called = next(given for given in (resume, name, chosen.name if chosen else "") if given is not None)
    with distributed.joined() as world, ExitStack() as stack:
        if world.first:
            stack.enter_context(lock.held(runs.run_folder(called)))
        with _before_training(called, overwrite):
            if resume is None:
                assert chosen is not None
                new = chosen
                world.check_rows(new)
                run = world.once(lambda: prepare(new, name, overwrite=overwrite), lambda: reopen(called, check=False))
            else:
                given = settings(set_)
                changes = given if chosen is None else {key: given[key] for key in ON_DIVERGENCE if key in given}
                log = chosen.train.log if log is None and chosen is not None and "train.log" in given else log
                run = world.once(lambda: reopen(called, changes), lambda: reopen(called, check=False))
                run = _as_chosen(run, chosen, log)
        with _kept(called):
            if not world.first:
                run_to_end(run, resume=resume is not None)
                return
            for line in describe(run):
                print(line)
            with progress_bar() as watch:
                run_to_end(run, resume=resume is not None, watch=watch)
    what = "analyze heads" if isinstance(run.recipe.shape(run.tokenizer.size), CompressorSpec) else "report"
    print(
        f"finished {run.steps} steps, saved {run.folder}. To see what it does: tslens {what} --model {run.folder.name}"
    )


@contextmanager
def _before_training(name: str, overwrite: bool) -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM say how to go on where what was prepared is kept: not if it was to replace a run."""
    from tslens import runs
    from tslens.train.interrupt import Interrupted, terminable
    from tslens.train.prepare import RECIPE

    try:
        with terminable():
            yield
    except KeyboardInterrupt:
        if overwrite or not (runs.run_folder(name) / RECIPE).is_file():
            raise
        raise Interrupted(f"stopped before training began. To go on: tslens train --resume {name}") from None


@contextmanager
def _kept(name: str) -> Iterator[None]:
    """Within, a stop that saves nothing more (before the first step, or a second Ctrl-C) says how to go on as well."""
    from tslens.train.interrupt import Interrupted, terminable

    try:
        with terminable():
            yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(f"stopped at once. To go on from what is saved: tslens train --resume {name}") from None


def _chosen(recipe: str, data: str | None, given: dict[str, str], log: str | None) -> "Recipe":
    """The recipe as the command line changes it."""
    from tslens.train import loggers
    from tslens.train import recipe as recipes

    chosen = recipes.load(recipe, given)
    if data is not None:
        chosen = replace(chosen, data=replace(chosen.data, source=data))
    if log is not None:
        chosen = replace(chosen, train=replace(chosen.train, log=log))
    loggers.check(chosen.train.log)  # before the long work
    return chosen


def _as_chosen(run: "Run", chosen: "Recipe | None", log: str | None) -> "Run":
    """The run to go on with; ValueError says in what a recipe given with --resume is not the run's."""
    from tslens.train.run import differences

    if chosen is not None and (found := differences(chosen.to_dict(), run.recipe.to_dict(), "here", "in the run")):
        raise InputError(
            f"{run.folder} was begun with another recipe: {found}. Leave the recipe out to go on as it was chosen, or "
            "train anew under another --name."
        )
    if log is None:
        return run
    return replace(run, recipe=replace(run.recipe, train=replace(run.recipe.train, log=log)))


def describe(run: "Run") -> tuple[str, str]:
    """What will be trained on what, in two lines."""

    spec, facts, data = run.recipe.shape(run.tokenizer.size), run.facts, run.recipe.data
    fewer = data.tokenizer is None and spec.d_vocab < data.vocabulary
    asked = f" (of {data.vocabulary:,} asked for: the stories have no more)" if fewer else ""
    return (
        f"{spec.name} ({spec.style}), {spec.n_parameters():,} parameters, vocabulary {spec.d_vocab}{asked}, "
        f"{run.steps} steps",
        f"{facts['training_stories']:,} stories, {facts['training_tokens']:,} tokens; {facts['longer_than_context']:,} "
        f"stories are longer than the context of {spec.n_ctx} and are cut there",
    )


@contextmanager
def progress_bar() -> Iterator["Watch"]:
    """A live bar with loss, tokens per second and time left; gives the function that moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("train"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TextColumn("validation {task.fields[validation]}"),
        TextColumn("{task.fields[speed]:,.0f} tokens/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("train", total=None, loss=float("nan"), validation="-", speed=0.0)

        def watch(at: "Position") -> None:
            validation = "-" if at.validation is None else f"{at.validation:.3f}"
            bar.update(
                task,
                completed=at.step,
                total=at.steps,
                loss=at.train_loss,
                validation=validation,
                speed=at.tokens_per_second,
            )

        yield watch
