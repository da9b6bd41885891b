"""Data-parallel training of one model by several processes.

`torchrun` starts the processes and assigns ranks; without it there is one. Every process builds the whole batch of a
step, which costs microseconds per row, and takes every `size`-th row of it: each process gets the same mixture of rows,
and knows the number of predictions of the whole batch without communication.
"""

import contextlib
import dataclasses
import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from tslens import interrupt
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.train.data import TrainingBatch
    from tslens.train.recipe import Recipe

Made = TypeVar("Made")

# Packing a large data set keeps the others waiting for the first process. A process that died is noticed by torchrun.
PATIENCE = datetime.timedelta(hours=12)
LOST = ("Connection closed by peer", "Connection reset by peer", "remote process exited")  # as gloo and nccl say it


@dataclasses.dataclass(frozen=True)
class World:
    """All processes of a run, from the view of one of them."""

    rank: int = 0
    size: int = 1
    device: torch.device = dataclasses.field(default_factory=lambda: _device(0))
    parent: int = dataclasses.field(default_factory=os.getppid)
    """The process that started this one."""

    @property
    def orphaned(self) -> bool:
        """Whether `torchrun`, which started this process with others, was killed and left it."""
        return self.size > 1 and os.getppid() != self.parent

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.rank == 0

    def share(self, batch: "TrainingBatch") -> "TrainingBatch":
        """The rows of a batch that this process computes."""
        return batch if self.size == 1 else batch.share(self.rank, self.size)

    def sum(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.size > 1:
            value = value.clone()
            torch.distributed.all_reduce(value)
        return value

    def any(self, flag: bool) -> bool:
        """Whether the condition holds in any process. Communicates on the host, without waiting for a device."""
        if self.size == 1:
            return flag
        said = torch.tensor(int(flag))
        torch.distributed.all_reduce(said, torch.distributed.ReduceOp.MAX)
        return bool(said)

    def same(self, number: int) -> bool:
        """Whether all processes give the same number."""
        if self.size == 1:
            return True
        ends = torch.tensor([number, -number])
        torch.distributed.all_reduce(ends, torch.distributed.ReduceOp.MAX)
        return int(ends[0]) == -int(ends[1])

    def decided(self, decide: Callable[[], Sequence[float]], n: int) -> list[float]:
        """The `n` numbers chosen by the first process, in every process."""
        said = torch.tensor(decide() if self.first else [0.0] * n, dtype=torch.float64)
        if self.size > 1:
            torch.distributed.broadcast(said, 0)
        return list(said.tolist())

    def wait(self) -> None:
        """Wait until all processes arrive."""
        self.any(False)

    def once(self, make: Callable[[], Made], reopen: Callable[[], Made]) -> Made:
        """The result of `make` in the first process and then of `reopen` in the others. If `make` fails, the first
        process raises its error and the others exit quietly."""
        made: Made | None = None
        failed: Exception | None = None
        if self.first:
            try:
                made = make()
            except Exception as error:  # not Ctrl-C, which all processes are given
                failed = error
        if self.any(failed is not None):
            raise failed or SystemExit(2)
        return reopen() if made is None else made

    def check_rows(self, recipe: "Recipe") -> None:
        """InputError if a step has fewer rows than there are processes."""
        if (groups := recipe.smallest_batch // recipe.group) < self.size:
            what = "row" if recipe.group == 1 else f"group of {recipe.group} rows"
            few = f"train.batch is {groups} {what}{'s' * (groups != 1)}, fewer than the {self.size} processes."
            raise self.error_here(InputError(few), 2)

    def parallel(self, module: nn.Module) -> nn.Module:
        """The module with its gradients averaged over the processes in the backward pass.

        The fast forward reads a model's parameters without calling the model, so DistributedDataParallel wraps a module
        that computes the loss. It hooks the parameters' gradients and does not need the model's own call; its advantage
        over a plain all-reduce is that buckets are sent during the backward pass.
        """
        if self.size == 1:
            return module
        return nn.parallel.DistributedDataParallel(
            module,
            device_ids=[self.device] if self.device.type == "cuda" else None,
            gradient_as_bucket_view=True,
        )

    def error_here(self, error: BaseException, code: int) -> BaseException:
        """The exception when all processes stop for one reason: the error in the first, a quiet exit in the others."""
        return error if self.first else SystemExit(code)


def no_sync(module: nn.Module) -> contextlib.AbstractContextManager[Any]:
    """Backward passes in the block only add to this process's own gradients."""
    return module.no_sync() if isinstance(module, nn.parallel.DistributedDataParallel) else contextlib.nullcontext()


@contextlib.contextmanager
def process_group(run: str = "NAME") -> Iterator[World]:
    """Initialise torch.distributed for the processes that `torchrun` started; without it there is one.

    A group that the caller has initialised is used, and not destroyed. InputError if there are more processes than
    GPUs, on a machine that has any; and if another process of the `run` ended while they trained.
    """
    size = int(os.environ.get("WORLD_SIZE", "1")) if {"RANK", "MASTER_ADDR"} <= os.environ.keys() else 1
    if size == 1:
        yield World()
        return
    rank, local = int(os.environ["RANK"]), int(os.environ.get("LOCAL_RANK", "0"))
    world = World(rank, size, _device(local))
    if torch.distributed.is_initialized():
        yield world
        return
    cuda = world.device.type == "cuda"
    if cuda:
        torch.cuda.set_device(world.device)
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=PATIENCE)
    with interrupt.sigterm_deferred():  # torchrun sends it to the others when one ends: each still says so in its line
        try:
            yield world
        except RuntimeError as error:  # of gloo and nccl
            if not any(words in str(error) for words in LOST):
                raise
            raise InputError(
                f"Another of the {size} processes ended, so number {rank} does too. The last checkpoint is safe; to go "
                f"on from it, start them again with: tslens train --resume {run}"
            ) from None
        finally:
            torch.distributed.destroy_process_group()


def _device(local: int) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local >= (n := torch.cuda.device_count()):
        raise InputError(f"torchrun started process {local + 1} on a machine of {n} GPUs. Use --nproc-per-node {n}.")
    return torch.device("cuda", local)
