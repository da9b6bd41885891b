"""Sizes of the benchmarks: shapes, batches and corpora, the same for both sides of a comparison."""

from dataclasses import dataclass, replace
from functools import cache

import torch

from tslens.models import Spec
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer


@dataclass(frozen=True)
class Size:
    """Sizes of the benchmarks; the targets apply to the defaults."""

    repeats: int = 6
    shape: str = "256x8"
    vocabulary: int = 4096
    learnt: int = 2_000
    """stories that the tokenizer learns from"""
    context: int = 256
    batch: int = 16
    """rows of a training step and of generation"""
    compiled: bool = True
    """whether peers that can be compiled are"""
    trained_shape: str = "128x4"
    """shape of a whole training run"""
    saved_shape: str = "512x12"
    """shape whose saved bytes are counted"""
    saved_context: int = 512
    prompt: int = 16
    new_tokens: int = 100
    completed: int = 50
    """prompts that are completed"""
    completions: int = 10
    """of each prompt"""
    completion_tokens: int = 200
    """at most, of a completion"""
    scanned: int = 300
    """stories of a timed scan"""
    flat_shape: str = "32x2"
    """shape whose scan memory is measured"""
    flat_vocabulary: int = 512
    flat: int = 260
    """stories of the shorter corpus; the longer one has ten times as many"""
    packed: int = 4_000
    """stories that are packed"""
    made: int = 10_000
    """stories that are generated and searched for duplicates"""
    compared: int = 1_000
    """stories each of which is compared with all others"""
    tagged: int = 100
    """stories of the timed tagging"""
    page_shape: str = "512x12x8"
    page_stories: int = 16
    page_tokens: int = 128

    @property
    def spec(self) -> Spec:
        """The shape that most rows are measured on."""
        return Spec.parse(self.shape, d_vocab=self.vocabulary, n_ctx=self.context)


FULL = Size()
QUICK = replace(FULL, repeats=3)


@cache
def corpus(n: int) -> tuple[str, ...]:
    """Stories from the embedded generator."""
    return tuple(made.text for made in generate(n))


@cache
def tokenizer(size: Size) -> Tokenizer:
    """A tokenizer trained on some of them; smaller than requested if they do not fill it."""
    return Tokenizer.train(corpus(size.learnt), size.vocabulary)


def random_tokens(rows: int, length: int, vocabulary: int) -> torch.Tensor:
    """Random tokens, `[rows, length]`: the cost of a matrix product does not depend on them."""
    return torch.randint(vocabulary, (rows, length), generator=torch.Generator().manual_seed(0))
