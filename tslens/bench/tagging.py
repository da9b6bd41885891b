"""How many words get their right part of speech, where the truth is known?"""

from tslens import pos
from tslens.bench.measure import Bar, Benchmark, Measured
from tslens.bench.size import Size
from tslens.stories.generator import generate


def _run(size: Size) -> Measured:
    found = pos.accuracy(generate(size.compared))
    return Measured(float(found.estimate), float(found.low), float(found.high), size.compared)


BENCHMARKS = (
    Benchmark("tagging", "words of 1,000 made stories with their true part of speech", "a share", Bar(0.95), _run, ""),
)
