"""The command that trains a model."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens import progress
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
    """Train a model by a recipe, a shape such as 256x8, or a TOML file; or resume a run.

    Parameters
    ----------
    recipe
        The recipe's name, a shape, or a TOML file.
    data
        Source of the stories: a file, a dataset folder or hub id, or `made`.
    name
        The run's name, by default the recipe's. The run is the folder `runs/NAME`; every other command takes NAME.
    resume
        Name of a run to resume. A recipe given with it must be the run's own; without one, --set takes only the
        settings for a diverging loss, such as train.on_divergence=rollback.
    overwrite
        Start the run again if it exists.
    log
        Loggers besides metrics.jsonl: tensorboard, wandb, or both, separated by a comma.
    list_
        List the recipes.
    dry_run
        Print the cost (parameters, operations, memory, tokens, time) after a ten-second probe; write nothing.
    """
    if list_:
        return show_recipes(json_)
    if json_ and not dry_run:
        raise InputError("--json goes with --list or --dry-run; a run's numbers are in its metrics.jsonl.")
    if resume is not None and (name is not None or overwrite or dry_run):
        raise InputError("--resume keeps the run's own recipe: leave out --name, --overwrite, --dry-run.")
    from tslens.train import session

    given, chosen = settings(set_), _chosen(recipe, data, set_, log)
    if resume is not None:
        show_finished(session.resume(resume, given, recipe=chosen, log=log, begun=show_run))
    elif dry_run:
        show_estimate(_named(chosen), json_)
    else:
        show_finished(session.train(_announced(_named(chosen)), name, overwrite=overwrite, begun=show_run))


def _named(recipe: "Recipe | None") -> "Recipe":
    """The recipe; InputError if none is named."""
    if recipe is None:
        raise InputError("name a recipe or a shape to train, or a run to --resume.")
    return recipe


def _announced(recipe: "Recipe") -> "Recipe":
    """The recipe, after its stories are named: before they are packed."""
    progress.note(f"stories: {recipe.data.source}")
    return recipe


def _chosen(recipe: str | None, data: str | None, given: Settings, log: str | None) -> "Recipe | None":
    """The recipe with the changes of the command line, or None."""
    if recipe is None:
        if data is not None:
            raise InputError("--data is a setting of a recipe: name a recipe or a shape to train too.")
        return None
    from tslens.train import recipe as recipes

    chosen = recipes.load(recipe, settings(given))
    if data is not None:
        chosen = replace(chosen, data=replace(chosen.data, source=data))
    if log is not None:
        chosen = replace(chosen, train=replace(chosen.train, log=log))
    return chosen
