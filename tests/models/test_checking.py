"""What changed in a model is seen, at no cost worth naming."""

import cProfile
import pstats
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tslens import models
from tslens.models import Spec

LLAMA = Spec(24, 2, 6, d_vocab=300, n_ctx=16, style="llama", n_key_value_heads=2, rotary_adjacent=True)


def test_what_was_written_into_a_bias_is_seen() -> None:
    """A model that stops being what its spec says is refused, and accepted again once it is mended."""
    model = models.build(LLAMA)
    assert models.spec_of(model) == LLAMA
    with torch.no_grad():
        model.blocks[0].mlp.b_out[0] = 1.0
    with pytest.raises(ValueError, match=r"blocks\.0\.mlp\.b_out"):
        models.spec_of(model)
    with torch.no_grad():
        model.blocks[0].mlp.b_out.zero_()
    assert models.parameter_shapes(models.spec_of(model)) == models.parameter_shapes(LLAMA)


def test_where_values_are_not_read_only_a_write_past_autograd_is_unseen() -> None:
    """As on an accelerator, which is imitated by leaving no bias to read."""
    model = models.build(LLAMA)
    bias = model.unembed.b_U
    bias.data[0] = 1.0
    with pytest.raises(ValueError, match=r"unembed\.b_U"):
        models.spec_of(model)
    bias.data[0] = 0.0
    models.spec_of(model)
    model.story_memory.flat.clear()
    bias.data[0] = 1.0
    models.spec_of(model)  # the gap that the documentation names
    with torch.no_grad():
        bias[0] = 2.0
    with pytest.raises(ValueError, match=r"unembed\.b_U"):
        models.spec_of(model)


class _Operations(TorchDispatchMode):
    """Within, counts what is computed of tensors."""

    n = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None) -> Any:
        self.n += 1
        return operation(*args, **(kwargs or {}))


def test_looking_at_a_model_is_cheap() -> None:
    """It happens at every forward pass: a few calls for each module, where reading the spec anew makes 27 (0.3 ms and
    2 ms on a core of its own), and one number read of all frozen biases together, joined and compared with zero."""
    model = models.build(Spec(64, 12, 4, d_vocab=4096, n_ctx=16, style="llama"))
    n_modules, profile = len(list(model.modules())), cProfile.Profile()
    profile.runcall(models.spec_of, model)
    assert 0 < pstats.Stats(profile).total_calls < 5 * n_modules  # type: ignore[attr-defined]
    with _Operations() as operations:
        models.spec_of(model)
    assert operations.n == 3 < len(model.story_memory.frozen)
