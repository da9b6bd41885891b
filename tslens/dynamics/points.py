"""The points of a run at which its weights are known: before training, its snapshots, and its end."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tslens import models, runs
from tslens.errors import InputError
from tslens.models.record import record_of
from tslens.nearest import did_you_mean
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass(frozen=True)
class Point:
    """A step of a run whose weights can be had."""

    step: int
    identity: str
    """What determines the weights: their hash or, before training, recipe and tokenizer."""
    load: Callable[[], "LanguageModel"]


def folder_of(run: str | Path) -> Path:
    """The folder of a run of this folder, by its name, or of a path. InputError names the runs that keep snapshots."""
    text = str(run)
    for folder in (runs.root() / text, Path(text)):
        if has_snapshots(folder):
            return folder
    known = sorted(p.name for p in runs.root().iterdir() if has_snapshots(p)) if runs.root().is_dir() else []
    there = (runs.root() / text).is_dir() or Path(text).is_dir() or text in models.bundled()
    what = f"{text} keeps no snapshots" if text and there else f"no run is called {text!r}"
    raise InputError(
        f"{what}.{did_you_mean(text, known)} Runs that do: {', '.join(known) or 'none'}. A run keeps the weights of "
        "steps 1, 2, 4, ... unless train.keep_log_spaced is false."
    )


def has_snapshots(folder: str | Path) -> bool:
    """Whether a run's folder holds snapshots."""
    return bool(runs.steps(Path(folder) / "snapshots"))


def points(run: str | Path, *, checkpoints: bool = False) -> list[Point]:
    """The points of a run, earliest first: step 0, made again from recipe and seed; the snapshots; and the end, if the
    run is finished. With `checkpoints`, the checkpoints that it still has too.

    A run whose record names no recipe has no step 0. InputError for a run without snapshots, or a damaged one.
    """
    folder = folder_of(run)
    homes = ("snapshots", "checkpoints")[: 1 + checkpoints]
    places = {runs.step_of(place): place for home in reversed(homes) for place in runs.steps(folder / home)}
    if (folder / runs.CONFIG).is_file():
        places.setdefault(int(runs.read_config(folder).get("step", 0)) or max(places) + 1, folder)
    configs = {step: runs.read_config(place) for step, place in sorted(places.items())}
    found = [Point(step, _identity(config), partial(models.load, places[step])) for step, config in configs.items()]
    first = configs[min(configs)]
    if not isinstance(first.get("recipe"), dict):
        return found
    start = {key: first["recipe"].get(key) for key in ("model", "objective", "seed")}
    identity = f"untrained {_text(start | {key: first.get(key) for key in ('spec', 'tokenizer')})}"
    return [Point(0, identity, partial(_untrained, folder, first["recipe"])), *found]


def _identity(config: Mapping[str, Any]) -> str:
    return _text({key: config.get(key) for key in ("sha256", "kind", "spec", "tokenizer")})


def _text(tree: Mapping[str, Any]) -> str:
    return json.dumps(tree, sort_keys=True)


def _untrained(folder: Path, tree: Mapping[str, Any]) -> "LanguageModel":
    """The model of a run before its first step: its weights are drawn from the recipe's seed."""
    recipe = recipes.from_dict(dict(tree), origin=str(folder))
    tokenizer = Tokenizer.load(folder / runs.TOKENIZER)
    model = recipe.objective.build(recipe.spec(tokenizer.size), seed=recipe.seed, tokenizer=tokenizer)
    record = record_of(model)
    record.name, record.run = f"{folder.resolve().name}@0", folder
    return model.eval()
