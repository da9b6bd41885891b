"""Differences between a scan's results in bfloat16 and in float32.

The bundled model is scanned in float32 and in bfloat16 over the same made stories, for heads, neurons and lens.
"""

from functools import cache
from typing import Any

from torch import Tensor

from tslens import models, scan
from tslens.analysis import heads, lens, neurons
from tslens.analysis.neurons import ProfilesResult
from tslens.bench.measure import Benchmark, Measured
from tslens.bench.size import Size, corpus
from tslens.draws import draw
from tslens.stats import bootstrap

MODEL = "stories2M"
K = 20  # top tokens of a neuron
SHARES = {
    "neurons": ("firing_rate", "share", "tag_share", "auroc"),
    "heads": (
        *("effect", "positional_fraction", "r_full", "r_causal", "entropy_share", "on_bos", "on_self", "previous"),
        *("duplicate", "induction", "previous_random", "duplicate_random", "induction_random"),
    ),
    "lens": ("agreement",),
}
"""Measures on a scale of 0 to 1 (correlations: -1 to 1)."""


@cache
def _answers(size: Size, precision: str) -> list[Any]:
    """Results for neurons, heads and lens."""
    model, stories = models.load(MODEL), corpus(size.scanned)
    reducers: list[Any] = [neurons.Profiles(K), heads.Roles(), lens.ByDepth()]
    answers: list[Any] = scan.scan(model, stories, reducers, precision=precision)
    return answers


def same_lists(a: ProfilesResult, b: ProfilesResult) -> Tensor:
    """For each neuron, the share of its top tokens in `a` that are also in `b`, by story and position."""
    found = [
        draw(x.story_hashes[x.top_story], x.story_occurrences[x.top_story], x.top_pos).flatten(0, 1) for x in (a, b)
    ]
    return (found[0][:, :, None] == found[1][:, None, :]).any(2).double().mean(1)


def largest_move(before: Any, after: Any, fields: tuple[str, ...]) -> tuple[float, str]:
    """The largest change of any share or score, and its name; NaN on either side counts as no change."""
    moves = ((getattr(after, field) - getattr(before, field)).abs().nan_to_num(0.0) for field in fields)
    return max((float(move.max()), field) for move, field in zip(moves, fields, strict=True))


def _lists(size: Size) -> Tensor:
    return same_lists(_answers(size, "float32")[0], _answers(size, "bfloat16")[0])


def _mean(size: Size) -> Measured:
    shares = _lists(size).numpy()
    found = bootstrap(shares)
    return Measured(float(found.estimate), float(found.low), float(found.high), len(shares))


def _worst(size: Size) -> Measured:
    shares = _lists(size)
    return Measured.exactly(float(shares.min()), f"{int((shares < 0.95).sum()):,} of {len(shares):,} below 0.95")


def _move(size: Size) -> Measured:
    both = (_answers(size, precision) for precision in ("float32", "bfloat16"))
    found = [(*largest_move(a, b, SHARES[name]), name) for name, a, b in zip(SHARES, *both, strict=True)]
    moves = ", ".join(f"{name} {move:.4f} ({field})" for move, field, name in found)
    return Measured.exactly(max(move for move, *_ in found), moves)


WHAT = f"{MODEL} scanned in bf16: tokens of a neuron's top {K} that are fp32's"
BENCHMARKS = (
    Benchmark("scan-bf16-agreement", WHAT, "mean share over all neurons", None, _mean, ""),
    Benchmark("scan-bf16-worst", WHAT, "the neuron with the fewest", None, _worst, ""),
    Benchmark(
        "scan-bf16-move",
        f"{MODEL} scanned in bf16: the largest move of a reported share or score",
        "the scan in fp32",
        None,
        _move,
        "",
    ),
)
