"""Checks of a recipe's values, and its sections `data` and `train`; other sections stand beside what they set."""

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import pydantic
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

from tslens import forward
from tslens.errors import InputError
from tslens.fields import in_one_line
from tslens.train import loggers

T = TypeVar("T")
CONFIG = pydantic.ConfigDict(extra="forbid", strict=True)


@dataclass_transform(frozen_default=True)
def settings(section: str) -> Callable[[type[T]], type[T]]:
    """A decorator: makes a class a frozen dataclass whose values are checked by its annotations.

    Construction and `dataclasses.replace` raise InputError, one line that names `section.key`.
    """

    def decorate(cls: type[T]) -> type[T]:
        made: Any = dataclass(frozen=True, config=CONFIG)(cls)
        unchecked = made.__init__

        @functools.wraps(unchecked)
        def checked(self: Any, *args: Any, **given: Any) -> None:
            try:
                unchecked(self, *args, **given)
            except pydantic.ValidationError as error:
                raise InputError(in_one_line(error, section)) from error

        made.__init__ = checked
        result: type[T] = made
        return result

    return decorate


def must_be(words: str, holds: Callable[[Any], bool]) -> pydantic.AfterValidator:
    """A check of a value, with its requirement in words."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise PydanticCustomError("bound", "{words}", {"words": words})
        return value

    return pydantic.AfterValidator(check)


def parsed_by(parse: Callable[[str], object]) -> pydantic.AfterValidator:
    """A check that `parse` accepts a text."""

    def check(value: str) -> str:
        parse(value)
        return value

    return pydantic.AfterValidator(check)


Count = Annotated[int, must_be("at least 1 and at most 1,000,000,000", lambda n: 1 <= n <= 10**9)]
NotNegativeCount = Annotated[int, must_be("0 or more", lambda n: n >= 0)]
Positive = Annotated[float, must_be("a finite number above 0", lambda x: math.isfinite(x) and x > 0)]
NotNegative = Annotated[float, must_be("a finite number, 0 or more", lambda x: math.isfinite(x) and x >= 0)]
Epochs = Annotated[float, must_be("above 0 and at most 1,000,000", lambda x: 0 < x <= 1e6)]
Share = Annotated[float, must_be("between 0 and 1", lambda x: 0 <= x <= 1)]
ShareBelowOne = Annotated[float, must_be("0 or more and below 1", lambda x: 0 <= x < 1)]
Factor = Annotated[float, must_be("above 0 and below 1", lambda x: 0 < x < 1)]
Seed = Annotated[int, must_be("0 or more, and below 2^63", lambda n: 0 <= n < 2**63)]


@settings("data")
class DataSettings:
    """The stories, and how they become rows."""

    source: str = "made"
    """A source as in `tslens.stories.stories`."""
    limit: int | None = None
    """Largest number of training stories."""
    vocabulary: int = 4096
    """Size of the tokenizer trained on the training split, if no `tokenizer` is given."""
    tokenizer: str | None = None
    """A tokenizer.json, or the name of a model whose tokenizer is used."""
    seed: int = 0
    """Seed of the embedded generator and of the order of shuffled sentences."""


@settings("train")
class TrainSettings:
    """How long a run is, how many rows a step has, and how often the run is validated and saved."""

    epochs: Epochs = 1.0
    steps: Count | None = None
    """Total number of steps, instead of epochs."""
    batch: Count = 32
    """Number of rows of a step."""
    fewest_steps: NotNegativeCount = 0
    """Steps of a run by epochs, at least: where the stories give fewer, `batch` is halved until they do, to 8 rows at
    least. 0 keeps the batch, and so does a `--set train.batch`."""
    batch_warmup: Annotated[int, must_be("0 or more steps", lambda n: n >= 0)] = 0
    """Steps in which the batch grows: one, two and three quarters of its rows for a third of them each."""
    micro_batch: Count | None = None
    """Rows computed at a time (gradients are accumulated); by default all of them."""
    dropout: ShareBelowOne = 0.0
    """Dropout on the embeddings and on what attention and MLP add to the residual stream."""
    precision: Annotated[str, parsed_by(forward.check_precision)] = "auto"
    compile: bool = False
    validate_every: Count = 200
    validation_stories: Count = 300
    checkpoint_every: Count = 500
    """Steps between checkpoints; one is also written a minute after the last, or twenty times what writing took."""
    keep_checkpoints: Count = 2
    """Number of newest checkpoints to keep."""
    keep_log_spaced: bool = True
    """Whether the weights of steps 1, 2, 4, 8, ... are kept too; `NAME@64` loads them."""
    on_divergence: Literal["stop", "rollback"] = "stop"
    """Reaction to a loss that is not finite or explodes: stop, or return to the last checkpoint and continue with a
    lower learning rate."""
    divergence_threshold: Annotated[float, must_be("a number of nats, 0 for never", lambda x: x >= 0)] = 3.0
    """Nats above the median of the last records that count as exploding; 0 for an objective that may explode."""
    rollback_lr_factor: Factor = 0.5
    """Factor on the learning rate at each rollback."""
    max_rollbacks: NotNegativeCount = 3
    log: Annotated[str, parsed_by(loggers.parse)] = ""
    """Loggers besides `metrics.jsonl`: tensorboard, wandb, or both, separated by a comma."""

    def __post_init__(self) -> None:
        if self.micro_batch is not None and self.batch % self.micro_batch:
            raise InputError(f"train.micro_batch is {self.micro_batch}; it must divide the batch of {self.batch} rows.")
