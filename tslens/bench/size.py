"""What is everything measured on? Shapes, batches and corpora, the same for both sides of a comparison."""

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from tslens.models import Spec, build
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass(frozen=True)
class Size:
    """How big the measured things are; the defaults are what the targets are about."""

    repeats: int = 6
    shape: str = "256x8"
    vocabulary: int = 4096
    learnt: int = 2_000
    """stories that the tokenizer learns from"""
    context: int = 256
    batch: int = 16
    """rows of a training step and of generation"""
    compiled: bool = True
    """whether a peer that may be compiled is"""
    trained_shape: str = "128x4"
    """that a whole run trains"""
    saved_shape: str = "512x12"
    """whose saved bytes are counted"""
    saved_context: int = 512
    prompt: int = 16
    new_tokens: int = 100
    scanned: int = 300
    """stories of a timed scan"""
    flat_shape: str = "32x2"
    """whose scan's memory is watched"""
    flat_vocabulary: int = 512
    flat: int = 260
    """stories of its shorter corpus; the longer one has ten times as many"""
    packed: int = 4_000
    """stories that are packed"""
    made: int = 10_000
    """stories that are made, and looked through for duplicates"""
    compared: int = 1_000
    """stories each of which is held against all the others"""
    tagged: int = 100
    """stories whose words are tagged against the clock"""
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
    """Stories of the embedded generator."""
    return tuple(made.text for made in generate(n))


@cache
def tokenizer(size: Size) -> Tokenizer:
    """Learnt from some of them; smaller than asked for where they do not fill it."""
    return Tokenizer.train(corpus(size.learnt), size.vocabulary)


def random_tokens(rows: int, length: int, vocabulary: int) -> torch.Tensor:
    """Tokens without meaning, `[rows, length]`: what a matrix product costs does not depend on it."""
    return torch.randint(vocabulary, (rows, length), generator=torch.Generator().manual_seed(0))


def hooked(spec: Spec) -> "LanguageModel":
    """A model of ours."""
    return build(spec)


def stock(spec: Spec) -> "LanguageModel":
    """The HookedTransformer that ours is held against: the same weights, each parameter stored as TransformerLens
    itself stores it, on which its own forward is a little faster than on our layout."""
    model = build(spec)
    for parameter in model.parameters():
        parameter.data = parameter.data.contiguous()
    return model


def gpt2(spec: Spec) -> Any:
    """transformers' GPT2LMHeadModel of the same shape: tied, fused attention, no dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    shape: dict[str, Any] = {
        "vocab_size": spec.d_vocab,
        "n_positions": spec.n_ctx,
        "n_embd": spec.d_model,
        "n_layer": spec.n_layers,
        "n_head": spec.n_heads,
        "n_inner": spec.mlp_width,
        "tie_word_embeddings": True,
        "attn_implementation": "sdpa",
        "bos_token_id": 0,
        "eos_token_id": None,
    }
    return GPT2LMHeadModel(GPT2Config(**shape)).eval()
