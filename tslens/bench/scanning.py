"""How fast are all neurons of a model read, beside a loop of one's own and beside the bare forward pass?

Timed on our side is the whole pass: cutting stories into tokens, sorting them into batches, the forward pass, tops,
sample and sums of every neuron. On the other side the same batches lie ready as tokens. What comes before the pass
(each neuron's effect on the logits) and after it (parts of speech, tests) does not grow with the corpus, or hardly;
it has a row of its own.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tslens import forward, scan
from tslens.analysis.neurons import Profiles
from tslens.bench.measure import Bar, Benchmark, Measured, Work, clocked, race
from tslens.bench.size import Size, corpus, hooked, tokenizer
from tslens.models import attach_tokenizer

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

K = 20


class _Started(Profiles):
    """`Profiles`, which notes when the pass begins."""

    def start(self, model: "HookedTransformer") -> Any:
        state = super().start(model)
        object.__setattr__(self, "began", time.perf_counter())
        return state


def _model(size: Size) -> "HookedTransformer":
    model = hooked(size.spec)
    attach_tokenizer(model, tokenizer(size.vocabulary))
    return model


def _batches(size: Size) -> list[scan.Batch]:
    stories = corpus(size.scanned)
    return list(scan.batches(stories, tokenizer(size.vocabulary), context=size.context))


def _scan(size: Size, model: "HookedTransformer", precision: str) -> Work:
    stories = corpus(size.scanned)

    def work() -> float:
        reducer: Any = _Started(k=K)
        scan.states(model, stories, [reducer], precision=precision, progress=False)
        return time.perf_counter() - reducer.began

    return work


def _with_cache(model: "HookedTransformer", batches: list[scan.Batch], precision: str) -> Work:
    """What one writes with TransformerLens alone: cache all MLP activations, keep each neuron's largest."""
    names = [f"blocks.{i}.mlp.hook_post" for i in range(model.cfg.n_layers)]
    low = forward.precision(precision) is torch.bfloat16

    def work() -> None:
        best: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=low):
            for number, batch in enumerate(batches):
                _, cache = model.run_with_cache(batch.tokens, names_filter=names, return_type=None)
                for name in names:
                    best[name] = _merged(best.get(name), cache[name][batch.mask], number)

    return work


def _merged(
    best: tuple[torch.Tensor, torch.Tensor] | None, acts: torch.Tensor, number: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest values of each neuron (columns) so far, and where they stand: batch number and row."""
    values, places = acts.topk(min(K, len(acts)), dim=0)
    places = places + (number << 32)
    if best is None:
        return values, places
    values, places = torch.cat([best[0], values]), torch.cat([best[1], places])
    values, order = values.topk(min(K, len(values)), dim=0)
    return values, places.gather(0, order)


def _bare(model: "HookedTransformer", batches: list[scan.Batch], precision: str) -> Work:
    dtype = forward.precision(precision)

    def work() -> None:
        with torch.inference_mode():
            for batch in batches:
                forward.residual(model, batch.tokens, dtype=dtype)

    return work


def _run(size: Size, peer: Any, precision: str) -> Measured:
    model, batches = _model(size), _batches(size)
    tokens = sum(int(batch.mask.sum()) for batch in batches)
    ours, theirs = _scan(size, model, precision), peer(model, batches, precision)
    return race(ours, theirs, repeats=size.repeats, units=tokens, unit="tokens")


def _around(size: Size) -> Measured:
    """Seconds before and after the pass."""
    model, stories = _model(size), corpus(size.scanned)
    (state,) = scan.states(model, stories, [Profiles(k=K)], progress=False)

    def work() -> None:
        Profiles(k=K).start(model)
        Profiles(k=K).finish(state)

    return clocked(work, repeats=min(2, size.repeats))


def _row(name: str, precision: str, peer: Any, against: str, bar: Bar | None) -> Benchmark:
    what = f"top-{K} scan of all neurons, 256x8, {'fp32' if precision == 'float32' else 'bf16'}"
    return Benchmark(name, what, against, bar, partial(_run, peer=peer, precision=precision))


BENCHMARKS = (
    _row("scan-cache", "float32", _with_cache, "run_with_cache (without unembedding) and topk, fp32", Bar(4)),
    _row("scan-forward", "float32", _bare, "our bare forward without the unembedding, fp32", Bar(0.8)),
    _row("scan-cache-bf16", "auto", _with_cache, "run_with_cache (without unembedding) and topk, bf16 autocast", None),
    _row("scan-forward-bf16", "auto", _bare, "our bare forward without the unembedding, bf16", None),
    Benchmark(
        "scan-around",
        f"before and after such a scan: effects on the logits, parts of speech and tests of all neurons' top {K}",
        "seconds",
        None,
        _around,
        unit=" s",
    ),
)
