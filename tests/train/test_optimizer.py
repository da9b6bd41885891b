"""The learning rate by hand, and which parameters decay."""

import itertools

import pytest

from tslens.models import Spec, build
from tslens.train.optimizer import OptimizerSettings, learning_rate, make


def test_the_rate_warms_up_and_decays_to_its_share():
    settings = OptimizerSettings(lr=1.0, warmup=0.1, final=0.1)
    rates = [learning_rate(settings, step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[9] == pytest.approx(1.0)
    assert rates[10] == pytest.approx(1.0) and rates[55] == pytest.approx(0.55)
    assert rates[-1] == pytest.approx(0.1, abs=1e-3)
    assert all(a >= b for a, b in itertools.pairwise(rates[9:]))


@pytest.mark.parametrize(("schedule", "middle"), [("constant", 1.0), ("linear", 0.55)])
def test_other_schedules(schedule, middle):
    settings = OptimizerSettings(lr=1.0, warmup=0.1, final=0.1, schedule=schedule)
    assert learning_rate(settings, 55, 100) == pytest.approx(middle)


def test_matrices_decay_and_nothing_else_does():
    model = build(Spec(16, 1, 2, d_vocab=11, n_ctx=8))
    decayed, kept = (group["params"] for group in make(model, OptimizerSettings()).param_groups)
    names = {p: n for n, p in model.named_parameters()}
    assert {names[p].split(".")[-1] for p in decayed} == {"W_E", "W_Q", "W_K", "W_V", "W_O", "W_in", "W_out"}
    assert len(decayed) + len(kept) == sum(p.requires_grad for p in model.parameters())
