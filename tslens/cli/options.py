"""Options that several commands share: their help texts, and how they are read."""

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from cyclopts import Parameter, validators

from tslens.cli.bounds import is_whole_number, refuse_beyond
from tslens.errors import InputError
from tslens.paths import refuse_no_text

if TYPE_CHECKING:
    from cyclopts import ArgumentCollection

    from tslens.corpus import Corpus
    from tslens.models import LanguageModel
    from tslens.scan import Reducer

_MODEL = "A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID."
Model = Annotated[str, Parameter(help=_MODEL)]
Models = Annotated[list[str] | None, Parameter(name="--model", help=_MODEL, negative=())]
Stories = Annotated[
    str | None,
    Parameter(
        help="Stories to read: a file, a dataset or `made` (from the embedded generator), each also as "
        "SOURCE@validation or SOURCE@train; `validation` or `train`, those of the model's own run; or `self`, what the "
        "model writes. "
        "Default: the validation stories that its run kept, else what it writes itself."
    ),
]
LossStories = Annotated[
    str | None,
    Parameter(
        help="What to read: a file, a dataset or `made` (the embedded generator's), each also as SOURCE@validation or "
        "SOURCE@train; or `train`, what the model's own run was trained on. Default: the validation stories that its "
        "run kept; a model that kept none needs it."
    ),
]
Limit = Annotated[int, Parameter(help="Largest number of stories to read.")]
Precision = Annotated[str, Parameter(help="Precision of the model's matrix products: float32, bfloat16 or auto.")]
Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", help="Set a key of the recipe, such as optimizer.lr=1e-3; may be repeated."),
]


def bounded(_: object, value: object) -> None:
    """ValueError for a whole number that no index and no count of a machine can be."""
    if isinstance(value, int) and abs(value) > sys.maxsize:
        raise ValueError(f"A whole number of over {sys.maxsize:,} is given; give a smaller one.")


def refuse_unmeant(_app: object, command: Sequence[str], arguments: "ArgumentCollection") -> None:
    """InputError for a word that is no UTF-8, as a file's name may be, or a working folder of such a name; for what is
    given as a whole number and is not written as one, or is beyond its bound; and for an empty path, which would be
    this folder."""
    with suppress(FileNotFoundError):  # a working folder that was deleted
        refuse_no_text(Path.cwd())
    for argument in arguments:
        for token in argument.tokens:
            refuse_no_text(token.value)
        if argument.resolved_hint in (Path, Path | None) and any(not token.value for token in argument.tokens):
            raise InputError(f"{argument.name} is empty; give a path.")
        if is_whole_number(argument):
            for token in argument.tokens:
                if re.match(r"[+-]?[\d.]", token.value) and not re.fullmatch(r"[+-]?\d+", token.value):
                    raise InputError(f"{token.keyword or argument.name} takes a whole number; {token.value!r} is none.")
    refuse_beyond(command, arguments)
    _note_inputs(arguments)


_inputs: list[tuple[str, Path]] = []
"""The options and files that the command under way was given to read."""


def _note_inputs(arguments: "ArgumentCollection") -> None:
    """Keep the files that are named in other options than --out. InputError if --out is one of them."""
    _inputs.clear()
    given = [(argument, token.value) for argument in arguments for token in argument.tokens]
    for argument, value in given:
        if argument.name != "--out" and not {argument.resolved_hint, *get_args(argument.resolved_hint)} & {int, float}:
            for part in {value, *value.split(",")}:  # several sources, or VOCAB.json,MERGES.txt
                place = re.sub("^(hf|llama2c):", "", part)
                _inputs.extend((argument.name, Path(one)) for one in {place, re.sub("[@:].*", "", place)})
    for argument, value in given:
        if argument.name == "--out":
            refuse_input(Path(value))


def refuse_input(out: Path) -> None:
    """InputError for a file that the command under way was given to read: what it writes there would replace it."""
    for name, path in _inputs:
        with suppress(OSError):
            if out.is_file() and out.samefile(path):
                raise InputError(f"{out} would be replaced, and {name} reads it: give --out another place.")


def _check_engine(_: object, engine: str) -> None:
    shards_of(engine)


Engine = Annotated[
    str,
    Parameter(
        validator=_check_engine,  # a wrong one is refused before the work
        help="Where stories are scanned: `local`, by this process; `ray`, by a Ray cluster, the running one or one of "
        "this machine; or `ray:N`, there in N parts. The answer does not depend on it.",
    ),
]
ModelTwins = Annotated[
    int,
    Parameter(
        name="--twins",
        validator=(validators.Number(gte=0), bounded),
        help="Untrained twins of each model that are measured beside it, in turns with the values of every weight "
        "permuted and freshly initialised; 0 for none.",
    ),
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


def load_models(names: Sequence[str] | None) -> dict[str, "LanguageModel"]:
    """The models of `--model`, by their names in tables. InputError for none, or for one given twice."""
    if not names:
        raise InputError("give --model, the model to be scored; `tslens models` lists the known ones.")
    given_once(names)
    from tslens.models import load, name_of

    loaded = [load(name) for name in names]
    return dict(zip(told_apart(names, [name_of(model) for model in loaded]), loaded, strict=True))


def given_once(names: Sequence[str]) -> None:
    """InputError for a model that is given twice."""
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f"--model {twice} is given twice; give each model once.")


def told_apart(given: Sequence[str], short: Sequence[str]) -> list[str]:
    """The models' names in tables: the short ones, or as given where two would be the same."""
    return [s if short.count(s) == 1 else name for name, s in zip(given, short, strict=True)]


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


def shards_of(engine: str) -> int | None:
    """The parts that `--engine` asks for on Ray; 0 to scan here, None for as many as the cluster has CPUs."""
    name, colon, parts = engine.partition(":")
    if engine == "local":
        return 0
    if name != "ray" or (colon and not (parts.isdecimal() and int(parts))):
        raise InputError(f"--engine is {engine!r}; give local, ray, or ray:N for N parts, such as ray:8.")
    return int(parts) if colon else None


def scanned(
    engine: str,
    name: str,
    model: "LanguageModel",
    stories: "Corpus",
    reducers: "Sequence[Reducer[Any, Any]]",
    precision: str = "float32",
) -> list[Any]:
    """The answers of the reducers, by the engine of `--engine`; on Ray every worker loads the model by its name."""
    from tslens.scan import scan

    parts = shards_of(engine)
    if parts == 0:
        return scan(model, stories, reducers, precision=precision)
    from tslens.cluster import scan_on_cluster

    return list(scan_on_cluster(_place(name), stories, reducers, parts=parts, precision=precision))


def _place(name: str) -> str:
    """The folder of a run or a bundled model, which workers find from any working folder; another name as it is."""
    from tslens import models

    folder = models.available().get(name) or Path(name)
    return str(folder.resolve()) if folder.is_dir() else name
