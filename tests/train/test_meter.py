"""Where the time of a run goes, by a clock that the test turns."""

import pytest
import torch

from tslens.train import meter as metering
from tslens.train.distributed import World
from tslens.train.meter import Meter


class Clock:
    now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(metering, "time", made)
    return made


def step(meter, clock, waits, computes, loss, tokens=10):
    clock.now += waits
    meter.batch_ready()
    clock.now += computes
    meter.step_done(tokens, {"train_loss": torch.tensor(loss), "gap": torch.tensor(1.0)})


def test_waiting_is_a_share_of_training_and_validation_has_its_own_time(clock):
    meter = Meter()
    step(meter, clock, 1.0, 3.0, 4.0)
    with meter.excluding("checkpoint"):
        clock.now += 50
    step(meter, clock, 0.5, 3.5, 2.0)
    record = meter.record(meter.read())
    assert record == {
        "tokens": 20, "train_loss": 3.0, "gap": 1.0, "tokens_per_second": 20 / 8, "waiting_share": 1.5 / 8,
        "checkpoint_seconds": 50,
    }  # fmt: skip
    with meter.excluding("validation"):
        clock.now += 30
    step(meter, clock, 0.0, 2.0, 1.0)
    assert meter.speed == pytest.approx(30 / 10)
    record = meter.record(meter.read())
    assert (record["train_loss"], record["waiting_share"], record["validation_seconds"]) == (1.0, 0.0, 30)
    assert record["tokens_per_second"] == 5 and "checkpoint_seconds" not in record


def test_a_meter_goes_on_from_where_another_was(clock):
    meter, other = Meter(), Meter()
    for loss in (0.1, 0.2):
        step(meter, clock, 0.0, 1.0, loss)
    other.resume(meter.tokens, meter.n, meter.read())
    for each in (meter, other):
        step(each, clock, 0.0, 1.0, 0.7)
    assert meter.read() == other.read() and other.tokens == 30
    assert meter.record(meter.read())["train_loss"] == other.record(other.read())["train_loss"]
    assert Meter().read() == {}


def test_of_several_processes_the_first_alone_goes_on_with_the_sums():
    cpu = torch.device("cpu")
    sums = []
    for rank in range(2):
        meter = Meter(World(rank, 2, cpu))
        meter.resume(20, 2, {"train_loss": 3.5})
        sums.append(float(meter.sums["train_loss"]))
    assert sums == [3.5, 0.0]


def test_the_shown_loss_is_the_whole_one(clock):
    meter = Meter(World(0, 4, torch.device("cpu")))
    step(meter, clock, 0.0, 1.0, 0.5)
    assert meter.shown == 2.0
