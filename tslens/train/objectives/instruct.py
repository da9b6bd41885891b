"""Instruct: the loss of a story, given its instructions.

Documents are TinyStories-Instruct's (Eldan & Li 2023, arXiv 2305.07759): blocks of instructions, then the story. Both
are encoded separately, so that their boundary is a token boundary, in training as after a prompt.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from tslens import forward
from tslens.backends import unknown_id
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult
from tslens.models import LanguageModel, name_of, spec_of, story_tokenizer_of
from tslens.stories.combinations import is_held_out
from tslens.stories.instruct import documents, in_ood_split, parse
from tslens.stories.packed import Packed
from tslens.tokenizer import Tokenizer
from tslens.train.data import Batches, PackStories, Rows, TrainingBatch
from tslens.train.objectives.language import LanguageModelling
from tslens.train.settings import ShareBelowOne, settings

ROWS = 16  # documents that are validated at a time
NO_ROOM = "No instructions leave room for their story in a context of {}. Give a longer context."


@settings("objective")
class Instruct(LanguageModelling):
    """Cross-entropy of the story's tokens and its end in nats, given the instructions: L = -sum_t log p(s_t | i, s_<t).

    With `everything`, that of the instructions' tokens is added.
    """

    loss_on: Literal["story", "everything"] = "story"
    filter: Literal["none", "no words with summary", "held-out combinations"] = "none"
    """Instruct-OOD. `no words with summary` trains on documents that never require both together, and validates on
    those that do. `held-out combinations` trains on documents that require no pair of words and no pair of features
    that a hash holds out, and validates on all; `tslens eval instruct` compares the two."""
    held_out: ShareBelowOne = 0.05
    """Share of the pairs that `held-out combinations` holds out."""

    made: ClassVar[str] = "made:instruct"

    def rows(self, pack: PackStories, *, context: int, rows_per_step: int, seed: int, story_seed: int) -> Batches:
        """Batches of whole documents."""
        heads = pack(lambda texts: (document.head for document in documents(texts)), "instructions")
        whole = pack(lambda texts: (document.story for document in documents(texts)))
        return InstructRows(whole, context, rows_per_step, seed, heads, self.loss_on == "everything")

    def probe(self, tokens: Tensor) -> TrainingBatch:
        """A batch of these tokens; the loss counts every one."""
        return TrainingBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))

    def keeps(self, split: str) -> Callable[[str], bool] | None:
        """With a filter, the documents of that split of Instruct-OOD."""
        if self.filter == "held-out combinations":
            return (lambda text: not is_held_out(parse(text), self.held_out)) if split == "train" else None
        return None if self.filter == "none" else partial(in_ood_split, split=split)

    def check_stories(self, stories: Iterable[str]) -> None:
        """InputError if the first stories have no instructions."""
        next(documents(stories))

    def check_context(self, stories: Iterable[str], tokenizer: Tokenizer, context: int) -> None:
        """InputError if no document's instructions leave room for any of its story."""
        if not any(len(head) <= context for d in documents(stories) for head in tokenizer.encode([d.head])):
            raise InputError(NO_ROOM.format(context))

    def validate(self, model: LanguageModel, texts: Sequence[str], *, precision: str) -> LossResult:
        """Nats per token and bits per byte of stories given their instructions."""
        return story_loss(model, texts, precision=precision)

    def __call__(
        self, model: LanguageModel, batch: TrainingBatch, dtype: torch.dtype, dropout: float = 0.0
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The summed loss; it has no parts."""
        assert batch.predicted is not None
        return super().__call__(model, batch, dtype, dropout)


def story_loss(model: LanguageModel, texts: Iterable[str], *, precision: str = "float32") -> LossResult:
    """The loss on stories given their instructions, each document read up to the model's context.

    Documents whose story begins beyond the context are left out. InputError if that leaves none.
    """
    spec, tokenizer = spec_of(model), story_tokenizer_of(model)
    dtype, device = forward.resolve_dtype(precision, model), next(model.parameters()).device
    nats, tokens, sizes, cut, unknown = [], [], [], 0, 0
    lacking = unknown_id(tokenizer.backend)
    stream = documents(texts)
    while some := list(islice(stream, ROWS)):
        heads = tokenizer.encode([document.head for document in some])
        stories = tokenizer.encode([document.story for document in some], bos=False)
        rows = [[*head, *story, tokenizer.eos][: spec.n_ctx + 1] for head, story in zip(heads, stories, strict=True)]
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
            unknown += 0 if lacking is None else story[:seen].count(lacking)
    if not nats:
        raise InputError(NO_ROOM.format(spec.n_ctx))
    return LossResult(
        torch.tensor(nats), torch.tensor(tokens), torch.tensor(sizes), cut, name_of(model), unknown=unknown
    )


@dataclasses.dataclass(frozen=True, eq=False)
class InstructRows(Rows):
    """Rows of documents: the instructions of a story, then the story, encoded separately.

    As `Rows`, but if the rest of a row cannot hold a token of the next story, the row ends in padding (BOS, which
    counts once, as the end of the story before it): instructions are never cut. A document whose instructions fill a
    row is left out.
    """

    instructions: Packed
    """The instructions of each story in `packed`, which holds the stories alone."""
    everything: bool
    """Whether instructions count in the loss; stories and their ends always count."""

    def lengths(self) -> np.ndarray:
        """Number of tokens of each document, BOS included."""
        lengths: np.ndarray = super().lengths() + self._instructed() - 1  # one BOS a document
        return lengths

    def seen(self) -> np.ndarray:
        """Indices of the training documents."""
        fits = np.flatnonzero(self._instructed() <= self.context)
        if not len(fits):
            raise InputError(
                f"The shortest instructions have {self._instructed().min()} tokens, too many for a row of "
                f"{self.context + 1} to hold any of the story. Give a longer context (model.n_ctx)."
            )
        return fits

    def _instructed(self) -> np.ndarray:
        return np.diff(np.append(self.instructions.starts, self.instructions.n_tokens))

    def facts(self) -> dict[str, int]:
        """Facts about the data that a run records."""
        more = {"instruction_tokens": self.instructions.n_tokens, "left_out": self.packed.n_stories - len(self.seen())}
        return super().facts() | more

    def batch(self, step: int) -> TrainingBatch:
        """The rows of a step, counted from 0, and which of their tokens are predicted."""
        first = step * self.rows_per_step
        rows = [self.row(index) for index in range(first, first + self.rows_per_step)]
        tokens, predicted = (torch.from_numpy(np.stack(part)) for part in zip(*rows, strict=True))
        return TrainingBatch(tokens, predicted)

    def row(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The tokens of a row, counted from 0 through all epochs, and which of them count in the loss."""
        size, at = self.context + 1, 0
        tokens = np.full(size, self.packed.tokens[0], dtype=np.int64)
        predicted = np.zeros(size, dtype=bool)
        for number in self.stories_of(index):
            head, story = self.instructions.story(number), self.packed.story(number)[1:]
            begin, end = at + len(head), min(size, at + len(head) + len(story))
            predicted[at] = at > 0  # BOS ends the story before, whether another one follows or padding
            if begin >= size:
                break
            tokens[at:begin], tokens[begin:end] = head, story[: end - begin]
            predicted[at + 1 : begin] = self.everything
            predicted[begin:end] = True
            if (at := end) == size:
                break
        return tokens, predicted
