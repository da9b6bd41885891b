"""The learning rate by hand, which parameters decay, and Muon on the matrices that TransformerLens keeps by head."""

import itertools
import math

import pytest
import torch

from tslens import forward
from tslens.models import Spec, build
from tslens.train import optimizer as optimizers
from tslens.train.optimizer import OptimizerSettings, as_matrix, learning_rate, make, set_rate

GROUPED = Spec(24, 1, 6, d_vocab=50, n_ctx=16, style="llama", n_key_value_heads=2)


def rates(steps: int, **settings) -> list[float]:
    return [learning_rate(OptimizerSettings(lr=1.0, **settings), step, steps) for step in range(steps)]


def test_the_rate_warms_up_and_decays_to_its_share():
    found = rates(100, warmup=0.1, min_lr_ratio=0.1)
    assert found[0] == pytest.approx(0.1) and found[9] == pytest.approx(1.0)
    assert found[10] == pytest.approx(1.0) and found[55] == pytest.approx(0.55)
    assert found[-1] == pytest.approx(0.1, abs=1e-3)
    assert all(a >= b for a, b in itertools.pairwise(found[9:]))


@pytest.mark.parametrize(("schedule", "middle"), [("constant", 1.0), ("linear", 0.55), ("wsd", 1.0)])
def test_other_schedules(schedule, middle):
    assert rates(100, warmup=0.1, min_lr_ratio=0.1, schedule=schedule)[55] == pytest.approx(middle)


def test_warm_up_stable_decay_by_hand():
    found = rates(10, warmup=0.2, decay=0.4, min_lr_ratio=0.2, schedule="wsd")
    assert found == pytest.approx([0.5, 1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"momentum": 1.0}, "momentum is 1.0; it must be 0 or more and below 1"),
        ({"adamw_lr_scale": 0.0}, "optimizer.adamw_lr_scale is 0.0; it must be a finite number above 0"),
        ({"decay": 1.5}, "decay is 1.5; it must be between 0 and 1"),
        ({"schedule": "wsd", "warmup": 0.5, "decay": 0.6}, "together they can be 1 at most"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        OptimizerSettings(**settings)


def test_matrices_decay_and_nothing_else_does():
    model = build(Spec(16, 1, 2, d_vocab=11, n_ctx=8))
    decayed, kept = (group["params"] for group in make(model, OptimizerSettings()).param_groups)
    names = {p: n for n, p in model.named_parameters()}
    assert {names[p].split(".")[-1] for p in decayed} == {"W_E", "W_Q", "W_K", "W_V", "W_O", "W_in", "W_out"}
    assert len(decayed) + len(kept) == sum(p.requires_grad for p in model.parameters())


def test_muon_moves_the_matrices_of_the_blocks_and_adamw_the_rest():
    model = build(Spec(16, 1, 2, d_vocab=11, n_ctx=8))
    names = {p: n.split(".")[-1] for n, p in model.named_parameters()}
    muon, decayed, kept = (group["params"] for group in make(model, OptimizerSettings(method="muon")).param_groups)
    assert {names[p] for p in muon} == {"W_Q", "W_K", "W_V", "W_O", "W_in", "W_out"}
    assert {names[p] for p in decayed} == {"W_E"}
    assert len(muon) + len(decayed) + len(kept) == sum(p.requires_grad for p in model.parameters())


def test_the_rest_has_a_rate_of_its_own():
    optimizer = make(build(Spec(16, 1, 2, d_vocab=11, n_ctx=8)), OptimizerSettings(method="muon", adamw_lr_scale=0.25))
    set_rate(optimizer, 0.4)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.4, 0.1, 0.1])


def test_heads_lie_side_by_side_in_the_matrix_that_moves():
    q, o = torch.arange(12.0).view(2, 3, 2), torch.arange(12.0).view(2, 2, 3)
    assert as_matrix("W_Q", q).tolist() == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    assert as_matrix("W_O", o).tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@pytest.mark.parametrize("spec", [Spec(24, 1, 4, d_vocab=50, n_ctx=16), GROUPED], ids=["gpt2", "llama"])
@pytest.mark.parametrize("at_once", [False, True])
def test_every_matrix_moves_as_torch_moves_it_alone(spec, at_once, monkeypatch):
    """Also where matrices of one shape are orthogonalized at once, as on a GPU: up to the rounding of bfloat16."""
    monkeypatch.setattr(optimizers, "together", lambda named: at_once)
    model = build(spec)
    optimizer = make(model, OptimizerSettings(method="muon", weight_decay=0.1))
    names = {p: n for n, p in model.named_parameters()}
    parameters = {names[p]: p for p in optimizer.param_groups[0]["params"]}
    alone = {n: as_matrix(n, p.detach()).clone().requires_grad_() for n, p in parameters.items()}
    began = {n: matrix.detach().clone() for n, matrix in alone.items()}
    by_torch = torch.optim.Muon(alone.values(), lr=1e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for seed in range(2):
        optimizer.zero_grad()
        total, _ = forward.loss(model, torch.randint(50, (4, 17), generator=torch.Generator().manual_seed(seed)))
        total.backward()
        for name, p in parameters.items():
            assert p.grad is not None
            alone[name].grad = as_matrix(name, p.grad).clone()
        set_rate(optimizer, 1e-2)
        optimizer.step()
        by_torch.step()
    for name, p in parameters.items():
        ours, theirs = as_matrix(name, p.detach()), alone[name].detach()
        assert (ours - theirs).norm() <= (5e-3 if at_once else 0.0) * (theirs - began[name]).norm(), name


def test_muon_moves_in_every_direction_alike():
    """All singular values of a step are about 0.2 of the rate times the root of the longer side, whatever the gradient:
    five Newton-Schulz iterations bring them to between 0.7 and 1.2 (Jordan et al. 2024)."""
    model = build(Spec(24, 1, 4, d_vocab=50, n_ctx=16))
    optimizer = make(model, OptimizerSettings(method="muon", weight_decay=0.0))
    names = {p: n for n, p in model.named_parameters()}
    before = {p: p.detach().clone() for p in optimizer.param_groups[0]["params"]}
    for p in before:
        p.grad = torch.randn_like(p) * torch.logspace(-1, 0, p.shape[-1])
    set_rate(optimizer, 1e-2)
    optimizer.step()
    for p, start in before.items():
        step = as_matrix(names[p], p.detach() - start)
        sizes = torch.linalg.svdvals(step) / (0.2 * 1e-2 * math.sqrt(max(step.shape)))
        assert sizes.min() > 0.3 and sizes.max() < 1.5, names[p]


@pytest.mark.thorough
def test_a_run_with_muon_goes_on_bit_for_bit(goes_on):
    goes_on(after=7, **{"optimizer.method": "muon", "train.micro_batch": "2", "train.dropout": "0.1"})
