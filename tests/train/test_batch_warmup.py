"""Batches grow by quarters, no row is left out or seen twice, and a run that grows goes on bit for bit."""

from collections.abc import Callable

import pytest
import torch

from tslens import runs
from tslens.train import recipe as recipes
from tslens.train.batch_warmup import GrowingBatches, quarters_before
from tslens.train.data import TrainingBatch, concatenate


class Counted:
    """Whose batch number `step` is the row `[step]`."""

    def __init__(self, steps_per_epoch: int) -> None:
        self.steps_per_epoch = steps_per_epoch

    def batch(self, step: int) -> TrainingBatch:
        return TrainingBatch(torch.tensor([[step]]), torch.tensor([[step % 2 == 0]]))

    def facts(self) -> dict[str, int]:
        return {"training_stories": 7}


def test_quarters_by_hand() -> None:
    grown = GrowingBatches(Counted(40), steps=6)
    assert [grown.size(step) for step in range(8)] == [1, 1, 2, 2, 3, 3, 4, 4]
    rows = [grown.batch(step).tokens.flatten().tolist() for step in range(8)]
    assert rows[:4] == [[0], [1], [2, 3], [4, 5]] and [row for step in rows for row in step] == list(range(20))
    assert grown.facts() == {"training_stories": 7}


@pytest.mark.parametrize(("quarters", "steps"), [(1, 1), (3, 3), (12, 6), (13, 7), (16, 7), (17, 8), (40, 13)])
def test_an_epoch_has_as_many_steps_as_its_quarters_need(quarters: int, steps: int) -> None:
    grown = GrowingBatches(Counted(quarters), steps=6)
    assert grown.steps_per_epoch == steps
    assert quarters_before(steps, 6) >= quarters > quarters_before(steps - 1, 6)


def test_parts_are_joined_with_all_that_they_say() -> None:
    whole = concatenate([Counted(9).batch(0), Counted(9).batch(1)])
    assert whole.tokens.tolist() == [[0], [1]] and whole.predicted is not None
    assert whole.predicted.tolist() == [[True], [False]] and whole.group == 1
    tokens = torch.zeros(3, 2, dtype=torch.long)
    whole = concatenate([TrainingBatch(tokens, group=3), TrainingBatch(tokens, group=3)])
    assert whole.tokens.shape == (6, 2) and whole.predicted is None and whole.group == 3


@pytest.mark.thorough
def test_a_run_that_grows_goes_on_bit_for_bit(goes_on: Callable[..., None]) -> None:
    """Killed while it grows, in pieces of two rows, of which a batch has one at first and four in the end."""
    grows = {"train.batch": "8", "train.batch_warmup": "9", "train.micro_batch": "2", "train.dropout": "0.1"}
    goes_on(after=7, **grows, **{"train.steps": "10"})
    quarters = sum([1, 1, 1, 2, 2, 2, 3, 3, 3, 4])
    assert runs.read_metrics(runs.run_folder("whole"))[-1]["tokens"] == quarters * 2 * 32


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"train.batch_warmup": "-1"}, "batch_warmup is -1; it must be 0 or more steps"),
        ({"train.batch_warmup": "5", "train.batch": "6"}, "batch is 6; to grow by quarters .* a multiple of 4"),
        ({"train.batch_warmup": "5", "train.batch": "6", "objective": "contrastive"}, "a multiple of 12"),
    ],
)
def test_what_is_refused(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipes.load("16x1x2", overrides)


@pytest.mark.parametrize("length", [{"train.steps": "5"}, {"train.epochs": "0.2"}])
@pytest.mark.thorough
def test_a_batch_that_would_never_be_whole(in_tmp, run_of, length: dict[str, str]) -> None:
    steps = run_of("whole", **length).steps
    with pytest.raises(ValueError, match="batch_warmup is 400 steps, of a run of .*never reach full size"):
        run_of("never", **{"train.batch": "8", "train.batch_warmup": "400"}, **length)
    with pytest.raises(ValueError, match="never reach full size"):
        run_of("equal", **{"train.batch": "8", "train.batch_warmup": "5", "train.steps": "5"})
    assert steps and sorted(path.name for path in (in_tmp / "runs").iterdir()) == ["whole"]
