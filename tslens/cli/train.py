"""The command that trains a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli._options import Json
from tslens.cli._recipes import show_estimate, show_recipes

if TYPE_CHECKING:
    from tslens.train.loop import Progress as Position
    from tslens.train.loop import Watch
    from tslens.train.run import Run


def train(
    recipe: str | None = None,
    *,
    data: str | None = None,
    name: str | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set")] = None,
    resume: str | None = None,
    overwrite: bool = False,
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
    set_
        Another value for a key of the recipe, such as optimizer.lr=1e-3; as often as needed.
    resume
        The name of a run to go on with.
    overwrite
        Start the run again if it exists.
    list_
        Show the recipes that there are.
    dry_run
        Say what it would take (parameters, operations, memory, tokens, time here) after a probe of ten seconds, and
        write nothing.
    """
    from tslens.train import recipe as recipes
    from tslens.train.loop import train as run_to_end
    from tslens.train.prepare import prepare
    from tslens.train.prepare import resume as reopen

    if list_:
        show_recipes(json_)
        return
    if json_ and not dry_run:
        raise ValueError("--json goes with --list or --dry-run; a run's numbers are in its metrics.jsonl.")
    if (recipe is None) == (resume is None):
        raise ValueError("name a recipe or a shape to train, or a run to --resume (one of the two).")
    if resume is not None:
        if data is not None or name is not None or set_ or overwrite or dry_run:
            raise ValueError(
                "--resume goes on with a run as it was chosen: leave out --data, --name, --set, --overwrite, --dry-run."
            )
        run = reopen(resume)
    else:
        assert recipe is not None
        chosen = recipes.load(recipe, dict(_pair(text) for text in set_ or []))
        if data is not None:
            chosen = replace(chosen, data=replace(chosen.data, source=data))
        if dry_run:
            show_estimate(chosen, json_)
            return
        run = prepare(chosen, name, overwrite=overwrite)
    for line in describe(run):
        print(line)
    with progress_bar() as watch:
        run_to_end(run, resume=resume is not None, watch=watch)
    print(
        f"finished {run.steps} steps, saved {run.folder}. To see what it does: tslens report --model {run.folder.name}"
    )


def describe(run: "Run") -> tuple[str, str]:
    """What will be trained on what, in two lines."""
    from tslens.models import n_parameters

    spec, facts = run.recipe.spec(run.tokenizer.size), run.facts
    return (
        f"{spec.name} ({spec.style}), {n_parameters(spec):,} parameters, vocabulary {spec.d_vocab}, {run.steps} steps",
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


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes KEY=VALUE, such as optimizer.lr=1e-3; {text!r} has no '='.")
    return key, value
