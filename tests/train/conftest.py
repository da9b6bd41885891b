"""Runs that take seconds, what becomes of one that is stopped, and how far two lie apart."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tslens import checkpoints
from tslens.train import loop
from tslens.train import recipe as recipes
from tslens.train.prepare import prepare, resume
from tslens.train.run import Run


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
        return prepare(recipes.load(shape, small | more), name, progress=False)

    return made


@pytest.fixture
def goes_on(run_of: Callable[..., Run]) -> Callable[..., None]:
    """`goes_on(SIGNAL, after=STEP)`: a run `cut`, stopped so and gone on with, ends in the bits of the run `whole`."""

    def check(stop: signal.Signals, *, after: int, **more: str) -> None:
        def send(at: loop.Progress) -> None:
            if at.step == after:
                os.kill(os.getpid(), stop)

        loop.train(run_of("whole", **more))
        with pytest.raises(loop.Interrupted, match="tslens train --resume cut"):
            loop.train(run_of("cut", **more), watch=send)
        assert not (checkpoints.run_folder("cut") / "config.json").exists()
        loop.train(resume("cut", progress=False), resume=True)
        whole, cut = (checkpoints.run_folder(name) / "model.safetensors" for name in ("whole", "cut"))
        assert whole.read_bytes() == cut.read_bytes()

    return check


@pytest.fixture
def largest_difference() -> Callable[[str, str], float]:
    """`largest_difference(RUN, OTHER)` of any two of their weights."""

    def between(one: str, other: str) -> float:
        a, b = (checkpoints.read(checkpoints.run_folder(name))[1] for name in (one, other))
        assert a.keys() == b.keys()
        return max(float((a[name] - b[name]).abs().max()) for name in a)

    return between
