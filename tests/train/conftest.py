"""Runs that take seconds, what becomes of one that is stopped, and how far two lie apart."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import runs
from tslens.interrupt import Interrupted
from tslens.train import recipe as recipes
from tslens.train import session
from tslens.train.position import Position, Watch
from tslens.train.run import Run

TIMES = ("tokens_per_second", "waiting_share", "validation_seconds", "checkpoint_seconds", "drawing_seconds")


@pytest.fixture
def small() -> dict[str, str]:
    """What makes a recipe small: 12 steps, with checkpoints after 5 and 10."""
    return {
        "data.limit": "400",
        "data.vocabulary": "300",
        "model.n_ctx": "32",
        "train.batch": "4",
        "train.steps": "12",
        "train.validate_every": "6",
        "train.checkpoint_every": "5",
        "train.validation_stories": "4",
        "train.precision": '"float32"',
    }


@pytest.fixture
def run_of(in_tmp: Path, small: dict[str, str]) -> Callable[..., Run]:
    """`run_of(NAME)` prepares a small run; further settings by their keys, or another shape."""

    def made(name: str, shape: str = "16x1x2", **more: str) -> Run:
        return session.prepare(recipes.load(shape, small | more), name)

    return made


@pytest.fixture
def train_of(in_tmp: Path, small: dict[str, str]) -> Callable[..., session.Trained]:
    """`train_of(NAME)` trains a small run to its end; further settings by their keys, or another shape."""

    def made(name: str, shape: str = "16x1x2", watch: Watch | None = None, **more: str) -> session.Trained:
        return session.train(recipes.load(shape, small | more), name, watch=watch)

    return made


class Killed(BaseException):
    """What ends a run at once, with nothing saved."""


@pytest.fixture
def records() -> Callable[[Path], list[dict[str, Any]]]:
    """`records(FOLDER)`: what a run's metrics say, but for the times that it took."""

    def of(folder: Path) -> list[dict[str, Any]]:
        found = runs.read_metrics(folder)
        return [{key: value for key, value in record.items() if key not in TIMES} for record in found]

    return of


@pytest.fixture
def goes_on(run_of: Callable[..., Run], records: Callable[[Path], list[Any]]) -> Callable[..., None]:
    """`goes_on(after=STEP)`: a run `cut`, killed there and gone on with from its last checkpoint, ends in the bits and
    the records of the run `whole`. With `by=SIGNAL` it is asked to stop, as it does after the next step, saved."""

    def check(*, after: int, by: signal.Signals | None = None, **more: str) -> None:
        def stop(at: Position) -> None:
            torch.rand(at.step)  # whatever else is drawn has no part in it
            if at.step == after and by is None:
                raise Killed
            if at.step == after and by is not None:
                os.kill(os.getpid(), by)

        run = run_of("whole", **more)
        whole, cut = run.folder, runs.run_folder("cut")
        shutil.copytree(whole, cut)
        session.resume(run.folder.name)
        with pytest.raises(Killed if by is None else Interrupted) as ended:
            session.resume("cut", watch=stop)
        assert by is None or "tslens train --resume cut" in str(ended.value)
        assert not (cut / "config.json").exists()
        lost = after % run.recipe.train.checkpoint_every
        newest = runs.step_of(runs.steps(cut / "checkpoints")[0])
        assert lost and newest == (after + 1 if by else after - lost)
        session.resume("cut")
        assert (whole / "model.safetensors").read_bytes() == (cut / "model.safetensors").read_bytes()
        assert records(whole) == records(cut)
        assert runs.read_metrics(whole, runs.STEPS) == runs.read_metrics(cut, runs.STEPS)

    return check


@pytest.fixture
def largest_difference() -> Callable[[str, str], float]:
    """`largest_difference(RUN, OTHER)` of any two of their weights."""

    def between(one: str, other: str) -> float:
        a, b = (runs.read(runs.run_folder(name))[1] for name in (one, other))
        assert a.keys() == b.keys()
        return max(float((a[name] - b[name]).abs().max()) for name in a)

    return between
