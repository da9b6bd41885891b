"""Layout of a run folder: its files, its weights with their hashes, its metrics.

A run is a folder: `recipe.json`, `precision.json`, `config.json`, `model.safetensors`, `tokenizer.json`,
`metrics.jsonl`, `steps.jsonl`, `data/` (packed and validation stories), `checkpoints/step-*/`, `snapshots/step-*/`.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from tslens import files
from tslens.errors import InputError
from tslens.fields import typed
from tslens.parsing import lines, parse_json
from tslens.paths import MOST_KEPT, absent, as_text, is_file, reading, refuse_large

FORMAT = 1
NAME = r"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,99}"
BROKEN = (InputError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
"""What reading a damaged run raises; anything else is no fault of the run."""
CONFIG, WEIGHTS, TOKENIZER, METRICS = "config.json", "model.safetensors", "tokenizer.json", "metrics.jsonl"
RESTORE = "Restore it, or resume from an earlier checkpoint of the run."
STEPS, RECIPE = "steps.jsonl", "recipe.json"


def root() -> Path:
    """The folder of all runs: `$TSLENS_RUNS`, else `runs` in the working directory."""
    return Path(os.environ.get("TSLENS_RUNS", "runs"))


def safe_name(name: str) -> str:
    """The name, if it is a valid folder name; InputError if it is empty, hidden, or contains a path."""
    if not re.fullmatch(NAME, name):
        raise InputError(
            f"{name!r} cannot be a run's name: use letters, digits, '.', '_', '-' (100 at most, not starting with '.'),"
            " so that it stays in its folder."
        )
    return name


def run_folder(name: str) -> Path:
    """`runs/<name>`; a name that leads outside the folder is refused."""
    return root() / safe_name(name)


def by_name() -> dict[str, Path]:
    """The folders of all finished runs, sorted by name; a name that is no UTF-8 is escaped."""
    folder = root()
    found = sorted(p for p in folder.iterdir() if p.name[0] != ".") if folder.is_dir() else []
    return {as_text(p.name): p for p in found if (p / CONFIG).is_file() and (p / WEIGHTS).is_file()}


def steps(home: str | Path) -> list[Path]:
    """The folders `step-000123` of a run's `checkpoints` or `snapshots`, newest first."""
    found = [place for place in Path(home).glob("step-*") if place.name[5:].isdecimal() and place.is_dir()]
    return sorted(found, key=step_of, reverse=True)


def step_of(place: Path) -> int:
    """The step of a folder `step-000123`."""
    return int(place.name[5:])


def at_step(folder: str | Path, step: int) -> Path:
    """The snapshot or checkpoint with a run's weights of a step. InputError names the steps it has."""
    kept = {step_of(place): place for home in ("checkpoints", "snapshots") for place in steps(Path(folder) / home)}
    if step not in kept:
        known = ", ".join(map(str, sorted(kept))) or "none"
        raise InputError(f"{folder} has no weights of step {step}. It has those of steps: {known}.")
    return kept[step]


def _pack(tensors: dict[str, Tensor]) -> bytes:
    from safetensors.torch import save

    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def write_tensors(path: str | Path, tensors: dict[str, Tensor]) -> str:
    """Write a safetensors file atomically; returns its hash."""
    data = _pack(tensors)
    with files.atomic(path, "wb") as file:
        file.write(data)
    return hashlib.sha256(data).hexdigest()


def write(folder: str | Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write weights and the `config.json` that holds their hash.

    On a full disk the folder stays unchanged. After a kill it is either a whole model or no model: an older config is
    removed when both new files are on the disk under temporary names, and before either is renamed.
    """
    folder, data = Path(folder), _pack(tensors)
    with files.atomic(folder / CONFIG) as record, files.atomic(folder / WEIGHTS, "wb") as weights:
        weights.write(data)
        files.dump_json(_vouched({"format": FORMAT, **config, "sha256": hashlib.sha256(data).hexdigest()}), record)
        files.sync(weights, record)
        (folder / CONFIG).unlink(missing_ok=True)


def change_config(folder: str | Path, changes: Mapping[str, Any]) -> None:
    """Change values of a `config.json`, and its hash with them."""
    files.write_json(Path(folder) / CONFIG, _vouched({**read_config(folder), **changes}))


def _vouched(config: dict[str, Any]) -> dict[str, Any]:
    """The config with the hash of its other fields."""
    rest = {key: value for key, value in config.items() if key != "config_sha256"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return rest | {"config_sha256": hashlib.sha256(text.encode()).hexdigest()}


def metrics_line(record: Mapping[str, Any]) -> str:
    """The record as a line of `metrics.jsonl` or `steps.jsonl`; null for a number that is not finite, such as the loss
    of a run that has diverged."""
    return json.dumps(files.finite(dict(record)), allow_nan=False) + "\n"


def read_metrics(folder: str | Path, file: str = METRICS) -> list[dict[str, Any]]:
    """The records of the run's `metrics.jsonl`, or of its `steps.jsonl`; empty if there is none. A line that a kill cut
    off is left out, and null is NaN; InputError names one that is no record."""
    path = Path(folder) / file
    records: list[dict[str, Any]] = []
    if not is_file(path, RESTORE):
        return records
    refuse_large(path, MOST_KEPT)
    found = lines(path)
    for number, line in enumerate(map(str.strip, found), 1):
        if line.startswith("{") and not line.endswith("}") and next(found, None) is None:
            break
        record = parse_json(line, where := f"{path}, line {number}", remedy := "It was altered; take that line out.")
        if isinstance(record, dict):
            record = {name: math.nan if value is None else value for name, value in record.items()}
        if not isinstance(record, dict) or not _is_record(record):
            raise InputError(f"{where} is no record of a run. {remedy}")
        records.append(record)
    return records


NUMBERS = ("train_loss", "validation_loss", "bits_per_byte")  # what is read of a record, where it has it


def _is_record(record: dict[str, Any]) -> bool:
    known = [record[name] for name in NUMBERS if name in record]
    counts = record.get("step"), record.get("tokens", 0)
    return all(type(count) is int for count in counts) and all(type(value) in (int, float) for value in known)


RECORDED: dict[str, type] = {
    "name": str,
    "kind": str,
    "tokenizer": str,
    "tokenizer_sha256": str,
    "eos": str,
    "step": int,
    "steps": int,
    "tokens": int,
    "validation_loss": float,
    "bits_per_byte": float,
    "rollbacks": int,
    "since_record": dict,
    "data": dict,
    "data.source": str,
    "data.digests": dict,
    "data.validation_stories": int,
    "recipe": dict,
    "recipe.objective.held_out": float,
    "recipe.objective.name": str,
    "recipe.data": dict,
    "recipe.data.seed": int,
    "recipe.train": dict,
    "recipe.train.validation_stories": int,
}
"""The types of what is read of a config, where it has it; `spec` is checked by the kind of model."""


def read_config(folder: str | Path) -> dict[str, Any]:
    """The `config.json` of a run or checkpoint, checked against its own hash, which every released version writes, and
    by type."""
    path = Path(folder) / CONFIG
    if not path.is_file():
        raise _lacking(path)
    config = files.read_json(path)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        theirs = isinstance(config, dict) and "model_type" in config
        remedy = f" It is a model of Hugging Face's layout: hf:{folder} names it." if theirs else ""
        raise InputError(f"{path} is not that of a tslens model of format {FORMAT}.{remedy}")
    if config != _vouched(config):
        what = "its values do not match its hash" if "config_sha256" in config else "it has no 'config_sha256'"
        raise InputError(f"{path} was altered: {what}. {RESTORE}")
    try:
        check_types(config)
    except InputError as error:
        raise InputError(f"{path} was altered: {error} {RESTORE}") from None
    return config


def check_types(config: dict[str, Any]) -> None:
    """InputError for a value of a config that is read and has another type than `RECORDED` says."""
    for key, kind in RECORDED.items():
        *tables, name = key.split(".")
        table: Any = config
        for outer in tables:
            table = table.get(outer) if isinstance(table, dict) else None
        if isinstance(table, dict) and name in table:
            typed(key, kind, table[name])


def _lacking(path: Path) -> InputError:
    """The error for a file of a run that is not there, or is no file."""
    what = absent(path) if os.path.lexists(path) else f"{path} is missing"
    return InputError(f"{what}. {RESTORE}")


def read(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The config and the weights of a run or checkpoint, checked against their hashes."""
    config = read_config(folder)
    return config, read_tensors(Path(folder) / WEIGHTS, config.get("sha256"))


def read_tensors(path: str | Path, digest: str | None) -> dict[str, Tensor]:
    """A safetensors file whose hash must be `digest`; nothing is ever unpickled."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    path = Path(path)
    if not path.is_file():
        raise _lacking(path)
    with reading(path), path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()  # in pieces: a file of another size is not held
        if found != digest:
            raise InputError(
                f"{path} was truncated or altered: its SHA-256 is {found[:12]}…, "
                f"recorded was {str(digest)[:12]}…. {RESTORE}"
            )
        file.seek(0)
        data = file.read()
    try:
        return load(data)
    except SafetensorError as error:
        raise InputError(f"{path} is not safetensors ({error}), whatever its config says.") from None
