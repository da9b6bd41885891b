"""Where a run lives and how it is written: atomically, hashed, and never outside its folder.

A run is a folder: `config.json`, `model.safetensors`, `tokenizer.json`, `metrics.jsonl`, `checkpoints/step-*/`,
`snapshots/step-*/`.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from torch import Tensor

FORMAT = 1
NAME = r"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,99}"
CONFIG, WEIGHTS, TOKENIZER, METRICS = "config.json", "model.safetensors", "tokenizer.json", "metrics.jsonl"


def root() -> Path:
    """The folder of all runs: `$TSLENS_RUNS`, else `runs` in the working folder."""
    return Path(os.environ.get("TSLENS_RUNS", "runs"))


def safe_name(name: str) -> str:
    """The name itself if it can be a folder's; ValueError if it is empty, hidden, or would lead elsewhere."""
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"{name!r} cannot be a run's name: use letters, digits, '.', '_', '-' (100 at most, not starting with '.'),"
            " so that it stays in its folder."
        )
    return name


def run_folder(name: str) -> Path:
    """`runs/<name>`; the name cannot leave the folder."""
    return root() / safe_name(name)


def runs() -> dict[str, Path]:
    """The finished or checkpointed runs of this folder, by name, sorted."""
    folder = root()
    found = sorted(p for p in folder.iterdir() if p.name[0] != ".") if folder.is_dir() else []
    return {p.name: p for p in found if (p / CONFIG).is_file() and (p / WEIGHTS).is_file()}


def steps(home: str | Path) -> list[Path]:
    """The folders `step-000123` of a run's `checkpoints` or `snapshots`, newest first."""
    found = [place for place in Path(home).glob("step-*") if place.name[5:].isdigit()]
    return sorted(found, key=step_of, reverse=True)


def step_of(place: Path) -> int:
    """The step that a folder `step-000123` is of."""
    return int(place.name[5:])


def at_step(folder: str | Path, step: int) -> Path:
    """Where a run keeps its weights of a step, as a snapshot or a checkpoint. ValueError names the steps it has."""
    kept = {step_of(place): place for home in ("checkpoints", "snapshots") for place in steps(Path(folder) / home)}
    if step not in kept:
        known = ", ".join(map(str, sorted(kept))) or "none"
        raise ValueError(f"{folder} has no weights of step {step}. It has those of steps: {known}.")
    return kept[step]


@contextlib.contextmanager
def atomic(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file that appears under its name only when it is whole and on the disk; on any error nothing changes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with scratch.open(mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def sha256(path: str | Path) -> str:
    """The file's SHA-256 in hexadecimal, read in pieces."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pack(tensors: dict[str, Tensor]) -> bytes:
    from safetensors.torch import save

    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def write_tensors(path: str | Path, tensors: dict[str, Tensor]) -> str:
    """Write a safetensors file atomically; returns its hash."""
    data = _pack(tensors)
    with atomic(path, "wb") as file:
        file.write(data)
    return hashlib.sha256(data).hexdigest()


def write(folder: str | Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write weights and the `config.json` that vouches for them by hash.

    On a full disk the folder stays as it was. Killed at any moment, it is either a whole model or not a model: an older
    config goes once both new files are on the disk under other names, and before either takes its name.
    """
    folder, data = Path(folder), _pack(tensors)
    with atomic(folder / CONFIG) as record, atomic(folder / WEIGHTS, "wb") as weights:
        weights.write(data)
        _dump({"format": FORMAT, **config, "sha256": hashlib.sha256(data).hexdigest()}, record)
        for file in (weights, record):
            file.flush()
            os.fsync(file.fileno())
        (folder / CONFIG).unlink(missing_ok=True)


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically, readable."""
    with atomic(path) as file:
        _dump(value, file)


def _dump(value: Any, file: IO[Any]) -> None:
    json.dump(value, file, indent=1, ensure_ascii=False)
    file.write("\n")


def read_json(path: str | Path) -> Any:
    """Parse a JSON file; ValueError names the file if it is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not JSON ({error}). It was altered or cut off.") from error


def read_metrics(folder: str | Path) -> list[dict[str, Any]]:
    """The run's `metrics.jsonl`, a record a line; empty where there is none. A line that a kill cut off is left out."""
    path = Path(folder) / METRICS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def read(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The config and the weights of a run or checkpoint, checked against the hash."""
    folder = Path(folder)
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ValueError(f"{folder}/{CONFIG} is not a tslens model of format {FORMAT}.")
    return config, read_tensors(folder / WEIGHTS, config.get("sha256"))


def read_tensors(path: str | Path, digest: str | None) -> dict[str, Tensor]:
    """A safetensors file whose hash must be `digest`; nothing is ever unpickled."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} is missing. Restore it, or resume from an earlier checkpoint of the run.")
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        raise ValueError(
            f"{path} was truncated or altered: its SHA-256 is {found[:12]}…, "
            f"recorded was {str(digest)[:12]}…. Restore it, or resume from an earlier checkpoint of the run."
        )
    try:
        return load(data)
    except SafetensorError as error:
        raise ValueError(f"{path} is not safetensors ({error}), whatever its config says.") from None
