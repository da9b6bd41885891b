"""The shapes that models are tested on, and tokens that fit them."""

import pytest
import torch

from tslens.models import Spec

SPECS = [
    Spec(24, 2, 3, d_vocab=300, n_ctx=16),
    Spec(24, 2, 3, d_vocab=300, n_ctx=16, tied=False, d_mlp=20),
    Spec(24, 2, 3, d_vocab=300, n_ctx=16, scaled=False, window=4, local_layers=(1,)),
    Spec(24, 2, 6, d_vocab=300, n_ctx=16, style="llama", n_key_value_heads=2, rotary_adjacent=True),
    Spec(24, 2, 3, d_vocab=300, n_ctx=16, style="llama", tied=False),
]


def named(spec: Spec) -> str:
    """What a test's id calls it: `gpt2-untied`, `gpt2-tied-local`."""
    return f"{spec.style}-{'tied' if spec.tied else 'untied'}{'-local' if spec.local_layers else ''}"


@pytest.fixture(params=SPECS, ids=named)
def spec(request: pytest.FixtureRequest) -> Spec:
    return request.param


@pytest.fixture(params=[spec for spec in SPECS if spec.tied], ids=named)
def tied_spec(request: pytest.FixtureRequest) -> Spec:
    return request.param


@pytest.fixture
def rows() -> torch.Tensor:
    """Two rows of tokens, [2, 16]."""
    return torch.randint(0, 300, (2, 16), generator=torch.Generator().manual_seed(1))
