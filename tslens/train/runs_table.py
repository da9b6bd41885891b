"""The table of this folder's runs: the progress of each, and its losses."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from tslens import files, lock, runs
from tslens.errors import InputError
from tslens.paths import absent, as_text
from tslens.train.prepare import RECIPE
from tslens.train.recipe import from_dict


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """A run as recorded in its folder; None for what is not recorded."""

    name: str
    state: str
    """`finished`, `running` (a process writes it now), `stopped` (it can be resumed) or `broken`."""
    shape: str | None = None
    objective: str | None = None
    step: int = 0
    steps: int | None = None
    tokens: int = 0
    train_loss: float | None = None
    """Mean training loss of the last record, nats per token; before the first, of the last step in `steps.jsonl`."""
    validation_loss: float | None = None
    """Last validation loss, nats per token."""
    bits_per_byte: float | None = None
    why: str = ""
    """The error of a broken run."""


def summaries() -> list[RunSummary]:
    """The runs of this folder by name. A run that cannot be read is `broken`, and says why."""
    broken = [RunSummary(name, "broken", why=why) for name, why in misplaced().items()]
    found = (path.parent for path in runs.root().glob(f"*/{RECIPE}") if path.parent.name[0] != ".")
    found = (folder for folder in found if folder.name not in {run.name for run in broken})
    return sorted([*broken, *map(_read, found)], key=lambda run: run.name)


def home_of_all() -> Path:
    """The folder of all runs, which need not be there; InputError if something else is in its place."""
    home = runs.root()
    if os.path.lexists(home) and not home.is_dir():
        raise InputError(
            f"{absent(home, needed='folder')}: runs are kept in a folder of that name. Move it away, or name another "
            "folder (TSLENS_RUNS)."
        )
    return home


def misplaced() -> dict[str, str]:
    """What stands in the place of a run, or of a file of its model, and is neither file nor folder (a pipe, a link that
    leads nowhere): why no model is read there, by the run's name."""
    home, found = home_of_all(), dict[str, str]()
    for run in sorted(home.iterdir()) if home.is_dir() else ():
        for place, needed in ((run, "folder"), (run / runs.CONFIG, "file"), (run / runs.WEIGHTS, "file")):
            if run.name[0] != "." and os.path.lexists(place) and not (place.is_file() or place.is_dir()):
                found.setdefault(run.name, absent(place, needed=needed))
    return found


def _read(folder: Path) -> RunSummary:
    writer = lock.holder(folder)
    try:
        return _summary(folder, running=writer is not None)
    except runs.BROKEN as error:
        if writer is not None:  # files change under our eyes
            return RunSummary(as_text(folder.name), "running")
        return RunSummary(as_text(folder.name), "broken", why=" ".join(str(error).split()))


def _summary(folder: Path, running: bool) -> RunSummary:
    recipe = from_dict(files.read_json(folder / RECIPE), origin=f"{folder}/{RECIPE}")
    chosen, records = recipe.to_dict(), runs.read_metrics(folder)
    config = _newest_config(folder)
    finished = (folder / runs.CONFIG).is_file()
    if finished and not (folder / runs.WEIGHTS).is_file():
        raise InputError(f"{folder}/{runs.WEIGHTS} is missing.")
    last: dict[str, Any] = {}
    for record in records:
        last |= record
    if "train_loss" not in last and (steps := runs.read_metrics(folder, runs.STEPS)):
        last = {**steps[-1], "train_loss": steps[-1].get("step_loss")}
    return RunSummary(
        folder.name,
        "running" if running else "finished" if finished else "stopped",
        shape=recipe.shape(1).name,
        objective=chosen["objective"]["name"],
        step=max(config.get("step", 0), last.get("step", 0)),
        steps=config.get("steps", recipe.train.steps),
        tokens=max(config.get("tokens", 0), last.get("tokens", 0)),
        train_loss=last.get("train_loss"),
        validation_loss=config.get("validation_loss") if finished else last.get("validation_loss"),
        bits_per_byte=config.get("bits_per_byte") if finished else last.get("bits_per_byte"),
    )


def _newest_config(folder: Path) -> dict[str, Any]:
    """The config of the finished model, or else of the newest checkpoint; empty if there is neither."""
    for place in (folder, *runs.steps(folder / "checkpoints")):
        if (place / runs.CONFIG).is_file():
            return runs.read_config(place)
    return {}
