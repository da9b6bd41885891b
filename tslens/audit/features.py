"""The residual stream of a planted model: what of a token and of its position is written where.

Every feature is written twice, with both signs, and has the same length for every token. So layer norm subtracts
nothing and divides every token by the same number: what a planted head computes from the embedding is exact.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.audit.vocabulary import FLAGS, NAMES, Vocabulary

CODE = 36
"""Dimensions of a token's code: random signs, half of them positive. A name has a code of its own beside it, a row of a
Hadamard matrix of order 16, which are orthogonal."""
FREQUENCIES = 12
"""Frequencies of the position: 1, 0.56, 0.32, ... radians a token, four to a power of ten, as in a rotary embedding of
base 10^8 with 64 dimensions."""
RAMP = 0.3
"""Length of the feature that grows with the position: small, because it alone changes a token's length."""
BLOCKS = {
    "constant": 2,
    "place": 4 * FREQUENCIES,
    "ramp": 2,
    "code": CODE,
    "name": NAMES + 3,
    **dict.fromkeys(FLAGS, 2),
    "rarity": 4,
    "before": CODE,
    "after stop": 2,
    "first": 2,
    "inside": 2,
    "copy": CODE,
    "next NOUN": 2,
    "next article": 2,
    "fraction": 2,
    "filler": 2,
    "start": 2,
}
"""The dimensions of each feature, in their order. Heads of the first layer write four: `before` and `after stop` hold
the code of the token before and whether it ends a sentence, `first` whether a token has no earlier copy, `inside`
whether the last quotation mark opens. `copy` is written by an induction head and read by the unembedding, as is the
class that comes `next`; `fraction` is the share of nouns so far, written by a uniform head. `rarity` is an angle, so
that its length is that of every token. BOS has no code, no constant and no place, so that neither a match nor a
distance moves what rests on it; `filler` and `start` bring it to the length of the others. What is left of the width
holds noise, another draw for each token."""
TRUTHS = (
    *("name", *FLAGS, "rarity", "after stop", "before", "first", "inside"),
    *("copy", "next NOUN", "next article", "fraction", "filler", "start"),
)
"""Features that have to do with parts of speech or BOS, the token before among them: after `the` comes a noun. Random
components do not read them, so that they deserve no label."""


def place_of(block: str) -> slice:
    """The dimensions of a feature."""
    names = list(BLOCKS)
    start = sum(BLOCKS[name] for name in names[: names.index(block)])
    return slice(start, start + BLOCKS[block])


def frequencies() -> Float[Tensor, " frequency"]:
    """Radians a token of each frequency."""
    return 10 ** (-torch.arange(FREQUENCIES).double() / 4)


def codes(n: int, generator: torch.Generator) -> Float[Tensor, "token code"]:
    """A random code for each token: +1 and -1 equally often."""
    order = torch.rand(n, CODE, generator=generator).argsort(1)
    return torch.where(order < CODE // 2, 1.0, -1.0)


def embedding(
    vocabulary: Vocabulary, width: int, generator: torch.Generator
) -> tuple[Float[Tensor, "token d_model"], Float[Tensor, "token code"]]:
    """The token embedding, every row of one length and of mean 0, and the tokens' codes in it."""
    size = vocabulary.tokenizer.size
    table, code = torch.zeros(size, width), codes(size, generator)
    table[:, place_of("constant")] = torch.tensor([1.0, -1.0])
    table[:, place_of("code")] = code
    at = place_of("name").start
    table[:, at + NAMES + 1 : at + NAMES + 3] = math.sqrt((NAMES + 1) / 2) * torch.tensor([1.0, -1.0])
    for number, name in enumerate(vocabulary.names.tolist(), start=1):
        table[name, place_of("name")] = torch.cat([_hadamard()[number], torch.zeros(2)])
    for flag, having in vocabulary.flags.items():
        sign = torch.where(having, 1.0, -1.0)
        table[:, place_of(flag)] = torch.stack([sign, -sign], dim=1)
    angle = math.pi / 2 * vocabulary.rarity
    rare = torch.stack([angle.sin(), angle.cos()], 1)
    table[:, place_of("rarity")] = torch.cat([rare, -rare], 1)
    bos = vocabulary.tokenizer.bos
    table[bos, place_of("constant")], table[bos, place_of("code")], code[bos] = 0.0, 0.0, 0.0
    table[bos, place_of("filler")] = math.sqrt(1 + CODE / 2) * torch.tensor([1.0, -1.0])
    used = sum(BLOCKS.values())
    noise = torch.randn(size, width - used, generator=generator)
    noise -= noise.mean(1, keepdim=True)
    table[:, used:] = 0.5 * math.sqrt(width - used) * noise / noise.norm(dim=1, keepdim=True)
    return table, code


def _hadamard() -> Float[Tensor, "16 16"]:
    """Sylvester's matrix of order 16: every row but the first has mean 0."""
    matrix = torch.ones(1, 1)
    for _ in range(4):
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return matrix


def positions(context: int, width: int) -> Float[Tensor, "pos d_model"]:
    """Learned positions: sines and cosines, each with both signs, and a ramp from 0 to 1."""
    table = torch.zeros(context, width)
    angle = torch.arange(context).double()[:, None] * frequencies()
    waves = torch.cat([angle.cos(), angle.sin()], 1).float()
    table[:, place_of("place")] = torch.cat([waves, -waves], 1)
    table[0] = 0.0
    table[0, place_of("start")] = math.sqrt(FREQUENCIES) * torch.tensor([1.0, -1.0])
    rise = RAMP * torch.arange(context) / context
    table[:, place_of("ramp")] = torch.stack([rise, -rise], 1)
    return table


def squared_length(width: int, *, learned: bool, layer: int) -> float:
    """The squared length of a residual before a layer, without what random components add."""
    noise = 0.25 * (width - sum(BLOCKS.values()))
    tokens = 2 + CODE + (NAMES + 1) + 2 * len(FLAGS) + 2 + noise
    return tokens + 2 * FREQUENCIES * learned + (CODE + 6) * (layer > 0)


def read(block: str, width: int) -> Float[Tensor, " d_model"]:
    """The direction that reads a feature of two dimensions as +1 or -1 (the ramp from 0 to 1); the rarity of a token
    from -1 to 1."""
    direction = torch.zeros(width)
    both = [0.5, -0.5, -0.5, 0.5] if block == "rarity" else [0.5, -0.5]
    direction[place_of(block)] = torch.tensor(both) / (RAMP if block == "ramp" else 1.0)
    return direction


def having(flags: tuple[str, ...], width: int) -> Float[Tensor, " d_model"]:
    """The direction that reads +1 on tokens with one of these flags, which exclude each other, and -1 on others."""
    every = 2 * read("constant", width) + read("bos", width)  # 1 on every token, BOS too
    return torch.stack([read(flag, width) for flag in flags]).sum(0) + (len(flags) - 1) * every
