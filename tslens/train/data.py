"""Which tokens each training step sees: rows that begin at a story, in an order that the seed alone decides.

A step's batch is a function of (data, seed, step), so a resumed run needs no saved position.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from queue import Queue
from threading import Thread

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.stories.pack import Packed


@dataclasses.dataclass(frozen=True)
class Batch:
    """What one training step, or a piece of it, sees."""

    tokens: Int[Tensor, "row pos"]
    """Token ids."""
    predicted: Bool[Tensor, "row pos"] | None = None
    """True on tokens that count in the loss (the first of a row never does); None where all do."""

    @property
    def predictions(self) -> int:
        """How many tokens count in the loss."""
        rows, places = self.tokens.shape
        return rows * (places - 1) if self.predicted is None else int(self.predicted[:, 1:].sum())

    def apply(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The same batch with `change` applied to each tensor in it."""
        given = {f.name: part for f in dataclasses.fields(self) if (part := getattr(self, f.name)) is not None}
        return Batch(**{name: change(part) for name, part in given.items()})

    def split(self, rows: int) -> "list[Batch]":
        """Pieces of `rows` rows."""
        return [self.apply(lambda t, at=at: t[at : at + rows]) for at in range(0, len(self.tokens), rows)]  # type: ignore[misc]


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Rows of `context + 1` tokens over packed stories, shuffled anew each epoch.

    A row begins at the start of a story and goes on with the next ones until it is full; the last row of an epoch goes
    on with the epoch's first stories. The story that a row cuts begins the next row, so every story no longer than a
    row is seen whole in every epoch; a longer one is seen to the row's end only. No row is dropped: epochs follow one
    another without a gap, and a batch may hold rows of two.
    """

    packed: Packed
    context: int
    rows_per_step: int
    seed: int

    def __post_init__(self) -> None:
        if self.packed.n_tokens < self.context + 1:
            raise ValueError(
                f"The training data has {self.packed.n_tokens} tokens, less than one row of {self.context + 1}. "
                "Give more stories or a shorter context."
            )
        if (rows := _n_rows(self, 0)) < self.rows_per_step:
            raise ValueError(
                f"The training data fills {rows} rows, fewer than the {self.rows_per_step} of one batch. "
                "Give more stories, a smaller batch or a shorter context."
            )

    def epoch(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The epoch's order of stories, and the place in that order at which each row begins."""
        return _plan(self, number)

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of the first epoch was seen; later epochs differ by a row or two."""
        return math.ceil(_n_rows(self, 0) / self.rows_per_step)

    @property
    def longer_than_context(self) -> int:
        """Stories that do not fit a row and are seen to its end only."""
        lengths = np.diff(np.append(self.packed.starts, self.packed.n_tokens))
        return int((lengths > self.context + 1).sum())

    def batch(self, step: int) -> Batch:
        """The rows of a step, counted from 0."""
        first = step * self.rows_per_step
        return Batch(torch.from_numpy(np.stack([self._row(i) for i in range(first, first + self.rows_per_step)])))

    def _row(self, index: int) -> np.ndarray:
        """A row, counted from 0 through all epochs."""
        number = 0
        while index >= (n := _n_rows(self, number)):
            number, index = number + 1, index - n
        order, begins = self.epoch(number)
        want, begin, parts = self.context + 1, int(begins[index]), []
        while want > 0:
            story = self.packed.story(int(order[begin % len(order)]))[:want]
            parts.append(np.asarray(story, dtype=np.int64))
            want, begin = want - len(story), begin + 1
        return np.concatenate(parts)


@lru_cache(maxsize=4)
def _plan(rows: Rows, number: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng([rows.seed, number]).permutation(rows.packed.n_stories)
    lengths = np.diff(np.append(rows.packed.starts, rows.packed.n_tokens))[order]
    ends = np.cumsum(lengths)
    want, begins, at, before = rows.context + 1, [], 0, 0
    while before < ends[-1]:
        begins.append(at)
        cut = int(np.searchsorted(ends, before + want, side="right"))  # the first story that does not fit whole
        at = max(cut, at + 1)
        before = int(ends[at - 1])
    shuffled = np.random.default_rng([rows.seed, number, 1]).permutation(np.array(begins, dtype=np.int64))
    return order, shuffled


@lru_cache(maxsize=4096)
def _n_rows(rows: Rows, number: int) -> int:
    """Kept longer than the plans, which a late step would otherwise make anew for all epochs before it."""
    return len(_plan(rows, number)[1])


def prefetch(rows: Rows, first: int, last: int, depth: int = 4) -> Iterator[Batch]:
    """The batches of steps `first` to `last` (exclusive), made by a thread while the model computes."""
    queue: Queue[Batch | BaseException] = Queue(maxsize=depth)
    stopped = False

    def fill() -> None:
        try:
            for step in range(first, last):
                if stopped:
                    return
                batch = rows.batch(step)
                queue.put(batch.apply(Tensor.pin_memory) if torch.cuda.is_available() else batch)
        except BaseException as error:
            queue.put(error)

    thread = Thread(target=fill, daemon=True)
    thread.start()
    try:
        for _ in range(first, last):
            item = queue.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped = True
        while not queue.empty():
            queue.get_nowait()
