"""Terms of a planted head's attention score, and the query and key matrices that add them up.

A term is a few channels: each multiplies a number read at the query by one read at the key. With learned positions
every channel reads the residual stream. With rotary ones a channel of position reads a constant and is turned by a fast
pair of the rotary embedding; a channel of content lies in the slow pairs, which turn by 0.13 radians at most over 128
tokens. What falls with the distance (the *last* comma) reads a position that grows, or a sum of the turning pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens.audit.features import CODE, FREQUENCIES, frequencies, having, place_of, read, squared_length
from tslens.audit.vocabulary import NAMES
from tslens.models import Spec

LARGEST = 10
"""Frequencies that tell neighbours apart; the slowest add nothing to a kernel over 128 tokens."""
FALLING, AHEAD = 8, 4
"""Frequencies of a kernel that falls with the distance, and the tokens by which it is moved: cosines are flat at 0."""


@dataclass(frozen=True)
class Term:
    """Channels of content: `score = sum_c (query_c . x_i) (key_c . x_j)`."""

    query: Float[Tensor, "d_model channel"]
    key: Float[Tensor, "d_model channel"]


@dataclass(frozen=True)
class Kernel:
    """A term of position: `gain * sum_m cos(w_m (i - j - offset))` over the first `n` frequencies."""

    offset: int
    gain: float
    n: int = LARGEST
    weights: tuple[float, ...] = (1.0,) * LARGEST
    """Of each frequency, in terms of `gain`."""


@dataclass(frozen=True)
class Recent:
    """A term of position that falls with the distance by `gain` over the context, in every step; BOS gets none."""

    gain: float


def match(query: str, key: str, gain: float, width: int) -> Term:
    """`gain` where the code of `query` at the query equals that of `key` at the key; else its share of equal signs."""
    size = NAMES + 1 if query == "name" else place_of(query).stop - place_of(query).start
    eye = torch.zeros(2, width, size)
    for part, block in zip(eye, (query, key), strict=True):
        start = place_of(block).start
        part[start : start + size] = torch.eye(size)
    return Term(gain / size * eye[0], eye[1])


def attract(
    key: str | tuple[str, ...], gain: float, width: int, *, of: tuple[str, ...] = (), half: bool = False
) -> Term:
    """`gain` more on keys with the flag, or one of the flags, than on others; only for queries with one of the flags
    `of` if these are given, or with `half` only for those whose code begins with +1."""
    query = read("constant", width)
    if of:
        query = (query + having(of, width)) / 2
    if half:
        query = query / 2
        query[place_of("code").start] = 0.5
    flags = (key,) if isinstance(key, str) else key
    return Term(gain / 2 * query[:, None], having(flags, width)[:, None])


def favour(gain: float, width: int) -> Term:
    """A preference of its own for each token, whatever it is: `gain` times the mean of half of its code's signs."""
    key = torch.zeros(width)
    start = place_of("code").start
    key[start : start + CODE // 2] = 2 / CODE
    return Term(gain * read("constant", width)[:, None], key[:, None])


def _recent(term: Recent, spec: Spec, learned: bool) -> list[Term | Kernel]:
    """With learned positions their ramp; with rotary ones a kernel, which is 0 to 1 after a constant is added."""
    constant = read("constant", spec.d_model)[:, None]
    if learned:
        return [Term(term.gain * constant, read("ramp", spec.d_model)[:, None])]
    weights, least = _falling(spec.n_ctx)
    return [Kernel(-AHEAD, term.gain, len(weights), weights), Term(-least * term.gain * constant, constant)]


@cache
def _falling(context: int) -> tuple[tuple[float, ...], float]:
    """Weights of the frequencies whose cosines fall with the distance, nearly by a straight line from 1 to 0 over the
    context but for a constant; and this constant."""
    angle = np.outer(np.arange(context) + AHEAD, frequencies()[:FALLING].numpy())
    line = 1 - np.arange(context) / context
    found = np.linalg.lstsq(np.column_stack([np.cos(angle), np.ones(context)]), line, rcond=None)[0]
    return tuple(found[:-1].tolist()), float((np.cos(angle) @ found[:-1]).min())


def query_key(
    terms: Sequence[Term | Kernel | Recent], spec: Spec, layer: int
) -> tuple[Float[Tensor, "d_model d_head"], Float[Tensor, "d_model d_head"]]:
    """The matrices of a head whose score is the sum of the terms, for a residual that the norm brings to one length."""
    learned, width = spec.style == "gpt2", spec.d_model
    W_Q, W_K = torch.zeros(2, width, spec.d_head)
    free = list(range(2 * FREQUENCIES, spec.d_head)) if learned else _slow(spec)
    parts = [_recent(term, spec, learned) if isinstance(term, Recent) else [term] for term in terms]
    for term in chain.from_iterable(parts):
        if isinstance(term, Kernel):
            _add_kernel(W_Q, W_K, term, spec, learned)
        else:
            chosen, free = free[: term.query.shape[1]], free[term.query.shape[1] :]
            if len(chosen) < term.query.shape[1]:
                raise ValueError(f"a head of {spec.d_head} dimensions has no room for these terms")
            W_Q[:, chosen], W_K[:, chosen] = term.query, term.key
    scale = spec.d_model / squared_length(width, learned=learned, layer=layer)
    return W_Q * (math.sqrt(spec.d_head) if spec.scaled else 1.0) / scale, W_K


def _slow(spec: Spec) -> list[int]:
    """The dimensions of the rotary pairs that content lies in, both of a pair side by side."""
    half = spec.d_head // 2
    return [dim for pair in range(FREQUENCIES, half) for dim in (pair, pair + half)]


def _add_kernel(W_Q: Tensor, W_K: Tensor, kernel: Kernel, spec: Spec, learned: bool) -> None:
    """Write a kernel into the fast channels; a second kernel of the head adds to the query of the first."""
    at, half = place_of("place").start, spec.d_head // 2
    constant = read("constant", spec.d_model)
    for m, frequency in enumerate(frequencies()[: kernel.n].tolist()):
        gain = kernel.gain * kernel.weights[m]
        cos, sin = (gain * f(frequency * kernel.offset) for f in (math.cos, math.sin))
        if learned:
            first, second = 2 * m, 2 * m + 1
            a, b = at + m, at + FREQUENCIES + m
            W_Q[a, first] += cos
            W_Q[b, first] += sin
            W_Q[b, second] += cos
            W_Q[a, second] -= sin
            W_K[a, first] = W_K[b, second] = 1.0
        else:
            W_Q[:, m] += cos * constant
            W_Q[:, m + half] -= sin * constant
            W_K[:, m] = constant
