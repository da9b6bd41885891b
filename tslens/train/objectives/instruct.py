"""Instruct: how likely is a story, given what it was asked to be?

Documents are TinyStories-Instruct's (Eldan & Li 2023, arXiv 2305.07759): blocks of instructions, then the story. Both
are encoded apart, so that what is between them is a boundary of tokens, in training as behind a prompt.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from tslens import forward
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult
from tslens.models import name_of, spec_of, tokenizer_of
from tslens.stories.instruct import Instruction, parse
from tslens.tokenizer import Tokenizer
from tslens.train.objectives.language import LanguageModelling

if TYPE_CHECKING:
    from tslens.train.data import Batch

LOOKED_AT = 1000
ROWS = 16  # documents that are validated at a time
NO_ROOM = "No instructions leave room for their story in a context of {}. Give a longer context."


@dataclasses.dataclass(frozen=True)
class Instruct(LanguageModelling):
    """Cross-entropy of the story's tokens and its end in nats, given the instructions: L = -sum_t log p(s_t | i, s_<t).

    With `everything`, that of the instructions' tokens is added.
    """

    loss_on: Literal["story", "everything"] = "story"

    def validate(self, model: Any, texts: Sequence[str], *, precision: str) -> LossResult:
        """Nats per token and bits per byte of stories given their instructions."""
        return story_loss(model, texts, precision=precision)

    def __call__(
        self, model: Any, batch: "Batch", dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The summed loss; it has no parts."""
        assert batch.predicted is not None
        return super().__call__(model, batch, dtype, dropout)


def documents(texts: Iterable[str]) -> Iterator[Instruction]:
    """The texts as instructions and stories; those that lack either are left out.

    ValueError if none of the first `LOOKED_AT` has both.
    """
    parsed = (parse(text) for text in texts)
    first = list(islice(parsed, LOOKED_AT))
    if not any(document.blocks and document.story for document in first):
        raise InputError(
            f"None of the first {len(first):,} stories comes behind instructions (Words:, Features:, Random sentence:, "
            "Summary:, then Story:). Give a source that has them, such as made:instruct."
        )
    yield from (document for document in chain(first, parsed) if document.blocks and document.story)


def check_room(texts: Iterable[str], tokenizer: Tokenizer, context: int) -> None:
    """ValueError if no document's instructions leave room for any of its story."""
    if not any(len(head) <= context for d in documents(texts) for head in tokenizer.encode([d.head])):
        raise InputError(NO_ROOM.format(context))


def story_loss(model: Any, texts: Iterable[str], *, precision: str = "float32") -> LossResult:
    """The loss on stories given their instructions, each document read up to the model's context.

    A document of which the context holds none of the story is left out. ValueError if that leaves none.
    """
    spec, tokenizer = spec_of(model), tokenizer_of(model)
    dtype, device = forward.precision(precision), next(model.parameters()).device
    nats, tokens, sizes, cut = [], [], [], 0
    stream = documents(texts)
    while some := list(islice(stream, ROWS)):
        heads = tokenizer.encode([document.head for document in some])
        stories = tokenizer.encode([document.story for document in some], bos=False)
        rows = [[*head, *story, tokenizer.bos][: spec.n_ctx + 1] for head, story in zip(heads, stories, strict=True)]
        padded = torch.full((len(rows), max(map(len, rows))), tokenizer.bos)
        for i, row in enumerate(rows):
            padded[i, : len(row)] = torch.tensor(row)
        losses = forward.token_losses(model, padded.to(device), dtype=dtype).double().cpu()
        for i, (document, head, story, row) in enumerate(zip(some, heads, stories, rows, strict=True)):
            seen = len(row) - len(head)
            if seen <= 0:
                continue
            whole = seen == len(story) + 1
            text = document.story if whole else document.story[: tokenizer.offsets(document.story)[seen][1]]
            nats.append(float(losses[i, len(head) - 1 : len(row) - 1].sum()))
            tokens.append(seen)
            sizes.append(len(text.encode()))
            cut += not whole
    if not nats:
        raise InputError(NO_ROOM.format(spec.n_ctx))
    return LossResult(torch.tensor(nats), torch.tensor(tokens), torch.tensor(sizes), cut, name_of(model))
