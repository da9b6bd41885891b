"""Train: steps, validation, metrics and checkpoints of one run, resumable."""

import dataclasses
import json
import math
import os
import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tslens import checkpoints, forward, models
from tslens.evaluation.loss import Loss, loss
from tslens.tokenizer import Tokenizer
from tslens.train import optimizer as optimizers
from tslens.train.data import Rows, prefetch
from tslens.train.objective import OBJECTIVES
from tslens.train.recipe import Recipe

if TYPE_CHECKING:
    from tslens.models import HookedTransformer


class Interrupted(KeyboardInterrupt):
    """Training was stopped by a person and saved first; says how to go on."""


@dataclasses.dataclass
class Progress:
    """What a person watches: where the run is and how fast."""

    step: int
    steps: int
    tokens: int
    train_loss: float
    tokens_per_second: float
    validation: float | None = None


Watch = Callable[[Progress], None]


@dataclasses.dataclass
class Run:
    """One training run: its recipe, its data and its folder."""

    recipe: Recipe
    folder: Path
    rows: Rows
    validation: list[str]
    tokenizer: Tokenizer
    facts: dict[str, Any]
    """What is written into `config.json` beside the recipe: where the data came from, counts."""

    @property
    def steps(self) -> int:
        """Steps in all."""
        t = self.recipe.train
        return t.steps if t.steps is not None else max(1, round(t.epochs * self.rows.steps_per_epoch))


def train(run: Run, *, resume: bool = False, watch: Watch | None = None) -> "HookedTransformer":
    """Train the run to its end and write it as a model; returns the model.

    With `resume`, goes on from the newest whole checkpoint, or begins where there is none yet; a run that has all its
    steps is only written again. Ctrl-C and SIGTERM save a checkpoint first and raise
    `Interrupted`. A loss that is not finite stops the run with ValueError, the last good checkpoint kept.
    """
    recipe, settings = run.recipe, run.recipe.train
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = models.build(recipe.spec(run.tokenizer.size), seed=recipe.seed, tokenizer=run.tokenizer)
    model.to(device, print_details=False)
    optimizer = optimizers.make(model, recipe.optimizer)
    _sweep(run.folder)
    step, tokens = _restore(run, model, optimizer) if resume else (0, 0)
    step_once = _step_function(run, model, optimizer, device)
    meter = _Meter(tokens)
    metrics = run.folder / checkpoints.METRICS
    _forget_after(metrics, step)
    with _interruptible() as stopped, metrics.open("a", encoding="utf-8") as log:
        last: Loss | None = None
        for rows in prefetch(run.rows, step, run.steps):
            meter.waited()
            train_loss, grad_norm, rate = step_once(rows, step)
            step += 1
            meter.stepped(rows.shape[0] * (rows.shape[1] - 1), train_loss)
            ends, stop = step == run.steps, stopped()
            looks = step % settings.validate_every == 0 or ends or stop
            saves = step % settings.checkpoint_every == 0 or ends or stop
            if looks or saves:
                _refuse_nonfinite(run, meter.loss, step)
            if looks:
                last = loss(model, run.validation, precision=settings.precision)
                record = meter.record(step, rate, float(grad_norm)) | {
                    "validation_loss": last.nats_per_token,
                    "bits_per_byte": last.bits_per_byte,
                }
                log.write(json.dumps(record) + "\n")
                log.flush()
                meter.restart()
            if watch is not None:
                seen = None if last is None else last.nats_per_token
                watch(Progress(step, run.steps, meter.tokens, meter.shown, meter.speed, seen))
            if saves:
                _save(run, model, optimizer, step, meter.tokens, last)
            if stop and not ends:
                raise Interrupted(f"stopped at step {step}, saved. To go on: tslens train --resume {run.folder.name}")
    if last is None:  # resumed with all its steps made
        last = loss(model, run.validation, precision=settings.precision)
    checkpoints.write(run.folder, _config(run, step, meter.tokens, last), models.weights(model))
    model.to("cpu", print_details=False)
    return model


def _step_function(
    run: Run, model: "HookedTransformer", optimizer: torch.optim.Optimizer, device: torch.device
) -> Callable[[torch.Tensor, int], tuple[torch.Tensor, torch.Tensor, float]]:
    """One optimiser step on a batch: its mean loss (not yet read from the device), gradient norm and rate."""
    settings, dtype = run.recipe.train, forward.precision(run.recipe.train.precision, device)
    objective = OBJECTIVES[run.recipe.objective]()
    compute = torch.compile(objective.__call__) if settings.compile else objective
    trained = [p for p in model.parameters() if p.requires_grad]

    def step_once(rows: torch.Tensor, step: int) -> tuple[torch.Tensor, torch.Tensor, float]:
        rate = optimizers.learning_rate(run.recipe.optimizer, step, run.steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        rows = rows.to(device, non_blocking=True)
        total = torch.zeros((), device=device)
        predictions = rows.shape[0] * (rows.shape[1] - 1)
        for part in rows.split(settings.micro_batch or rows.shape[0]):
            summed, _ = compute(model, part, dtype)
            (summed / predictions).backward()
            total += summed.detach()
        grad_norm = torch.nn.utils.clip_grad_norm_(trained, run.recipe.optimizer.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total / predictions, grad_norm, rate

    return step_once


class _Meter:
    """Tokens, speed, and the mean training loss since the last record."""

    def __init__(self, tokens: int) -> None:
        self.tokens, self.waiting = tokens, 0.0
        self.shown = math.nan
        self.recent: deque[tuple[int, float]] = deque(maxlen=20)
        self.at = time.perf_counter()
        self.restart()

    def restart(self) -> None:
        self.sum, self.n, self.since, self.waiting = torch.zeros(()), 0, self.tokens, 0.0
        self.began = self.at = time.perf_counter()

    def waited(self) -> None:
        now = time.perf_counter()
        self.waiting += now - self.at
        self.at = now

    def stepped(self, tokens: int, train_loss: torch.Tensor) -> None:
        self.tokens += tokens
        self.recent.append((tokens, time.perf_counter() - self.at))
        self.sum = self.sum.to(train_loss.device) + train_loss
        self.n += 1
        self.at = time.perf_counter()
        if self.n % 10 == 1:
            self.shown = float(train_loss)

    @property
    def loss(self) -> float:
        return float(self.sum) / max(1, self.n)

    @property
    def speed(self) -> float:
        """Tokens per second over the last steps, validation and checkpoints left out."""
        spans = list(self.recent)
        return sum(n for n, _ in spans) / max(1e-9, sum(s for _, s in spans))

    def record(self, step: int, rate: float, grad_norm: float) -> dict[str, float]:
        seconds = max(1e-9, time.perf_counter() - self.began)
        return {
            "step": step,
            "tokens": self.tokens,
            "train_loss": self.loss,
            "learning_rate": rate,
            "gradient_norm": grad_norm,
            "tokens_per_second": (self.tokens - self.since) / seconds,
            "waiting_share": self.waiting / seconds,
        }


def _refuse_nonfinite(run: Run, value: float, step: int) -> None:
    if not math.isfinite(value):
        raise ValueError(
            f"The loss was {value} before step {step}. Lower optimizer.lr (now {run.recipe.optimizer.lr}); "
            f"the last good checkpoint is kept in {run.folder}/checkpoints."
        )


def _config(run: Run, step: int, tokens: int, last: Loss | None) -> dict[str, Any]:
    measured = {} if last is None else {"validation_loss": last.nats_per_token, "bits_per_byte": last.bits_per_byte}
    return {
        "name": run.folder.name,
        "spec": run.recipe.spec(run.tokenizer.size).to_dict(),
        "tokenizer": run.tokenizer.hash,
        "recipe": run.recipe.to_dict(),
        "data": run.facts,
        "step": step,
        "steps": run.steps,
        "tokens": tokens,
        **measured,
    }


# Checkpoints: a folder step-000123 appears whole or not at all.


def _save(
    run: Run, model: "HookedTransformer", optimizer: torch.optim.Optimizer, step: int, tokens: int, last: Loss | None
) -> None:
    home = run.folder / "checkpoints"
    home.mkdir(parents=True, exist_ok=True)
    scratch, target = home / f".step-{step:06d}.{os.getpid()}.tmp", home / f"step-{step:06d}"
    try:
        state = _optimizer_tensors(model, optimizer)
        digest = checkpoints.write_tensors(scratch / "optimizer.safetensors", state)
        config = _config(run, step, tokens, last) | {"optimizer_sha256": digest}
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
    for old in _steps(run.folder)[run.recipe.train.keep :]:
        shutil.rmtree(old)


def _steps(folder: Path) -> list[Path]:
    """The run's checkpoints, newest first."""
    found = [place for place in (folder / "checkpoints").glob("step-*") if place.name[5:].isdigit()]
    return sorted(found, key=lambda place: int(place.name[5:]), reverse=True)


def _sweep(folder: Path) -> None:
    """Remove what a kill left half written."""
    for scratch in (folder / "checkpoints").glob(".step-*.tmp"):
        shutil.rmtree(scratch)
    for scratch in folder.glob(".*.tmp"):
        scratch.unlink()


def _optimizer_tensors(model: "HookedTransformer", optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    names = {p: n for n, p in model.named_parameters()}
    return {f"{names[p]}/{key}": value for p, state in optimizer.state.items() for key, value in state.items()}


def _restore(run: Run, model: "HookedTransformer", optimizer: torch.optim.Optimizer) -> tuple[int, int]:
    """Load the newest checkpoint that is whole; returns its step and tokens, (0, 0) where there is none yet."""
    faults = []
    for place in _steps(run.folder):
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


def _forget_after(metrics: Path, step: int) -> None:
    """Drop records of steps that the checkpoint does not have: they will be made again."""
    kept = [record for record in checkpoints.read_metrics(metrics.parent) if record["step"] <= step]
    with checkpoints.atomic(metrics) as file:
        file.writelines(json.dumps(record) + "\n" for record in kept)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C and SIGTERM only ask to stop; a second Ctrl-C stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(number: int, frame: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
