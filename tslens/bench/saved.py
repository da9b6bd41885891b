"""Bytes that a training step keeps for its backward pass, and their ratio to HookedTransformer's.

The bytes of all distinct storages that autograd saves, parameters excluded, for one row: exact, and the same on every
machine.
"""

from tslens.bench.measure import Benchmark, Measured, Target
from tslens.bench.peers import HOOKED_FP32, OURS, TrainingSetup, peer
from tslens.bench.size import Size, random_tokens
from tslens.forward.saved_bytes import saved_bytes
from tslens.models import Spec


def _both(size: Size) -> tuple[int, int]:
    spec = Spec.parse(size.saved_shape, d_vocab=size.vocabulary, n_ctx=size.saved_context)
    rows = random_tokens(1, spec.n_ctx + 1, spec.d_vocab)
    ours, theirs = (peer(name, TrainingSetup(spec)) for name in (OURS, HOOKED_FP32))
    return saved_bytes(ours.model, lambda: ours.loss(rows)), saved_bytes(theirs.model, lambda: theirs.loss(rows))


def _ratio(size: Size) -> Measured:
    ours, theirs = _both(size)
    return Measured.exactly(ours / theirs, _megabytes(ours), _megabytes(theirs))


def _ours(size: Size) -> Measured:
    ours, theirs = _both(size)
    return Measured.exactly(ours / 1e6, _megabytes(ours), _megabytes(theirs))


def _megabytes(n: int) -> str:
    return f"{n / 1e6:,.0f} MB"


WHAT = "bytes saved for backward per sample, 512x12, context 512, fp32"
BENCHMARKS = (
    Benchmark("saved", WHAT, "HookedTransformer", Target(0.33, at_most=True), _ratio),
    Benchmark("saved-bytes", WHAT, "a number", None, _ours, unit=" MB"),
)
