"""Checkpoints and snapshots of a run: write, restore, delete.

A checkpoint is a folder `checkpoints/step-000123` that appears whole or not at all and holds all of a run's
`TrainingState`; the last few are kept. A snapshot is one of `snapshots/`, at steps 1, 2, 4, 8, ...: weights alone, kept
permanently, to study how a model develops.
"""

import dataclasses
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tslens import files, models, runs
from tslens.errors import InputError
from tslens.forward import PRECISIONS
from tslens.models import LanguageModel, bounds
from tslens.progress import note
from tslens.train import precision
from tslens.train.meter import Meter
from tslens.train.run import Run

PRECISION = "precision.json"
NEEDED = ("recipe", "data", "tokenizer", "step", "tokens", "rollbacks", "since_record")  # of a checkpoint's config
BITS = ("precision", "device", "threads")
COMPUTED_IN = (*precision.KEYS, "device", "threads")


@dataclasses.dataclass
class TrainingState:
    """All state that changes during training."""

    model: LanguageModel
    optimizer: torch.optim.Optimizer
    meter: Meter
    step: int = 0
    rollbacks: int = 0
    """Number of rollbacks, each of which lowers the learning rate."""
    measured: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The last validation, as in `config.json`."""
    settled: precision.Record = dataclasses.field(default_factory=lambda: {"precision": "float32"})
    """Precisions of the next steps; the session resolves `auto`."""
    computed_in: dict[str, str | float] = dataclasses.field(default_factory=dict)
    """The precisions, the type of `device` and, on a CPU, the `threads` of the last step. Other hardware gives other
    bits."""

    @property
    def precision(self) -> str:
        """The dtype of the model's products."""
        return str(self.settled["precision"])


def _config(run: Run, state: TrainingState) -> dict[str, Any]:
    return run.config(state.step, state.meter.tokens, state.measured) | state.computed_in


def is_finite(state: TrainingState) -> bool:
    """Whether optimizer state is finite and no weight is wild (`models.bounds`). Waits for the device once."""
    found = [(p.detach().abs() <= bounds.MOST_WEIGHT).all() for p in state.model.parameters() if p.requires_grad]
    found += [v.isfinite().all() for s in state.optimizer.state.values() for v in s.values() if v.is_floating_point()]
    return bool(torch.stack([each.to(found[0].device) for each in found]).all())


def save(run: Run, state: TrainingState, losses: Mapping[str, float]) -> None:
    """Write a checkpoint, then delete older ones; `losses` are those read from the meter."""
    home = run.folder / "checkpoints"
    facts = {"rollbacks": state.rollbacks, "since_record": {"steps": state.meter.n, "losses": dict(losses)}}
    _write(run, state, home, facts, _optimizer_tensors(state))
    _delete_older(run)


def _delete_older(run: Run) -> None:
    for old in runs.steps(run.folder / "checkpoints")[run.recipe.train.keep_checkpoints :]:
        files.remove_folder(old)


def snapshot(run: Run, state: TrainingState) -> None:
    """Write the weights of this step permanently."""
    _write(run, state, run.folder / "snapshots", {}, None)


def finish(run: Run, state: TrainingState) -> None:
    """Write the run as a model; delete older checkpoints, as a kill may have kept one."""
    run.refuse_gone()
    _delete_older(run)
    runs.write(run.folder, _config(run, state), models.weights(state.model))
    run.refuse_gone()


def _write(
    run: Run, state: TrainingState, home: Path, facts: dict[str, Any], optimizer: dict[str, Tensor] | None
) -> None:
    run.refuse_gone()
    name = f"step-{state.step:06d}"
    with files.atomic_folder(home / name) as scratch:
        if optimizer is not None:
            facts["optimizer_sha256"] = runs.write_tensors(scratch / "optimizer.safetensors", optimizer)
        runs.write(scratch, _config(run, state) | facts, models.weights(state.model))


def remove_partial_files(folder: Path) -> None:
    """Remove files that a kill left incomplete."""
    for home in ("", "data", "checkpoints", "snapshots"):
        files.sweep(folder / home)


def _optimizer_tensors(state: TrainingState) -> dict[str, Tensor]:
    names: dict[Tensor, str] = {p: n for n, p in state.model.named_parameters()}
    return {f"{names[p]}/{key}": value for p, kept in state.optimizer.state.items() for key, value in kept.items()}


def restore(run: Run, state: TrainingState) -> None:
    """Restore the state of the newest whole checkpoint; without one, the state is unchanged.

    A damaged checkpoint is reported on stderr and renamed `step-….damaged`. InputError if all are damaged, or if the
    run's recipe, data or tokenizer differ from those of the checkpoint.
    """
    faults, found, home = [], None, run.folder / "checkpoints"
    if os.path.lexists(home) and not home.is_dir():
        raise InputError(f"{home} is no folder, and the checkpoints of the run are written there: move it away.")
    for place in runs.steps(home):
        try:
            config, weights = runs.read(place)
            tensors = runs.read_tensors(place / "optimizer.safetensors", config.get("optimizer_sha256"))
            if lacking := [key for key in NEEDED if key not in config]:
                raise InputError(f"{place}/{runs.CONFIG} has no {lacking[0]!r}: it is no checkpoint's.")
            _check_optimizer(state.model, tensors, place)
        except InputError as error:
            faults.append((place, str(error)))
            continue
        run.check_same(config)
        models.load_weights(state.model, weights, origin=str(place))
        _load_optimizer(state, tensors)
        since = config["since_record"]
        state.meter.resume(config["tokens"], since["steps"], since["losses"])
        state.step, state.rollbacks = config["step"], config["rollbacks"]
        state.computed_in = {k: config[k] for k in COMPUTED_IN if k in config}
        state.measured = {k: v for k, v in config.items() if k.startswith("validation_") or k == "bits_per_byte"}
        found = place
        break
    if faults and found is None:
        raise InputError(f"{run.folder} cannot be resumed: {faults[0][1]}")
    if found is None and (run.folder / runs.CONFIG).is_file():
        raise InputError(
            f"{run.folder} is finished, and its checkpoints are gone: it stays the model that it is. To train it anew: "
            "--overwrite, with its recipe."
        )
    if found is None and (run.folder / runs.METRICS).is_file():
        note(f"{run.folder} has no checkpoint: training begins at step 0.")
    state.meter.world.wait()  # until everybody has read
    if state.meter.world.first and found is not None:
        for damaged, why in faults:
            _set_aside(damaged, why, found)


def _check_optimizer(model: models.LanguageModel, tensors: Mapping[str, Tensor], place: Path) -> None:
    """InputError for a value of an optimizer that belongs to no parameter of the model."""
    shapes = {name: p.shape for name, p in model.named_parameters()}
    for key, value in tensors.items():
        name, _, field = key.rpartition("/")
        if name not in shapes or (field != "step" and value.shape != shapes[name]):
            raise InputError(f"{place}/optimizer.safetensors has {key!r}, which is of no parameter of the model.")


def _load_optimizer(state: TrainingState, tensors: Mapping[str, Tensor]) -> None:
    parameters = dict(state.model.named_parameters())
    state.optimizer.state.clear()
    for key, value in tensors.items():
        name, _, field = key.rpartition("/")
        p = parameters[name]
        kept = value if field == "step" else torch.empty_like(p).copy_(value)
        state.optimizer.state[p][field] = kept.to(p.device)


def _set_aside(damaged: Path, why: str, instead: Path) -> None:
    print(f"tslens: warning: {why} Going on from {instead}.", file=sys.stderr)
    aside = damaged.with_name(f"{damaged.name}.damaged")
    files.remove_folder(aside)
    damaged.rename(aside)


def record_hardware(run: Run, state: TrainingState) -> None:
    """Record precisions and hardware of the next steps; warn if the previous steps had others."""
    device, before = state.meter.world.device, state.computed_in
    state.computed_in = now = state.settled | {"device": device.type}
    if device.type == "cpu":
        now["threads"] = torch.get_num_threads()
    if state.meter.world.first and any(before[key] != now.get(key) for key in BITS if key in before):
        print(
            f"tslens: warning: {run.folder} was computed {_in_words(before)} until step {state.step}, and goes on "
            f"{_in_words(now)}: it will not end in the bits it would have had there.",
            file=sys.stderr,
        )


def _in_words(computed_in: Mapping[str, str | float]) -> str:
    by = f", {n} thread{'s' * (n != 1)}" if (n := computed_in.get("threads")) else ""
    return f"in {computed_in['precision']} on {computed_in['device']}{by}"


def keep_precision(run: Run, settled: precision.Record) -> None:
    """Save the resolved precision before the first step, so that a killed run does not resolve `auto` again."""
    files.write_json(run.folder / PRECISION, settled)


def kept_precision(run: Run) -> precision.Record | None:
    """The precision saved by `keep_precision`, or None. InputError if the file was altered."""
    path = run.folder / PRECISION
    if not path.is_file():
        return None
    found = files.read_json(path)
    kept = {key: found[key] for key in precision.KEYS if key in found} if isinstance(found, dict) else {}
    for key in ("precision", "muon_precision"):
        if (value := kept.get(key, "float32" if key != "precision" else None)) not in PRECISIONS:
            raise InputError(f"{path} was altered: its {key} is {value!r}. Write float32 or bfloat16 there.")
    return kept


def record_rollbacks(run: Run, state: TrainingState) -> None:
    """Record the rollback in the restored checkpoint, so that a run killed now resumes at the lower rate."""
    runs.change_config(run.folder / "checkpoints" / f"step-{state.step:06d}", {"rollbacks": state.rollbacks})


def delete_later_records(folder: Path, step: int) -> None:
    """Delete records, snapshots and checkpoints later than `step`."""
    for name in (runs.METRICS, runs.STEPS):
        kept = [record for record in runs.read_metrics(folder, name) if record["step"] <= step]
        with files.atomic(folder / name) as file:
            file.writelines(map(runs.metrics_line, kept))
    for home in ("checkpoints", "snapshots"):
        for place in runs.steps(folder / home):
            if runs.step_of(place) > step:
                files.remove_folder(place)
