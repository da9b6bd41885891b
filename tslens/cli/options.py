"""The options that several commands have: one help text for each, and how it is read."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tslens.errors import InputError

STORIES = "validation"  # the default, of the embedded generator: there without a download

Model = Annotated[str, Parameter(help="A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID.")]
Stories = Annotated[str, Parameter(help="A file, a dataset, or `validation` (the embedded generator's).")]
Limit = Annotated[int | None, Parameter(help="Stories read at most.")]
Precision = Annotated[str, Parameter(help="Of the model's matrix products: float32, bfloat16 or auto.")]
Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", help="Another value for a key of the recipe, such as optimizer.lr=1e-3; may be repeated."),
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]


def settings(given: list[str] | None) -> dict[str, str]:
    """The values of `--set KEY=VALUE`, by key."""
    found = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set takes KEY=VALUE, such as optimizer.lr=1e-3; {text!r} has no '='.")
        found[key] = value
    return found


def record_of(model: str) -> dict[str, Any]:
    """What the run or bundled model of this name keeps of its training; empty where it is neither."""
    from tslens import files, models, runs

    folder = models.available().get(model.partition("@")[0]) or Path(model)
    return dict(files.read_json(folder / runs.CONFIG)) if (folder / runs.CONFIG).is_file() else {}


def corpus_of(model: str, source: str, limit: int | None) -> Iterable[str]:
    """The stories by name, in a list where they are few, so that a bar knows how many there are. Where the model was
    trained on others, that is said on stderr once the first was read."""
    from tslens.report.compute import foreign
    from tslens.stories import stories

    found = stories(source, limit=limit)
    few = found if limit is None else list(found)
    for _ in zip(range(1), few, strict=False):
        if said := foreign(record_of(model), found.name):
            print(said, file=sys.stderr)
    return few
