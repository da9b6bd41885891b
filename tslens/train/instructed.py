"""Which rows does training on instructions see? Whole documents, and which of their tokens count in the loss."""

import dataclasses

import numpy as np
import torch

from tslens.errors import InputError
from tslens.stories.pack import Packed
from tslens.train.data import Batch, Rows


@dataclasses.dataclass(frozen=True, eq=False)
class InstructedRows(Rows):
    """Rows of documents: the instructions of a story, then the story, each with tokens of its own.

    As `Rows`, but where what is left of a row would not hold a token of the next story the row ends in padding (BOS,
    which counts once, as the end of the story before it): instructions are never cut. A document whose instructions
    fill a row is left out.
    """

    instructions: Packed
    """The instructions of each story in `packed`, which holds the stories alone."""
    everything: bool
    """Whether instructions count in the loss; stories and their ends always do."""

    def lengths(self) -> np.ndarray:
        """Tokens of each document, BOS counted."""
        return super().lengths() + self._instructed() - 1  # one BOS a document

    def seen(self) -> np.ndarray:
        """The numbers of the documents that are trained on."""
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
        """What a run records of its data."""
        more = {"instruction_tokens": self.instructions.n_tokens, "left_out": self.packed.n_stories - len(self.seen())}
        return super().facts() | more

    def batch(self, step: int) -> Batch:
        """The rows of a step, counted from 0, and what is predicted of them."""
        first = step * self.rows_per_step
        rows = [self.row(index) for index in range(first, first + self.rows_per_step)]
        tokens, predicted = (torch.from_numpy(np.stack(part)) for part in zip(*rows, strict=True))
        return Batch(tokens, predicted)

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
