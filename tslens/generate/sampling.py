"""Samplers of the next token."""

import dataclasses
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.draws import check_seed
from tslens.errors import InputError

COLDEST = 1e-6  # a lower temperature is the same as 0, and scores divided by it overflow
MOST_BEAMS = 256  # each is a row, with a cache of its own


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How the next token is chosen: `temperature` 0 is greedy; `top_k` and `top_p` keep the likeliest tokens only
    (Fan et al. 2018; Holtzman et al. 2020, arXiv 1904.09751); `beams` above 1 is beam search at temperature 0: of the
    hypotheses found, the one with the highest mean log-probability per token."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    beams: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature and not COLDEST <= self.temperature < math.inf:
            raise InputError(
                f"temperature is {self.temperature}; it must be 0 (greedy), or finite and {COLDEST} or more."
            )
        check_seed(self.seed)
        if self.top_k is not None and self.top_k < 1:
            raise InputError(f"top_k is {self.top_k}; it must be at least 1.")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"top_p is {self.top_p}; it must be above 0 and at most 1.")
        if not 1 <= self.beams <= MOST_BEAMS:
            raise InputError(f"beams is {self.beams}; it must be from 1 to {MOST_BEAMS}.")
        if self.beams > 1 and self.temperature > 0:
            raise InputError("Beam search looks for the likeliest story: set temperature to 0, or beams to 1.")


def sample_token(
    scores: Float[Tensor, "row d_vocab"], uniform: Float[Tensor, " row"], sampling: Sampling
) -> Int[Tensor, " row"]:
    """One token per row: the likeliest at temperature 0, else the one at which the cumulative probability of the kept
    tokens, likeliest first, exceeds `uniform`, a number drawn from [0, 1)."""
    if sampling.temperature == 0:
        return scores.argmax(dim=-1)
    k = min(sampling.top_k or scores.shape[-1], scores.shape[-1])
    if sampling.top_k is None and sampling.top_p is None:
        cumulative = (scores / sampling.temperature).softmax(dim=-1).cumsum(dim=-1)
        place = torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True)
        return place.squeeze(1).clamp(max=scores.shape[-1] - 1)
    values, tokens = scores.topk(k, dim=-1)
    probability = (values / sampling.temperature).softmax(dim=-1)
    cumulative = probability.cumsum(dim=-1)
    if sampling.top_p is not None:
        keep = cumulative - probability < sampling.top_p
        keep[:, 0] = True  # also where `top_p` is 0 in this precision
        probability = probability * keep
        cumulative = probability.cumsum(dim=-1)
    place = torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True)
    return tokens.gather(1, place.clamp(max=k - 1)).squeeze(1)
