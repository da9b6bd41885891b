"""Peers that train the same model: how each builds it at a shape, computes its loss on rows, and updates it.

Each runs in its usual way: its own forward, its own loss, and autocast if the precision is bfloat16. Every benchmark
and study that compares training uses these peers.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from tslens.bench.parameter_shell import parameter_shell
from tslens.bench.reference_gpt import ReferenceGPT
from tslens.models import LanguageModel, Spec, build
from tslens.train import optimizer as optimizers
from tslens.train.data import TrainingBatch
from tslens.train.objectives.language import LanguageModelling

Loss = Callable[[Tensor], Tensor]
"""The mean loss on rows `[batch, context + 1]`, in nats per token."""

POSITIONS = ("wpe", "positions")
"""Names of the peers' position embeddings, which have no weight decay."""


@dataclass(frozen=True)
class TrainingSetup:
    """The shape that a peer trains, and how it computes."""

    spec: Spec
    dtype: torch.dtype = torch.float32
    """dtype of the products; parameters are float32"""
    device: str = "cpu"
    backend: str | None = None
    """mode of `torch.compile`; None if nothing is compiled"""
    all_predicted: bool = False
    """HookedTransformer and GPT2LMHeadModel do not predict the token after the last one read. If false, every peer
    reads `context` tokens of a row, and these two predict one less; if true, all predict as many and these two read
    one more."""

    def compile(self, compute: Any) -> Any:
        """The function or module, compiled if requested."""
        return compute if self.backend is None else torch.compile(compute, backend=self.backend)

    def read(self, rows: Tensor) -> Tensor:
        """The tokens for a peer whose own loss predicts the tokens that it reads."""
        return rows if self.all_predicted else rows[:, :-1].contiguous()


class PeerModel(NamedTuple):
    """A model with its mean loss on rows."""

    model: nn.Module
    loss: Loss

    @property
    def trained(self) -> list[nn.Parameter]:
        """The trained parameters."""
        return [p for p in self.model.parameters() if p.requires_grad]

    def backward(self, rows: Tensor) -> None:
        """Loss and gradients of every parameter."""
        self.model.zero_grad(set_to_none=True)
        self.loss(rows).backward()

    def step(self, rows: Tensor, optimizer: torch.optim.Optimizer, clip: float | None = None) -> None:
        """A whole step on these rows; `clip` is the largest global gradient norm."""
        self.backward(rows)
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(self.trained, clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def optimizer(self, settings: optimizers.OptimizerSettings) -> torch.optim.Optimizer:
        """The trainer's optimizer; for a peer the fused AdamW with the same rule: weight decay on matrices, not on
        position embeddings, norms and biases."""
        named = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        if any("W_" in name for name in named):
            return optimizers.make(self.model, settings)
        decays = {n for n, p in named.items() if p.ndim == 2 and not any(part in n for part in POSITIONS)}
        groups: list[dict[str, Any]] = [
            {"params": [named[n] for n in named if n in decays], "weight_decay": settings.weight_decay, "scale": 1.0},
            {"params": [named[n] for n in named if n not in decays], "weight_decay": 0.0, "scale": 1.0},
        ]
        return torch.optim.AdamW(groups, lr=settings.lr, betas=(settings.beta1, settings.beta2), fused=True)


@dataclass(frozen=True)
class Peer:
    """One trainer of the model."""

    make: Callable[[TrainingSetup], PeerModel]
    needs: str | None = None
    """a package that it needs"""
    fp32: bool = False
    """whether it always computes in float32"""

    def build(self, setup: TrainingSetup) -> PeerModel:
        """The model on its device, and its mean loss under the setup's precision."""
        made = self.make(replace(setup, dtype=torch.float32) if self.fp32 else setup)
        if setup.device != "cpu":
            with redirect_stdout(sys.stderr):  # TransformerLens prints where it moves a model
                made.model.to(setup.device)
        return made

    @property
    def missing(self) -> bool:
        """Whether its package is not installed."""
        return self.needs is not None and find_spec(self.needs) is None


def stock(spec: Spec) -> LanguageModel:
    """The HookedTransformer to compare with: the same weights in TransformerLens's own layout, on which its forward is
    slightly faster than on ours."""
    model = build(spec)
    for parameter in model.parameters():
        parameter.data = parameter.data.contiguous()
    return model


def gpt2(spec: Spec) -> Any:
    """transformers' GPT2LMHeadModel of the same shape: tied, fused attention, no dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    shape: dict[str, Any] = {
        "vocab_size": spec.d_vocab,
        "n_positions": spec.n_ctx,
        "n_embd": spec.d_model,
        "n_layer": spec.n_layers,
        "n_head": spec.n_heads,
        "n_inner": spec.mlp_width,
        "tie_word_embeddings": True,
        "attn_implementation": "sdpa",
        "bos_token_id": 0,
        "eos_token_id": None,
    }
    model: Any = GPT2LMHeadModel(GPT2Config(**shape))
    return model.eval()


def _ours(setup: TrainingSetup) -> PeerModel:
    """Our model as the trainer computes and compiles it; without TransformerLens on the same parameters."""
    model = build(setup.spec) if find_spec("transformer_lens") else parameter_shell(setup.spec)
    compute = setup.compile(LanguageModelling().__call__)

    def loss(rows: Tensor) -> Tensor:
        total: Tensor = compute(model, TrainingBatch(rows), setup.dtype)[0]
        return total / rows[:, 1:].numel()

    return PeerModel(cast(nn.Module, model), loss)


def _hooked(setup: TrainingSetup) -> PeerModel:
    model = cast(nn.Module, stock(setup.spec))
    run = setup.compile(model)
    return PeerModel(model, _autocast(setup, lambda rows: run(setup.read(rows), return_type="loss")))


def _gpt2(setup: TrainingSetup) -> PeerModel:
    model = gpt2(setup.spec)
    run = setup.compile(model)

    def loss(rows: Tensor) -> Tensor:
        read = setup.read(rows)
        found: Tensor = run(input_ids=read, labels=read, use_cache=False).loss
        return found

    return PeerModel(model, _autocast(setup, loss))


def _reference_gpt(setup: TrainingSetup) -> PeerModel:
    model = ReferenceGPT(setup.spec)
    return PeerModel(model, _autocast(setup, setup.compile(model)))


def _autocast(setup: TrainingSetup, loss: Loss) -> Loss:
    def under(rows: Tensor) -> Tensor:
        with torch.autocast(setup.device, torch.bfloat16, enabled=setup.dtype is torch.bfloat16):
            return loss(rows)

    return under


OURS, PLAIN, GPT2 = "tslens", "plain GPT", "GPT2LMHeadModel"
HOOKED, HOOKED_FP32 = "HookedTransformer", "HookedTransformer fp32"
PEERS = {
    OURS: Peer(_ours),
    PLAIN: Peer(_reference_gpt),
    GPT2: Peer(_gpt2, needs="transformers"),
    HOOKED: Peer(_hooked, needs="transformer_lens"),
    HOOKED_FP32: Peer(_hooked, needs="transformer_lens", fp32=True),
}


def peer(name: str, setup: TrainingSetup) -> PeerModel:
    """Build the peer of this name."""
    return PEERS[name].build(setup)
