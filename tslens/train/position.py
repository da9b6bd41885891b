"""The position of a run, and the progress bar that shows it."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator

from tslens import progress


@dataclasses.dataclass(frozen=True)
class Position:
    """The position and speed of a run."""

    step: int
    steps: int
    tokens: int
    """Tokens seen so far."""
    train_loss: float
    """Approximate training loss of the last steps, nats per token; on a GPU read some steps late."""
    tokens_per_second: float
    validation_loss: float | None = None
    """Loss of the last validation, nats per token."""


Watch = Callable[[Position], None]


@contextlib.contextmanager
def progress_bar() -> Iterator[Watch]:
    """A bar with loss, tokens per second and time left; yields the function that moves it."""
    with progress.bar("train", kept=True) as bar:
        yield lambda at: bar.update(at.step, total=at.steps, note=_in_words(at))


def _in_words(at: Position) -> str:
    loss = "" if math.isnan(at.train_loss) else f"loss {at.train_loss:.3f}  "
    validation = "" if at.validation_loss is None else f"validation {at.validation_loss:.3f}  "
    return f"{loss}{validation}{at.tokens_per_second:,.0f} tokens/s"
