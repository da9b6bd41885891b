"""TokenRows that ablation reads: stories that a hash chooses, or repeated random tokens."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tslens import pos
from tslens.analysis.heads.kinds_words import marks_of, personal, words_of
from tslens.analysis.heads.repeated import repeated_tokens
from tslens.analysis.heads.role_tokens import queries_of_kinds
from tslens.analysis.heads.writes import begun
from tslens.batching import Batch, chosen
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
    queries: Bool[Tensor, "kind row pos"] | None = None
    """The queries of each kind of key (`role_tokens.queries_of_kinds`); None: unknown."""


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
    `tagged` the classes of their words and the queries of each kind of key are known."""
    read = chosen(stories, tokenizer_of(model), rows=rows, context=min(context, spec_of(model).n_ctx))
    scored = read.mask.clone()
    scored[:, 0] = False
    device = next(model.parameters()).device
    said = _words_of(model, read) if tagged else ()
    return TokenRows(read.tokens.to(device), read.mask.to(device), scored.to(device), *said)


def _words_of(model: "LanguageModel", read: Batch) -> tuple[Int[Tensor, "row pos"], Bool[Tensor, "kind row pos"]]:
    """The classes of the words of stories, and the queries of each kind of key."""
    tokenizer, classes, queries = story_tokenizer_of(model), [], []
    for text, n, tagged in zip(read.texts, read.mask.sum(1).tolist(), pos.tag_stories(read.texts), strict=True):
        offsets = tokenizer.offsets(text)[:n]
        marks = marks_of(words_of(text, tagged), offsets)
        classes.append(begun(marks, tagged, offsets))
        pronouns = torch.tensor([*personal(text, tagged), False])[marks.word]
        queries.append(queries_of_kinds(marks, pronouns).T)
    return (
        pad_sequence(classes, batch_first=True, padding_value=-1),
        pad_sequence(queries, batch_first=True).permute(2, 0, 1),
    )


def partners(real: Bool[Tensor, "row pos"]) -> Int[Tensor, "row pos"]:
    """For each row and position the next row, cyclically, that has a token there; the row itself if none has."""
    n = len(real)
    own = torch.arange(n, device=real.device)[:, None].expand(real.shape)
    found = own.clone()
    for step in range(n - 1, 0, -1):  # the nearest has the last word
        other = (own + step) % n
        found = torch.where(real.gather(0, other), other, found)
    return found
