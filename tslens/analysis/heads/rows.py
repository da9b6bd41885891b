"""TokenRows that ablation reads: stories that a hash chooses, or repeated random tokens."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tslens.analysis.heads.repeated import repeated_tokens
from tslens.analysis.heads.writes import classes_of
from tslens.batching import chosen
from tslens.models import spec_of, story_tokenizer_of, tokenizer_of

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
    classes: Int[Tensor, "row pos"] | None = None
    """The class of the word that each token begins (`kinds_words.CLASSES`), -1 where it begins none; None: unknown."""


def repeated_rows(model: "LanguageModel", rows: int, seed: int) -> TokenRows:
    """Repeated random tokens, scored from the second token of the second half on: the first cannot be predicted."""
    tokens = repeated_tokens(model, rows=rows, seed=seed).to(next(model.parameters()).device)
    scored = torch.zeros(tokens.shape, dtype=torch.bool, device=tokens.device)
    scored[:, (tokens.shape[1] - 1) // 2 + 2 :] = True
    return TokenRows(tokens, torch.ones_like(scored), scored)


def story_rows(
    model: "LanguageModel", stories: Iterable[str], rows: int, context: int, *, tagged: bool = False
) -> TokenRows:
    """The stories that their hashes choose, in the order of the hashes; every token after BOS is scored. Where they are
    `tagged` the classes of their words are known."""
    read = chosen(stories, tokenizer_of(model), rows=rows, context=min(context, spec_of(model).n_ctx))
    scored = read.mask.clone()
    scored[:, 0] = False
    device = next(model.parameters()).device
    classes = None
    if tagged:
        classes = pad_sequence(classes_of(story_tokenizer_of(model), read, {}), batch_first=True, padding_value=-1)
    return TokenRows(read.tokens.to(device), read.mask.to(device), scored.to(device), classes)


def partners(real: Bool[Tensor, "row pos"]) -> Int[Tensor, "row pos"]:
    """For each row and position the next row, cyclically, that has a token there; the row itself if none has."""
    n = len(real)
    own = torch.arange(n, device=real.device)[:, None].expand(real.shape)
    found = own.clone()
    for step in range(n - 1, 0, -1):  # the nearest has the last word
        other = (own + step) % n
        found = torch.where(real.gather(0, other), other, found)
    return found
