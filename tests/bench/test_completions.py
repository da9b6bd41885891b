"""Both sides of the benchmark of completions have the same weights and stop where they should."""

import dataclasses
from typing import Any

import pytest
import torch

from tests.bench.test_rows import TINY
from tslens import forward
from tslens.bench import completions

SMALL = dataclasses.replace(TINY, context=64, completion_tokens=20)


@pytest.fixture(scope="module")
def both() -> tuple[Any, Any]:
    return completions.models(SMALL)


def test_both_models_are_one(both: tuple[Any, Any]) -> None:
    tokens = torch.randint(SMALL.vocabulary, (2, 9))
    with torch.no_grad():
        assert torch.allclose(forward.logits(both[0], tokens), both[1](tokens).logits, atol=1e-4)


def test_the_end_of_a_story_is_as_likely_as_it_should_be(both: tuple[Any, Any]) -> None:
    tokens = torch.randint(1, SMALL.vocabulary, (8, 40))
    with torch.no_grad():
        chance = forward.logits(both[0], tokens).softmax(-1)[..., completions.STOP].mean()
    assert float(chance) == pytest.approx(1 / completions.MEAN, rel=0.5)


def test_the_row_measures() -> None:
    (row,) = completions.BENCHMARKS
    found = row.run(SMALL)
    assert found.low <= found.value <= found.high and found.theirs.endswith("batch 6")
    assert len(completions.rows(SMALL)) == 6
