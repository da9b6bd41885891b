"""What changed in a model is seen, at no cost worth naming."""

import copy
import cProfile
import dataclasses
import math
import pstats
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tslens import models
from tslens.errors import InputError
from tslens.models import HookedSpec, Spec, validation
from tslens.models.record import record_of

LLAMA = Spec(24, 2, 6, d_vocab=300, n_ctx=16, style="llama", n_key_value_heads=2, rotary_adjacent=True)


def slow(model: Any) -> HookedSpec:
    """The spec of a model that the fast forward does not cover."""
    spec = models.spec_of(model)
    assert isinstance(spec, HookedSpec)
    return spec


def test_what_was_written_into_a_bias_is_seen() -> None:
    """A model that stops being what its spec says takes the slow path, and the fast one again once it is mended."""
    model = models.build(LLAMA)
    assert models.spec_of(model) == LLAMA
    with torch.no_grad():
        model.blocks[0].mlp.b_out[0] = 1.0
    assert "blocks.0.mlp.b_out" in slow(model).because[0]
    assert "blocks.0.mlp.b_out" in slow(model).because[0]  # and stays on it
    model.blocks[0].mlp.b_out.data.zero_()  # past autograd
    assert models.spec_of(model) == LLAMA


def test_where_values_are_not_read_only_a_write_past_autograd_is_unseen() -> None:
    """As on an accelerator, which is imitated by leaving no bias to read."""
    model = models.build(LLAMA)
    bias = model.unembed.b_U
    bias.data[0] = 1.0
    assert "unembed.b_U" in slow(model).because[0]
    bias.data[0] = 0.0
    assert models.spec_of(model) == LLAMA
    record_of(model).checked.flat.clear()
    bias.data[0] = 1.0
    assert models.spec_of(model) == LLAMA  # the gap that the documentation names
    with torch.no_grad():
        bias[0] = 2.0
    assert "unembed.b_U" in slow(model).because[0]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_weights_that_diverge_after_the_first_look_are_refused(value: float) -> None:
    own = models.build(LLAMA)
    for model in (own, copy.deepcopy(own)):
        models.spec_of(model)
        weight = model.blocks[1].mlp.W_in
        before = weight[0, 0].item()
        weight.data[0, 0] = value  # past autograd
        models.spec_of(model)  # training watches its weights itself
        for _ in range(2):
            with torch.no_grad(), pytest.raises(InputError, match=r"blocks\.1\.mlp\.W_in holds numbers that are not"):
                models.spec_of(model)
        with torch.no_grad():
            weight[0, 0] = before
            assert models.spec_of(model) == LLAMA


def test_on_an_accelerator_weights_are_read_again_only_if_they_were_written_to() -> None:
    model = models.build(LLAMA).to("meta")  # which has no values to read
    record, written = record_of(model), [(p.data_ptr(), p._version) for p in model.parameters()]
    record.written = written
    with torch.no_grad():
        validation._refuse_divergence(model, record, [dict(model.named_parameters())])
    with torch.no_grad(), pytest.raises(Exception, match="meta"):
        model.embed.W_E.zero_()
        validation._refuse_divergence(model, record, [dict(model.named_parameters())])


class _Operations(TorchDispatchMode):
    """Within, counts what is computed of tensors."""

    n = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None) -> Any:
        self.n += 1
        return operation(*args, **(kwargs or {}))


def looked_at(n_layers: int) -> tuple[int, int]:
    """The modules of a model, and the calls that looking at it makes once it is known."""
    model = models.build(dataclasses.replace(LLAMA, n_layers=n_layers))
    models.spec_of(model)
    profile = cProfile.Profile()
    profile.runcall(models.spec_of, model)
    with _Operations() as operations:
        models.spec_of(model)
    assert operations.n == 3 < len(record_of(model).checked.frozen)
    return len(list(model.modules())), pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


def test_looking_at_a_model_is_cheap() -> None:
    """It happens at every forward pass: four calls for each module, where reading the spec anew makes 27, and all
    frozen biases are joined, compared with zero, and one number is read."""
    (few, calls), (many, more) = looked_at(1), looked_at(3)
    assert 0 < (more - calls) / (many - few) <= 4.2


def test_good_weights_are_loaded_into_a_model_whatever_it_held() -> None:
    """One that diverged, and one that was built for loading, with gradients off."""
    spec = Spec(16, 1, 2, d_vocab=300, n_ctx=32)
    good, diverged, empty = models.build(spec, seed=1), models.build(spec, seed=0), models.build(spec, seed=None)
    held = models.weights(good)
    assert not any(models.weights(empty)[name].any() for name in held if "W_" in name)
    models.spec_of(diverged)
    with torch.no_grad():
        diverged.blocks[0].mlp.W_in[0, 0] = float("nan")
        for model in (diverged, empty):
            models.load_weights(model, held)
            assert all(torch.equal(own, held[name]) for name, own in models.weights(model).items())
