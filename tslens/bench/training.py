"""How fast is a training step, forward and backward, beside other people's?

A turn is one batch: loss and gradients of every parameter, no optimiser. The peers run their own `forward` and their
own loss; the precision is each row's. In bf16 the peers run under autocast, as their users would.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch

from tslens import forward
from tslens.bench.measure import Bar, Benchmark, Measured, Work, faster, take_turns
from tslens.bench.size import Size, gpt2, hooked, random_tokens


def _ours(size: Size, precision: str) -> Work:
    model, dtype = hooked(size.spec), forward.precision(precision)
    rows = random_tokens(size.batch, size.context + 1, size.vocabulary)  # the last token is predicted and not read

    def step() -> None:
        model.zero_grad(set_to_none=True)
        total, predicted = forward.loss(model, rows, dtype=dtype)
        (total / predicted).backward()

    return step


def _hooked(size: Size, precision: str) -> Work:
    model = hooked(size.spec)
    rows = random_tokens(size.batch, size.context, size.vocabulary)
    return _autocast(model, lambda: model(rows, return_type="loss"), precision)


def _gpt2(size: Size, precision: str) -> Work:
    model = gpt2(size.spec)
    rows = random_tokens(size.batch, size.context, size.vocabulary)
    return _autocast(model, lambda: model(input_ids=rows, labels=rows, use_cache=False).loss, precision)


def _autocast(model: torch.nn.Module, loss: Callable[[], torch.Tensor], precision: str) -> Work:
    low = forward.precision(precision) is torch.bfloat16

    def step() -> None:
        model.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            value = loss()
        value.backward()

    return step


@cache
def _times(size: Size, precision: str) -> dict[str, np.ndarray]:
    """Seconds of every side's step, all in turns; HookedTransformer's default is among them in either precision."""
    works = {
        "ours": _ours(size, precision),
        "HookedTransformer fp32": _hooked(size, "float32"),
        "GPT2LMHeadModel": _gpt2(size, precision),
    }
    if precision != "float32":
        works["HookedTransformer"] = _hooked(size, precision)
    return dict(zip(works, take_turns(*works.values(), repeats=size.repeats).T, strict=True))


def _row(name: str, precision: str, peer: str, against: str, bar: Bar | None) -> Benchmark:
    def run(size: Size) -> Measured:
        times = _times(size, precision)
        return faster(times["ours"], times[peer], units=size.batch * size.context, unit="tokens")

    shown = "fp32" if precision == "float32" else "bf16 where the machine has it"
    return Benchmark(name, f"training, 256x8, batch 16 x 256 tokens, {shown}", against, bar, run)


HOOKED = "HookedTransformer fp32"
BENCHMARKS = (
    _row("training-hooked", "auto", HOOKED, "HookedTransformer as it trains by default (fp32)", Bar(3)),
    _row("training-gpt2", "auto", "GPT2LMHeadModel", "GPT2LMHeadModel, same precision (autocast)", Bar(1)),
    _row("training-hooked-bf16", "auto", "HookedTransformer", "HookedTransformer, same precision (autocast)", None),
    _row("training-hooked-fp32", "float32", HOOKED, "HookedTransformer, fp32", None),
    _row("training-gpt2-fp32", "float32", "GPT2LMHeadModel", "GPT2LMHeadModel, fp32", None),
)
