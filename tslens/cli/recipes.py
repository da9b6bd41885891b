"""Show recipes, the cost of a recipe, and the run that it trains."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tslens.cli.delivery import print_json
from tslens.tables import as_text, filled

if TYPE_CHECKING:
    from tslens.train.estimate import Estimate
    from tslens.train.recipe import Recipe
    from tslens.train.run import Run
    from tslens.train.session import Trained

QUIET = 0.25
"""Load average per processor above which the machine is said to be busy."""
BUSY = "load average {:.1f} per processor: other work slows these measurements"


def show_recipes(as_json: bool) -> None:
    """Every recipe in one table: its shape, parameters, objective, data and tokens."""
    rows = [_summary(recipe) for recipe in _chosen()]
    if as_json:
        print_json(rows)
        return
    import pandas as pd

    table = pd.DataFrame([{column: _short(value) for column, value in row.items()} for row in rows])
    print(as_text(table, ("name", "objective", "parameters", "tokens")))


def _chosen() -> "list[Recipe]":
    """The recipes, the smallest first."""
    from tslens.train import recipe as recipes

    return sorted(map(recipes.load, recipes.names()), key=lambda recipe: (_summary(recipe)["parameters"], recipe.name))


def _summary(recipe: "Recipe") -> dict[str, Any]:
    from tslens.train.budget import token_budget, vocabulary_size

    size = vocabulary_size(recipe.data)
    spec = recipe.shape(size)
    return {
        "name": recipe.name,
        "shape": spec.name,
        "parameters": spec.n_parameters(),
        "objective": recipe.to_dict()["objective"]["name"],
        "data": recipe.data.source,
        "tokens": token_budget(recipe, size)[1],
    }


def _short(value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, int):
        return f"{value / 1e6:,.1f} M"
    return str(value)


def show_estimate(recipe: "Recipe", as_json: bool) -> None:
    """Print the cost of training by a recipe on this machine."""
    from tslens.train.estimate import estimate

    found = estimate(recipe)
    if as_json:
        seconds = {"seconds": found.seconds, "slowest_seconds": found.slowest_seconds}
        print_json(asdict(found) | {"bytes": found.bytes} | seconds)
    else:
        print(filled("\n".join(f"{what:<12} {value}" for what, value in _lines(found).items())))


def _lines(e: "Estimate") -> dict[str, str]:
    tokens = "?" if e.tokens is None else f"{counted(e.tokens)} in {e.steps:,} steps"
    in_all = "" if e.flops is None else f"; {e.flops:.2g} in all"
    time = "?"
    if e.seconds is not None and e.slowest_seconds is not None and e.validations is not None:
        all_of_them = f"{e.validations:,} validation{'' if e.validations == 1 else 's'}"
        validating = f"{duration(e.validations * e.validation_seconds)} of it for {all_of_them}"
        time = f"{_between(e.seconds, e.slowest_seconds)}, {validating}; checkpoints and compiling are not counted"
    return {
        "recipe": f"{e.name} ({e.shape})",
        "parameters": f"{e.parameters:,}",
        "FLOPs": f"{e.flops_per_token:.3g} per token, forward and backward{in_all}",
        "memory": f"{_bytes(e.bytes)}: weights {_bytes(e.weights_bytes)}, gradients {_bytes(e.gradient_bytes)}, "
        f"optimizer {_bytes(e.optimizer_bytes)}, saved for backward {_bytes(e.saved_bytes)} ({e.rows} rows at a time)",
        "tokens": f"{tokens} ({e.tokens_from})",
        "speed": f"{e.slowest_tokens_per_second:,.0f} to {e.tokens_per_second:,.0f} tokens/s, and "
        f"{1e3 * e.optimizer_seconds:,.0f} ms a step for the optimizer, measured here ({e.measured_on})",
        "time": time,
    } | ({"busy": BUSY.format(e.busy)} if e.busy > QUIET else {})


def _between(least: float, most: float) -> str:
    """Two durations in words, or one where they read alike."""
    words = duration(least), duration(most)
    return words[0] if words[0] == words[1] else f"{words[0]} to {words[1]}"


def counted(n: int) -> str:
    """A number in words: "4.1 million"."""
    if n < 1e6:
        return f"{n:,}"
    return f"{n / 1e6:,.1f} million" if n < 1e9 else f"{n / 1e9:,.2f} billion"


def _bytes(n: int) -> str:
    return f"{n / 1e6:,.0f} MB" if n < 1e9 else f"{n / 1e9:,.1f} GB"


def duration(seconds: float) -> str:
    """Seconds in words: "3.2 days"."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.0f} seconds"


def show_run(run: "Run") -> None:
    """Print the model and its training data, in two lines."""

    spec, facts, data = run.recipe.shape(run.tokenizer.size), run.facts, run.recipe.data
    fewer = data.tokenizer is None and spec.d_vocab < data.vocabulary
    asked = f" (of {data.vocabulary:,} asked for: the stories have no more)" if fewer else ""
    print(
        f"{spec.name} ({spec.style}), {spec.n_parameters():,} parameters, vocabulary {spec.d_vocab}{asked}, "
        f"{run.steps} steps"
    )
    print(
        f"{facts['training_stories']:,} stories, {facts['training_tokens']:,} tokens; {facts['longer_than_context']:,} "
        f"stories are longer than the context of {spec.n_ctx} and are cut there"
    )


def show_finished(trained: "Trained") -> None:
    """Print where the finished model is, and the command to analyse it; only in the first of several processes."""
    from tslens.models import CompressorSpec

    if not trained.world.first:
        return
    run = trained.run
    what = "analyze heads" if isinstance(run.recipe.shape(run.tokenizer.size), CompressorSpec) else "report"
    print(
        f"finished {run.steps} steps, saved {run.folder}. To see what it does: tslens {what} --model {run.folder.name}"
    )
