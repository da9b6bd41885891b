"""The command that trains a model."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.options import Json, Settings, settings
from tslens.cli.recipes import show_estimate, show_finished, show_recipes, show_run
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.train.recipe import Recipe


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
    if list_:
        return show_recipes(json_)
    if json_ and not dry_run:
        raise InputError("--json goes with --list or --dry-run; a run's numbers are in its metrics.jsonl.")
    if recipe is None and data is not None:
        raise InputError("--data is a setting of a recipe: name a recipe or a shape to train too.")
    if resume is not None and (name is not None or overwrite or dry_run):
        raise InputError("--resume goes on with a run as it was chosen: leave out --name, --overwrite, --dry-run.")
    from tslens.train import session

    given = settings(set_)
    chosen = None if recipe is None else _chosen(recipe, data, given, log)
    if resume is not None:
        done = session.resume(resume, given, recipe=chosen, log=log, begun=show_run)
    elif chosen is None:
        raise InputError("name a recipe or a shape to train, or a run to --resume.")
    elif dry_run:
        return show_estimate(chosen, json_)
    else:
        done = session.train(chosen, name, overwrite=overwrite, begun=show_run)
    if done.world.first:
        show_finished(done.run)


def _chosen(recipe: str, data: str | None, given: dict[str, str], log: str | None) -> "Recipe":
    """The recipe as the command line changes it."""
    from tslens.train import recipe as recipes

    chosen = recipes.load(recipe, given)
    if data is not None:
        chosen = replace(chosen, data=replace(chosen.data, source=data))
    if log is not None:
        chosen = replace(chosen, train=replace(chosen.train, log=log))
    return chosen
