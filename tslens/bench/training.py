"""Speed of the training step, forward and backward, relative to other trainers.

A turn is one batch: loss and gradients of every parameter, no optimizer. Each row names its precision. The plain GPT is
also compiled if the machine has a C++ compiler, and the faster of the two counts; ours is not compiled, the trainer's
default.
"""

from functools import cache, partial

import numpy as np
import torch

from tslens import forward
from tslens.bench.measure import Benchmark, Measured, Target, Work, faster, take_turns
from tslens.bench.peers import GPT2, HOOKED, HOOKED_FP32, OURS, PEERS, PLAIN, TrainingSetup, peer
from tslens.bench.size import Size, random_tokens
from tslens.train.step import can_compile


@cache
def _times(size: Size, precision: str) -> dict[str, np.ndarray]:
    """Seconds of every peer's step, all in turns; HookedTransformer's default is among them in either precision."""
    dtype = forward.dtype_for(precision, size.spec, torch.device("cpu"))
    rows = random_tokens(size.batch, size.context + 1, size.vocabulary)
    setups = {name: TrainingSetup(size.spec, dtype) for name in PEERS if name != HOOKED or precision != "float32"}
    works: dict[str, Work] = {name: partial(peer(name, setup).backward, rows) for name, setup in setups.items()}
    if size.compiled and can_compile():
        compiled = TrainingSetup(size.spec, dtype, backend="inductor")
        works[f"{PLAIN} compiled"] = partial(peer(PLAIN, compiled).backward, rows)
    return dict(zip(works, take_turns(*works.values(), repeats=size.repeats).T, strict=True))


def _row(name: str, precision: str, other: str, against: str, target: Target | None) -> Benchmark:
    def run(size: Size) -> Measured:
        times = _times(size, precision)
        ways = [times[way] for way in (other, f"{other} compiled") if way in times]
        fastest = min(ways, key=lambda spent: float(np.median(spent)))
        return faster(times[OURS], fastest, units=size.batch * size.context, unit="tokens")

    shown = "fp32" if precision == "float32" else "bf16 where it is faster"
    return Benchmark(
        name, f"training (forward and backward), 256x8, batch 16 x 256 tokens, {shown}", against, target, run
    )


BEST = "the best plain PyTorch GPT (compiled or not)"
BENCHMARKS = (
    _row("training-hooked", "auto", HOOKED_FP32, "HookedTransformer as it trains by default (fp32)", Target(3)),
    _row("training-gpt2", "auto", GPT2, "GPT2LMHeadModel, same precision (autocast)", Target(1)),
    _row("training-plain", "auto", PLAIN, f"{BEST}, same precision (autocast)", Target(1.2)),
    _row("training-hooked-bf16", "auto", HOOKED, "HookedTransformer, same precision (autocast)", None),
    _row("training-hooked-fp32", "float32", HOOKED_FP32, "HookedTransformer, fp32", None),
    _row("training-gpt2-fp32", "float32", GPT2, "GPT2LMHeadModel, fp32", None),
    _row("training-plain-fp32", "float32", PLAIN, f"{BEST}, fp32", None),
)
