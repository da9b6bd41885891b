"""Speed of a scan of all neurons relative to a hand-written loop and to the forward pass alone.

Our time is that of the whole pass: tokenizing stories, sorting them into batches, the forward pass, tops, sample and
sums of every neuron. The other side gets the same batches as tokens. The work before the pass (each neuron's effect on
the logits) and after it (parts of speech, tests) hardly grows with the corpus; it has a row of its own.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tslens import forward, scan
from tslens.analysis.neurons import Profiles
from tslens.bench.measure import Benchmark, Measured, Target, Work, clocked, faster, take_turns
from tslens.bench.peers import stock
from tslens.bench.size import Size, corpus, tokenizer
from tslens.models import attach_tokenizer, build

if TYPE_CHECKING:
    from tslens.models import LanguageModel, Spec

K = 20


class _Started(Profiles):
    """`Profiles` that records when the pass begins."""

    def start(self, model: "LanguageModel") -> Any:
        state = super().start(model)
        object.__setattr__(self, "began", time.perf_counter())
        return state


def _model(size: Size, make: "Callable[[Spec], LanguageModel]" = build) -> "LanguageModel":
    model = make(size.spec)
    attach_tokenizer(model, tokenizer(size))
    return model


def _batches(size: Size) -> list[scan.Batch]:
    stories = corpus(size.scanned)
    return list(scan.batches(stories, tokenizer(size), context=size.context))


def _scan(size: Size, model: "LanguageModel", precision: str) -> Work:
    stories = corpus(size.scanned)

    def work() -> float:
        reducer: Any = _Started(k=K)
        scan.states(model, stories, [reducer], precision=precision)
        began: float = reducer.began
        return time.perf_counter() - began

    return work


def _with_cache(model: "LanguageModel", batches: list[scan.Batch]) -> Work:
    """A loop with TransformerLens alone: cache all MLP activations, keep each neuron's largest."""
    names = [f"blocks.{i}.mlp.hook_post" for i in range(model.cfg.n_layers)]

    def work() -> None:
        best: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        with torch.inference_mode():
            for number, batch in enumerate(batches):
                _, cache = model.run_with_cache(batch.tokens, names_filter=names)
                for name in names:
                    best[name] = _merged(best.get(name), cache[name][batch.mask], number)

    return work


def _merged(
    best: tuple[torch.Tensor, torch.Tensor] | None, acts: torch.Tensor, number: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest values of each neuron (columns) so far, and their places: batch number and row."""
    values, places = acts.topk(min(K, len(acts)), dim=0)
    places = places + (number << 32)
    if best is None:
        return values, places
    values, places = torch.cat([best[0], values]), torch.cat([best[1], places])
    values, order = values.topk(min(K, len(values)), dim=0)
    return values, places.gather(0, order)


def _bare(model: "LanguageModel", batches: list[scan.Batch], precision: str) -> Work:
    dtype = forward.resolve_dtype(precision, model)

    def work() -> None:
        with torch.inference_mode():
            for batch in batches:
                forward.residual(model, batch.tokens, dtype=dtype)

    return work


@cache
def _times(size: Size, precision: str) -> tuple[int, dict[str, np.ndarray]]:
    """Tokens of a turn, and seconds of every side's, all in turns."""
    model, batches = _model(size), _batches(size)
    works = {
        "ours": _scan(size, model, precision),
        "cache": _with_cache(_model(size, stock), batches),
        "forward": _bare(model, batches, precision),
    }
    times = dict(zip(works, take_turns(*works.values(), repeats=size.repeats).T, strict=True))
    return sum(int(batch.mask.sum()) for batch in batches), times


def _around(size: Size) -> Measured:
    """Seconds before and after the pass."""
    model, stories = _model(size), corpus(size.scanned)
    (state,) = scan.states(model, stories, [Profiles(k=K)])

    def work() -> None:
        Profiles(k=K).start(model)
        Profiles(k=K).finish(state)

    return clocked(work, repeats=min(2, size.repeats))


def _row(name: str, precision: str, peer: str, against: str, target: Target | None) -> Benchmark:
    def run(size: Size) -> Measured:
        tokens, times = _times(size, precision)
        return faster(times["ours"], times[peer], units=tokens, unit="tokens")

    shown = "fp32" if precision == "float32" else "bf16 where it is faster"
    return Benchmark(name, f"top-{K} scan of all neurons, 256x8, {shown}", against, target, run)


CACHE, FORWARD = "run_with_cache and topk, fp32", "our bare forward without the unembedding, same precision"
BENCHMARKS = (
    _row("scan-cache", "float32", "cache", CACHE, Target(4)),
    _row("scan-cache-bf16", "auto", "cache", CACHE, Target(4)),
    _row("scan-forward", "float32", "forward", FORWARD, Target(0.8)),
    _row("scan-forward-bf16", "auto", "forward", FORWARD, Target(0.8)),
    Benchmark(
        "scan-around",
        f"before and after such a scan: effects on the logits, parts of speech and tests of all neurons' top {K}",
        "seconds",
        None,
        _around,
        unit=" s",
    ),
)
