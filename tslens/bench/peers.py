"""Who trains the model in the race on a GPU, and how does each build it and compute its loss?"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from tslens.bench.parameter_shell import parameter_shell
from tslens.bench.reference_gpt import ReferenceGPT
from tslens.bench.size import gpt2, hooked, stock
from tslens.models import Spec
from tslens.train.data import TrainingBatch
from tslens.train.objectives.language import LanguageModelling

Loss = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Setting:
    """How big, how often, how long."""

    device: str = "cuda"
    shape: str = "512x12"
    vocabulary: int = 4096
    context: int = 512
    batch: int = 64
    batches: tuple[int, ...] = (8, 32, 64, 128)
    """whose peak memory is read off, of the sides that need no compiling"""
    turns: int = 8
    steps: int = 5
    """of a turn"""
    square: int = 8192
    """side of the matrices whose product is the peak"""
    seconds: float = 330.0
    """after which nothing new is begun"""
    deadline: float = 465.0
    """after which what was measured so far is written, whatever is under way"""
    backend: str = "inductor"

    @property
    def spec(self) -> Spec:
        return Spec.parse(self.shape, d_vocab=self.vocabulary, n_ctx=self.context)


SMOKE = Setting("cpu", "16x1x2", 64, 16, 4, (2, 4), 2, 1, 64, backend="aot_eager")


@dataclass(frozen=True)
class Peer:
    """One way to train the model."""

    trainer: str
    make: Callable[[Setting, bool], tuple[nn.Module, Loss]]
    """the model and its mean loss on rows, compiled or not"""
    needs: str | None = None
    """a package that must be there"""
    compiled: bool = False
    precision: str = "bf16"

    @property
    def name(self) -> str:
        return self.trainer + (" compiled" if self.compiled else "")

    def build(self, setting: Setting) -> tuple[nn.Module, Loss]:
        """The model, and its mean loss on rows `[batch, context + 1]`."""
        return self.make(setting, self.compiled)


def ours(setting: Setting, compiled: bool = False) -> tuple[nn.Module, Loss]:
    """As the trainer computes it, and compiles it."""
    model = hooked(setting.spec) if find_spec("transformer_lens") else parameter_shell(setting.spec)
    compute = _maybe(LanguageModelling().__call__, setting, compiled)

    def loss(rows: Tensor) -> Tensor:
        total, _ = compute(model, TrainingBatch(rows), torch.bfloat16)
        return total / rows[:, 1:].numel()

    return model, loss


def _plain(setting: Setting, compiled: bool) -> tuple[nn.Module, Loss]:
    model = ReferenceGPT(setting.spec)
    return model, _autocast(setting, _maybe(model, setting, compiled))


def _transformers(setting: Setting, compiled: bool) -> tuple[nn.Module, Loss]:
    model = gpt2(setting.spec).train()
    run = _maybe(model, setting, compiled)

    def loss(rows: Tensor) -> Tensor:
        read = rows[:, :-1].contiguous()
        return run(input_ids=read, labels=read, use_cache=False).loss

    return model, _autocast(setting, loss)


def _hooked(setting: Setting, compiled: bool) -> tuple[nn.Module, Loss]:
    model, loss = _hooked_fp32(setting, compiled)
    return model, _autocast(setting, loss)


def _hooked_fp32(setting: Setting, compiled: bool) -> tuple[nn.Module, Loss]:
    model = stock(setting.spec)
    return model, lambda rows: model(rows[:, :-1], return_type="loss")


def _maybe(compute: Any, setting: Setting, compiled: bool) -> Any:
    return torch.compile(compute, backend=setting.backend) if compiled else compute


def _autocast(setting: Setting, loss: Loss) -> Loss:
    def low(rows: Tensor) -> Tensor:
        with torch.autocast(setting.device, torch.bfloat16):
            return loss(rows)

    return low


PEERS = (
    Peer("tslens", ours),
    Peer("plain GPT", _plain),
    Peer("GPT2LMHeadModel", _transformers, needs="transformers"),
    Peer("HookedTransformer", _hooked, needs="transformer_lens"),
    Peer("HookedTransformer fp32", _hooked_fp32, needs="transformer_lens", precision="fp32"),
    Peer("tslens", ours, compiled=True),
    Peer("plain GPT", _plain, compiled=True),
    Peer("GPT2LMHeadModel", _transformers, needs="transformers", compiled=True),
)
