"""How fast is a training step, forward and backward, beside other people's?

A turn is one batch: loss and gradients of every parameter, no optimiser. The peers run their own `forward` and their
own loss; the precision is each row's. In bf16 the peers run under autocast, as their users would. The plain GPT is
also compiled where the machine has a C++ compiler, and the faster of the two counts; ours is not compiled, as the
trainer has it by default.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch

from tslens import forward
from tslens.bench.measure import Benchmark, Measured, Target, Work, faster, take_turns
from tslens.bench.reference_gpt import ReferenceGPT
from tslens.bench.size import Size, gpt2, hooked, random_tokens, stock
from tslens.train.step import can_compile


def _ours(size: Size, dtype: torch.dtype) -> Work:
    model = hooked(size.spec)
    rows = random_tokens(size.batch, size.context + 1, size.vocabulary)  # the last token is predicted and not read

    def step() -> None:
        model.zero_grad(set_to_none=True)
        total, predicted = forward.loss(model, rows, dtype=dtype)
        (total / predicted).backward()

    return step


def _hooked(size: Size, dtype: torch.dtype) -> Work:
    model = stock(size.spec)
    rows = random_tokens(size.batch, size.context, size.vocabulary)
    return _autocast(model, lambda: model(rows, return_type="loss"), dtype)


def _gpt2(size: Size, dtype: torch.dtype) -> Work:
    model = gpt2(size.spec)
    rows = random_tokens(size.batch, size.context, size.vocabulary)
    return _autocast(model, lambda: model(input_ids=rows, labels=rows, use_cache=False).loss, dtype)


def _plain(size: Size, dtype: torch.dtype, *, compiled: bool = False) -> Work:
    model = ReferenceGPT(size.spec)
    rows = random_tokens(size.batch, size.context + 1, size.vocabulary)
    run = torch.compile(model) if compiled else model
    return _autocast(model, lambda: run(rows), dtype)


def _autocast(model: torch.nn.Module, loss: Callable[[], torch.Tensor], dtype: torch.dtype) -> Work:

    def step() -> None:
        model.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16):
            value = loss()
        value.backward()

    return step


@cache
def _times(size: Size, precision: str) -> dict[str, np.ndarray]:
    """Seconds of every side's step, all in turns; HookedTransformer's default is among them in either precision."""
    dtype = forward.dtype_for(precision, size.spec, torch.device("cpu"))
    works = {
        "ours": _ours(size, dtype),
        "HookedTransformer fp32": _hooked(size, torch.float32),
        "GPT2LMHeadModel": _gpt2(size, dtype),
        "plain GPT": _plain(size, dtype),
    }
    if size.compiled and can_compile():
        works["plain GPT compiled"] = _plain(size, dtype, compiled=True)
    if precision != "float32":
        works["HookedTransformer"] = _hooked(size, dtype)
    return dict(zip(works, take_turns(*works.values(), repeats=size.repeats).T, strict=True))


def _row(name: str, precision: str, peer: str, against: str, target: Target | None) -> Benchmark:
    def run(size: Size) -> Measured:
        times = _times(size, precision)
        ways = [times[name] for name in (peer, f"{peer} compiled") if name in times]
        fastest = min(ways, key=lambda spent: float(np.median(spent)))
        return faster(times["ours"], fastest, units=size.batch * size.context, unit="tokens")

    shown = "fp32" if precision == "float32" else "bf16 where it is faster"
    return Benchmark(
        name, f"training (forward and backward), 256x8, batch 16 x 256 tokens, {shown}", against, target, run
    )


HOOKED, PLAIN = "HookedTransformer fp32", "plain GPT"
BEST = "the best plain PyTorch GPT (compiled or not)"
BENCHMARKS = (
    _row("training-hooked", "auto", HOOKED, "HookedTransformer as it trains by default (fp32)", Target(3)),
    _row("training-gpt2", "auto", "GPT2LMHeadModel", "GPT2LMHeadModel, same precision (autocast)", Target(1)),
    _row("training-plain", "auto", PLAIN, f"{BEST}, same precision (autocast)", Target(1.2)),
    _row("training-hooked-bf16", "auto", "LanguageModel", "HookedTransformer, same precision (autocast)", None),
    _row("training-hooked-fp32", "float32", HOOKED, "HookedTransformer, fp32", None),
    _row("training-gpt2-fp32", "float32", "GPT2LMHeadModel", "GPT2LMHeadModel, fp32", None),
    _row("training-plain-fp32", "float32", PLAIN, f"{BEST}, fp32", None),
)
