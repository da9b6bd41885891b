"""Training rows and batches: rows begin at a story and cut the last one at their end, in an order set by the seed.

A step's batch is a function of (data, seed, step), so a resumed run needs no saved position.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from queue import Queue
from threading import Thread
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.stories.packed import Packed

PLANS = 4  # epochs whose order is kept: a batch may hold rows of two


@dataclasses.dataclass(frozen=True)
class TrainingBatch:
    """The rows of one training step, or a part of them."""

    tokens: Int[Tensor, "row pos"]
    """Token ids."""
    predicted: Bool[Tensor, "row pos"] | None = None
    """True on tokens that count in the loss (the first of a row never does); None where all do."""
    group: int = 1
    """Number of consecutive rows that are computed together: pieces and shares hold whole groups."""

    @property
    def predictions(self) -> int:
        """Number of tokens that count in the loss."""
        rows, places = self.tokens.shape
        return rows * (places - 1) if self.predicted is None else int(self.predicted[:, 1:].sum())

    def apply(self, change: Callable[[Tensor], Tensor]) -> "TrainingBatch":
        """The same batch with `change` applied to each tensor in it."""
        parts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        changed: dict[str, Any] = {k: change(v) if isinstance(v, Tensor) else v for k, v in parts.items()}
        return TrainingBatch(**changed)

    def split(self, rows: int) -> "list[TrainingBatch]":
        """Pieces of `rows` rows."""
        return [self.apply(lambda t, at=at: t[at : at + rows]) for at in range(0, len(self.tokens), rows)]  # type: ignore[misc]

    def share(self, rank: int, size: int) -> "TrainingBatch":
        """The share of one of `size` processes: every `size`-th group of rows, from the group `rank` on."""
        return self.apply(lambda t: t.unflatten(0, (-1, self.group))[rank::size].flatten(0, 1))


def concatenate(parts: Sequence[TrainingBatch]) -> TrainingBatch:
    """One batch of the rows of several."""
    of = {field.name: [getattr(part, field.name) for part in parts] for field in dataclasses.fields(TrainingBatch)}
    whole: dict[str, Any] = {k: torch.cat(v) if isinstance(v[0], Tensor) else v[0] for k, v in of.items()}
    return TrainingBatch(**whole)


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Rows of `context + 1` tokens over packed stories, shuffled anew each epoch.

    A row begins at the start of a story and continues with the next ones until it is full; the last row of an epoch
    continues with the epoch's first stories. The story that a row cuts begins the next row, so every story no longer
    than a row is seen whole in every epoch; a longer one is seen to the row's end only. No row is dropped: epochs
    follow one another without a gap, and a batch may hold rows of two.
    """

    packed: Packed
    context: int
    rows_per_step: int
    seed: int
    _plans: dict[int, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict, init=False, repr=False)
    _n_rows: dict[int, int] = dataclasses.field(default_factory=dict, init=False, repr=False)
    """Number of rows of each epoch, kept longer than the plans: else a late step would replan all earlier epochs."""

    def __post_init__(self) -> None:
        if (n := int(self.lengths()[self.seen()].sum())) < self.context + 1:
            raise InputError(
                f"The training data has {n} tokens, less than one row of {self.context + 1}. "
                "Give more stories or a shorter context."
            )
        if (rows := self.rows_of_epoch(0)) < self.rows_per_step:
            raise InputError(
                f"The training data fills {rows} rows, fewer than the {self.rows_per_step} of one batch. "
                "Give more stories, a smaller batch or a shorter context."
            )

    def lengths(self) -> np.ndarray:
        """Number of tokens of each story, BOS included."""
        return np.diff(np.append(self.packed.starts, self.packed.n_tokens))

    def seen(self) -> np.ndarray:
        """Indices of the training stories."""
        return np.arange(self.packed.n_stories)

    def epoch(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The epoch's order of stories, and the index in that order at which each row begins."""
        if (plan := self._plans.get(number)) is None:
            plan = self._plans[number] = self._plan(number)
            for old in list(self._plans)[:-PLANS]:
                self._plans.pop(old, None)
        return plan

    def _plan(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.random.default_rng([self.seed, number]).permutation(self.seen())
        ends = np.cumsum(self.lengths()[order])
        want, begins, at, before = self.context + 1, [], 0, 0
        while before < ends[-1]:
            begins.append(at)
            cut = int(np.searchsorted(ends, before + want, side="right"))  # the first story that does not fit whole
            at = max(cut, at + 1)
            before = int(ends[at - 1])
        shuffled = np.random.default_rng([self.seed, number, 1]).permutation(np.array(begins, dtype=np.int64))
        return order, shuffled

    def rows_of_epoch(self, number: int) -> int:
        """Number of rows of an epoch."""
        if number not in self._n_rows:
            self._n_rows[number] = len(self.epoch(number)[1])
        return self._n_rows[number]

    def facts(self) -> dict[str, int]:
        """Facts about the data that a run records."""
        return {
            "training_stories": self.packed.n_stories,
            "training_tokens": self.packed.n_tokens,
            "training_bytes": self.packed.n_bytes,
            "longer_than_context": self.longer_than_context,
            "tokens_per_epoch": len(self.epoch(0)[1]) * self.context,
        }

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row of the first epoch was seen; later epochs differ by a row or two."""
        return math.ceil(self.rows_of_epoch(0) / self.rows_per_step)

    @property
    def longer_than_context(self) -> int:
        """Number of stories longer than a row, which are seen to its end only."""
        return int((self.lengths()[self.seen()] > self.context + 1).sum())

    def batch(self, step: int) -> TrainingBatch:
        """The rows of a step, counted from 0."""
        first = step * self.rows_per_step
        rows = [self._row(index) for index in range(first, first + self.rows_per_step)]
        return TrainingBatch(torch.from_numpy(np.stack(rows)))

    def stories_of(self, index: int) -> Iterator[int]:
        """Indices of the stories from the beginning of a row on; rows are counted from 0 through all epochs."""
        number = 0
        while index >= (n := self.rows_of_epoch(number)):
            number, index = number + 1, index - n
        order, begins = self.epoch(number)
        begin = int(begins[index])
        return (int(order[at % len(order)]) for at in itertools.count(begin))

    def _row(self, index: int) -> np.ndarray:
        want, parts = self.context + 1, []
        for number in self.stories_of(index):
            story = self.packed.story(number)[:want]
            parts.append(np.asarray(story, dtype=np.int64))
            if (want := want - len(story)) == 0:
                break
        return np.concatenate(parts)


@runtime_checkable
class Batches(Protocol):
    """The batches of a run, each a function of (data, seed, step)."""

    @property
    def steps_per_epoch(self) -> int: ...

    def batch(self, step: int) -> TrainingBatch: ...

    def facts(self) -> dict[str, int]: ...


@runtime_checkable
class PackStories(Protocol):
    """Packs the stories that `choose` derives from the run's training stories into the named part of its data.

    Packed stories are kept: a resumed run does not read the source again.
    """

    def __call__(self, choose: Callable[[Iterable[str]], Iterable[str]], part: str = "") -> Packed: ...


def prefetch(rows: Batches, first: int, last: int, depth: int = 4) -> Generator[TrainingBatch, None, None]:
    """The batches of steps `first` to `last` (exclusive), prepared by a thread while the model computes."""
    queue: Queue[TrainingBatch | BaseException] = Queue(maxsize=depth)
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
