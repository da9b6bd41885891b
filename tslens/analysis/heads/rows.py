"""TokenRows that ablation reads: stories that a hash chooses, or repeated random tokens."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.analysis.heads.repeated import repeated_tokens
from tslens.batching import chosen
from tslens.models import spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass(frozen=True)
class TokenRows:
    """TokenRows of tokens, right-padded."""

    tokens: Int[Tensor, "row pos"]
    real: Bool[Tensor, "row pos"]
    """True on tokens of the row, BOS included."""
    scored: Bool[Tensor, "row pos"]
    """True on tokens whose loss counts."""


def repeated_rows(model: "LanguageModel", rows: int, seed: int) -> TokenRows:
    """Repeated random tokens, scored from the second token of the second half on: the first cannot be predicted."""
    tokens = repeated_tokens(model, rows=rows, seed=seed).to(next(model.parameters()).device)
    scored = torch.zeros(tokens.shape, dtype=torch.bool, device=tokens.device)
    scored[:, (tokens.shape[1] - 1) // 2 + 2 :] = True
    return TokenRows(tokens, torch.ones_like(scored), scored)


def story_rows(model: "LanguageModel", stories: Iterable[str], rows: int, context: int) -> TokenRows:
    """The stories that their hashes choose, in the order of the hashes; every token after BOS is scored."""
    read = chosen(stories, tokenizer_of(model), rows=rows, context=min(context, spec_of(model).n_ctx))
    scored = read.mask.clone()
    scored[:, 0] = False
    device = next(model.parameters()).device
    return TokenRows(read.tokens.to(device), read.mask.to(device), scored.to(device))


def partners(real: Bool[Tensor, "row pos"]) -> Int[Tensor, "row pos"]:
    """For each row and position the next row, cyclically, that has a token there; the row itself if none has."""
    n = len(real)
    own = torch.arange(n, device=real.device)[:, None].expand(real.shape)
    found = own.clone()
    for step in range(n - 1, 0, -1):  # the nearest has the last word
        other = (own + step) % n
        found = torch.where(real.gather(0, other), other, found)
    return found
