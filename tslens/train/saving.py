"""How is a run kept, so that it can go on from its newest whole checkpoint?

A checkpoint is a folder `checkpoints/step-000123` that appears whole or not at all.
"""

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tslens import checkpoints, models
from tslens.evaluation.loss import Loss
from tslens.train.run import Run

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


def save(
    run: Run, model: "HookedTransformer", optimizer: torch.optim.Optimizer, step: int, tokens: int, last: Loss | None
) -> None:
    """Write the checkpoint of a step, then drop older ones. OSError says that the one before is kept."""
    home = run.folder / "checkpoints"
    home.mkdir(parents=True, exist_ok=True)
    scratch, target = home / f".step-{step:06d}.{os.getpid()}.tmp", home / f"step-{step:06d}"
    try:
        state = _optimizer_tensors(model, optimizer)
        digest = checkpoints.write_tensors(scratch / "optimizer.safetensors", state)
        config = run.config(step, tokens, last) | {"optimizer_sha256": digest}
        checkpoints.write(scratch, config, models.weights(model))
        if target.exists():
            shutil.rmtree(target)
        scratch.rename(target)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot write a checkpoint ({error.strerror}); the one before is kept, make room and --resume"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for old in steps(run.folder)[run.recipe.train.keep :]:
        shutil.rmtree(old)


def steps(folder: Path) -> list[Path]:
    """The run's checkpoints, newest first."""
    found = [place for place in (folder / "checkpoints").glob("step-*") if place.name[5:].isdigit()]
    return sorted(found, key=lambda place: int(place.name[5:]), reverse=True)


def sweep(folder: Path) -> None:
    """Remove what a kill left half written."""
    for scratch in (folder / "checkpoints").glob(".step-*.tmp"):
        shutil.rmtree(scratch)
    for scratch in folder.glob(".*.tmp"):
        scratch.unlink()


def _optimizer_tensors(model: "HookedTransformer", optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    names = {p: n for n, p in model.named_parameters()}
    return {f"{names[p]}/{key}": value for p, state in optimizer.state.items() for key, value in state.items()}


def restore(run: Run, model: "HookedTransformer", optimizer: torch.optim.Optimizer) -> tuple[int, int]:
    """Load the newest checkpoint that is whole; returns its step and tokens, (0, 0) where there is none yet."""
    faults = []
    for place in steps(run.folder):
        try:
            config, tensors = checkpoints.read(place)
            state = checkpoints.read_tensors(place / "optimizer.safetensors", config.get("optimizer_sha256"))
        except ValueError as error:
            faults.append(str(error))
            continue
        models.load_weights(model, tensors, origin=str(place))
        parameters = dict(model.named_parameters())
        for key, value in state.items():
            name, _, field = key.rpartition("/")
            p = parameters[name]
            kept = value if field == "step" else torch.empty_like(p).copy_(value)
            optimizer.state[p][field] = kept.to(p.device)
        return int(config["step"]), int(config["tokens"])
    if faults:
        raise ValueError(f"{run.folder} cannot be resumed: {faults[0]}")
    return 0, 0


def forget_after(metrics: Path, step: int) -> None:
    """Drop records of steps that the checkpoint does not have: they will be made again."""
    kept = [record for record in checkpoints.read_metrics(metrics.parent) if record["step"] <= step]
    with checkpoints.atomic(metrics) as file:
        file.writelines(json.dumps(record) + "\n" for record in kept)
