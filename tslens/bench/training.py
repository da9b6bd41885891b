"""How fast is a training step, forward and backward, beside other people's?

A turn is one batch: loss and gradients of every parameter, no optimiser. The peers run their own `forward` and their
own loss; the precision is each row's. In bf16 the peers run under autocast, as their users would.
"""

from collections.abc import Callable

import torch

from tslens import forward
from tslens.bench.measure import Bar, Benchmark, Measured, Work, race
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


def _compare(
    name: str, what: str, peer: Callable[[Size, str], Work], precisions: tuple[str, str], against: str, bar: Bar | None
) -> Benchmark:
    ours, theirs = precisions

    def run(size: Size) -> Measured:
        tokens = size.batch * size.context
        return race(_ours(size, ours), peer(size, theirs), repeats=size.repeats, units=tokens, unit="tokens")

    return Benchmark(name, what, against, bar, run)


STEP = "training, 256x8, batch 16 x 256 tokens"
BENCHMARKS = (
    _compare(
        "training-hooked",
        f"{STEP}, bf16 where the machine has it",
        _hooked,
        ("auto", "float32"),
        "HookedTransformer as it trains by default (fp32)",
        Bar(3),
    ),
    _compare("training-gpt2", f"{STEP}, bf16", _gpt2, ("auto", "auto"), "GPT2LMHeadModel, bf16 autocast", Bar(1)),
    _compare(
        "training-hooked-bf16", f"{STEP}, bf16", _hooked, ("auto", "auto"), "HookedTransformer, bf16 autocast", None
    ),
    _compare("training-hooked-fp32", f"{STEP}, fp32", _hooked, ("float32", "float32"), "HookedTransformer, fp32", None),
    _compare("training-gpt2-fp32", f"{STEP}, fp32", _gpt2, ("float32", "float32"), "GPT2LMHeadModel, fp32", None),
)
