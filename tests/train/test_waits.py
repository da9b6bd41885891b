"""A step never asks the device for a value, and what it computes lies ready in memory that the device can fetch."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tslens.train import optimizer as optimizers
from tslens.train.data import TrainingBatch, prefetch
from tslens.train.distributed import World
from tslens.train.meter import Meter
from tslens.train.saving import TrainingState
from tslens.train.step import step_function

WAITS = {
    "_local_scalar_dense",
    "nonzero",
    "masked_select",
    "_unique2",
    "equal",
}  # what a host cannot know without asking


class Asked(TorchDispatchMode):
    """The operations that make a host wait for its device, wherever they are computed."""

    def __init__(self):
        super().__init__()
        self.found, self.count = [], 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        if (name := function.overloadpacket.__name__) in WAITS:
            self.found.append(name)
        return function(*args, **kwargs or {})


def test_what_is_watched_for_is_seen():
    with Asked() as asked:
        float(torch.ones(3).sum())
    assert asked.found == ["_local_scalar_dense"]


@pytest.mark.parametrize("method", [pytest.param("adamw", marks=pytest.mark.thorough), "muon"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"train.micro_batch": "2", "train.dropout": "0.1"},
        {"objective.name": "contrastive", "train.batch": "6"},
        {"objective.name": "instruct", "data.source": "made:instruct", "model.n_ctx": "200"},
        {"objective.name": "compressor"},
    ],
    ids=["plain", "pieces", "contrastive", "instruct", "compressor"],
)
def test_a_step_asks_the_device_for_nothing(run_of, monkeypatch, method, more):
    run = run_of("a", shape="16x3x2", **{"optimizer.method": method, "optimizer.lr": "1e-3"}, **more)
    recipe, world = run.recipe, World()
    model = recipe.objective.build(recipe.spec(run.tokenizer.size), seed=0, tokenizer=run.tokenizer)
    state = TrainingState(model, optimizers.make(model, recipe.optimizer), Meter(world))
    step = step_function(recipe, run.steps, world, state)
    step(run.rows.batch(0))  # the optimizer makes its state
    # Two things are read on a CPU alone: whether frozen biases were written to, and the batch's own mask, on the host.
    monkeypatch.setattr("tslens.models.validation._written", lambda memory: False)
    batch = run.rows.batch(1)
    monkeypatch.setattr(TrainingBatch, "predictions", batch.predictions)
    with Asked() as asked:
        step(batch)
    assert asked.count > 50 and asked.found == []


def test_batches_are_pinned_where_there_is_a_gpu(run_of, monkeypatch):
    pinned = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: pinned.append(self.shape) or self)
    rows = run_of("a").rows
    assert [tuple(batch.tokens.shape) for batch in prefetch(rows, 0, 3)] == pinned == [(4, 33)] * 3
