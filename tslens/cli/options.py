"""Options that several commands share: their help texts, and how they are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.corpus import Corpus
    from tslens.models import LanguageModel

Model = Annotated[str, Parameter(help="A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID.")]
Stories = Annotated[
    str | None,
    Parameter(
        help="Stories to read: a file, a dataset or `made` (from the embedded generator), each also as "
        "SOURCE@validation or SOURCE@train; `validation` or `train`, those of the model's own run; or `self`, what the "
        "model writes. "
        "Default: the validation stories that its run kept; for a model trained on generated stories that kept none, "
        "their validation split, generated again; for any other model, what it writes itself."
    ),
]
LossStories = Annotated[
    str | None,
    Parameter(
        help="What to read: a file, a dataset or `made` (the embedded generator's), each also as SOURCE@validation or "
        "SOURCE@train; or `train`, what the model's own run was trained on. Default: the validation stories that its "
        "run kept or, for a model trained on generated stories that kept none, their validation split, generated "
        "again; any other model needs it."
    ),
]
Limit = Annotated[int, Parameter(help="Largest number of stories to read.")]
Precision = Annotated[str, Parameter(help="Precision of the model's matrix products: float32, bfloat16 or auto.")]
Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", help="Set a key of the recipe, such as optimizer.lr=1e-3; may be repeated."),
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
    """The training record of the run or bundled model of this name; empty if it is neither."""
    from tslens import files, models, runs

    folder = models.available().get(model.partition("@")[0]) or Path(model)
    return dict(files.read_json(folder / runs.CONFIG)) if (folder / runs.CONFIG).is_file() else {}


def corpus_of(
    model: "LanguageModel", source: str | None, limit: int, *, self_written: bool = True, said: bool = True
) -> "Corpus":
    """The stories of `--stories` and `--limit`; prints their description on stderr."""
    from tslens import progress
    from tslens.corpus import model_stories

    with progress.stage("reading stories"):
        corpus = model_stories(model, source, limit=limit, self_written=self_written)
    if said:
        progress.note(f"reading {corpus.description}")
    return corpus
