"""Write a run's records: always to `metrics.jsonl` and `steps.jsonl`, to TensorBoard or Weights & Biases on request."""

import contextlib
import importlib.util
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tslens import runs
from tslens.errors import InputError

Record = dict[str, Any]
Log = Callable[[Record], None]
Write = Callable[[Record, str], None]
"""Writes a record to a file of the run, and to its loggers."""


def parse(text: str) -> tuple[str, ...]:
    """The loggers of a list such as `tensorboard,wandb`; InputError names an unknown one."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in LOGGERS:
            raise InputError(f"train.log is {text!r}: there is no {name!r}. Known: {', '.join(LOGGERS)}.")
    return names


def check(text: str) -> None:
    """InputError if a requested logger is not installed."""
    for name in parse(text):
        if importlib.util.find_spec(name) is None:
            raise InputError(
                f"{name} is not installed. Install it (pip install {name}), or leave it out of --log; "
                "metrics.jsonl is always written."
            )


@contextlib.contextmanager
def opened(text: str, folder: Path, recipe: Mapping[str, Any], step: int) -> Iterator[Write]:
    """A function that writes a record of the run in `folder` to all loggers, after those of its first `step` steps."""
    check(text)
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(LOGGERS[name](folder, recipe, step)) for name in parse(text)]

        def write(record: Record, name: str) -> None:
            with (folder / name).open("a", encoding="utf-8") as file:  # anew: a rollback replaces it
                file.write(runs.metrics_line(record))
            for other in others:
                other(record)

        yield write


@contextlib.contextmanager
def _tensorboard(folder: Path, recipe: Mapping[str, Any], step: int) -> Iterator[Log]:
    """Event files in `runs/NAME/tensorboard`; records undone by a rollback or a kill are not shown."""
    from torch.utils.tensorboard import SummaryWriter

    def after(step: int) -> Any:
        """A writer that invalidates earlier records of later steps."""
        return SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    writer, last = after(step), step

    def write(record: Record) -> None:
        nonlocal writer, last
        if record["step"] < last:  # the run went back
            writer.close()
            writer = after(record["step"])
        last = record["step"]
        for name, value in record.items():
            if isinstance(value, int | float) and name != "step":
                writer.add_scalar(name, value, last)
        writer.flush()

    try:
        yield write
    finally:
        writer.close()


@contextlib.contextmanager
def _wandb(folder: Path, recipe: Mapping[str, Any], step: int) -> Iterator[Log]:
    """Weights & Biases, offline in `runs/NAME/wandb` unless its own environment (WANDB_MODE, WANDB_API_KEY, ...) says
    otherwise. One W&B run, however often ours is resumed; it keeps records that a rollback or a kill undid, and draws
    them over the field `step`."""
    import wandb

    known = folder / "wandb" / "id"
    if not known.is_file():
        known.parent.mkdir(exist_ok=True)
        known.write_text(uuid.uuid4().hex[:8], encoding="utf-8")
    home = wandb.init(
        project=os.environ.get("WANDB_PROJECT", "tslens"),
        name=folder.name,
        id=known.read_text(encoding="utf-8"),
        resume="allow",
        config=dict(recipe),
        dir=str(folder),
        mode=os.environ.get("WANDB_MODE", "offline"),  # type: ignore[arg-type]
    )
    home.define_metric("*", step_metric="step")  # its own counter would refuse the steps after a rollback
    try:
        yield home.log
    finally:
        home.finish()


LOGGERS: dict[str, Callable[[Path, Mapping[str, Any], int], contextlib.AbstractContextManager[Log]]] = {
    "tensorboard": _tensorboard,
    "wandb": _wandb,
}
"""Loggers by their name in `--log`, which is the package's name."""
