"""Small compressors whose every part is felt, with a tokenizer and stories."""

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
def model(request: pytest.FixtureRequest, words: Tokenizer) -> Any:
    spec = CompressorSpec(24, 1, 2, 2, n_heads=3, d_vocab=words.size, n_ctx=32, d_encoder=request.param)
    made = models.build_compressor(spec, tokenizer=words)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return made


@pytest.fixture
def rows(words: Tokenizer) -> torch.Tensor:
    return torch.randint(words.size, (3, 32), generator=torch.Generator().manual_seed(1))
