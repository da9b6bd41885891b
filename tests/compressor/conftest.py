"""Small compressors whose every part is felt, with a tokenizer and stories."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tslens import models
from tslens.models import CompressorSpec
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [made.text for made in generate(24)]


@pytest.fixture(scope="session")
def words(texts: list[str]) -> Tokenizer:
    return Tokenizer.train(texts, 300)


@pytest.fixture(params=[None, 36], ids=["shared embedding", "its own"])
def model(request: pytest.FixtureRequest, words: Tokenizer, loud: Callable[[Any], Any]) -> Any:
    spec = CompressorSpec(24, 1, 2, 2, n_heads=3, d_vocab=words.size, n_ctx=32, d_encoder=request.param)
    return loud(models.build_compressor(spec, tokenizer=words))


@pytest.fixture
def rows(words: Tokenizer) -> torch.Tensor:
    return torch.randint(words.size, (3, 32), generator=torch.Generator().manual_seed(1))
