"""How much does a forward pass keep for its backward pass?

The bytes of all distinct storages that autograd saves, parameters excluded, for one row: exact, and the same on every
machine.
"""

from tslens import forward
from tslens.bench.measure import Benchmark, Measured, Target
from tslens.bench.size import Size, hooked, random_tokens, stock
from tslens.forward.saved_bytes import saved_bytes
from tslens.models import Spec


def _both(size: Size) -> tuple[int, int]:
    spec = Spec.parse(size.saved_shape, d_vocab=size.vocabulary, n_ctx=size.saved_context)
    model = hooked(spec)
    rows = random_tokens(1, spec.n_ctx + 1, spec.d_vocab)
    ours = saved_bytes(model, lambda: forward.loss(model, rows)[0])
    theirs = stock(spec)
    return ours, saved_bytes(theirs, lambda: theirs(rows[:, :-1], return_type="loss"))


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
    Benchmark("saved", WHAT, "LanguageModel", Target(0.33, at_most=True), _ratio),
    Benchmark("saved-bytes", WHAT, "a number", Target(212, at_most=True), _ours, unit=" MB"),
)
