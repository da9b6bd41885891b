"""Snapshots made by hand, and runs that take seconds."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch

from tslens.dynamics import SnapshotResult
from tslens.dynamics.snapshot import UNITS

COUNTS = ["heads with a role", "previous token heads", "part-of-speech neurons", "NOUN neurons", "one-word neurons"]
LABELS = ["NOUN", "VERB", "one word"]


@pytest.fixture(scope="session")
def snapshot() -> Callable[..., SnapshotResult]:
    """`snapshot(STEP, {SCORE: (value, low, high)})`: a snapshot of a 2x4 model with 6 neurons a layer, whose other
    scores are zero; further fields by name."""

    def made(step: int, scores: Mapping[str, Sequence[float]] | None = None, **changed: Any) -> SnapshotResult:
        names = [*UNITS, *COUNTS]
        ends = torch.zeros(3, len(names))
        for name, values in (scores or {}).items():
            ends[:, names.index(name)] = torch.tensor(values)
        lens = torch.tensor([5.0, 4.0, 3.0])
        whole = SnapshotResult(
            model=f"made@{step}",
            step=step,
            stories=30,
            scores=names,
            value=ends[0],
            low=ends[1],
            high=ends[2],
            depths=["embed", "0", "1"],
            lens=lens,
            lens_low=lens - 0.1,
            lens_high=lens + 0.1,
            role_code=torch.full((2, 4), 8),
            effect=torch.full((2, 4), float("nan")),
            measured=torch.zeros(4, 2, 4),
            labels=LABELS,
            label=torch.full((2, 6), -1),
            prompts=["", "Once"],
            texts=["A story.", "Once upon"],
        )
        return dataclasses.replace(whole, **changed)

    return made


SMALL = {
    "data.limit": "400",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "4",
    "train.steps": "3",
    "train.validate_every": "6",
    "train.checkpoint_every": "2",
    "train.validation_stories": "4",
    "train.precision": '"float32"',
}
"""What makes a recipe small: snapshots after 1 and 2 steps, and the end after 3."""


@pytest.fixture
def small() -> dict[str, str]:
    """Settings of a recipe that takes seconds."""
    return dict(SMALL)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder `runs` of two seeds, `one` and `two`, of a recipe that takes seconds."""
    from tslens.train import recipe as recipes
    from tslens.train import session

    folder = tmp_path_factory.mktemp("dynamics") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSLENS_RUNS", str(folder))
        for name, seed in (("one", "0"), ("two", "1")):
            session.train(recipes.load("16x2x2", SMALL | {"seed": seed}), name)
    return folder


@pytest.fixture
def there(trained: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """These runs are those of this folder."""
    monkeypatch.setenv("TSLENS_RUNS", str(trained))
    return trained
