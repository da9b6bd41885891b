"""Does the memory of a scan grow with the corpus?

Each corpus is a file, read as it is scanned, by a process of its own whose largest resident memory is asked of the
system. Heads, neurons and lens are read in the same pass.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tslens.bench.measure import Bar, Benchmark, Measured
from tslens.bench.size import Size, corpus, tokenizer

TIMES = 10


def peak_memory(size: Size, stories: int) -> int:
    """Bytes: the largest resident memory of a process that scans so many stories."""
    with tempfile.TemporaryDirectory() as folder:
        source, cut = Path(folder) / "stories.txt", Path(folder) / "tokenizer.json"
        source.write_text("\n<|endoftext|>\n".join(corpus(stories)), encoding="utf-8")
        tokenizer(replace(size, vocabulary=size.flat_vocabulary)).save(cut)
        arguments = json.dumps([size.flat_shape, str(source), str(cut)])
        command = [sys.executable, "-m", "tslens.bench.scan_memory", arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def _scan(shape: str, source: str, cut: str) -> int:
    """What the other process does."""
    import resource

    from tslens import scan
    from tslens.analysis import heads, lens, neurons
    from tslens.models import Spec, attach_tokenizer, build
    from tslens.stories import stories
    from tslens.tokenizer import Tokenizer

    words = Tokenizer.load(cut)
    model = build(Spec.parse(shape, d_vocab=words.size))
    attach_tokenizer(model, words)
    reducers: list[Any] = [heads.Roles(), neurons.Profiles(), lens.Depth()]
    scan.states(model, stories(source, clean=False), reducers, progress=False)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _run(size: Size) -> Measured:
    short, long = (peak_memory(size, size.flat * times) for times in (1, TIMES))
    return Measured.exactly(long / short, f"{long / 1e6:,.0f} MB", f"{short / 1e6:,.0f} MB")


BENCHMARKS = (
    Benchmark(
        "scan-memory",
        "peak memory of a scan (heads, neurons, lens; 32x2), 2,600 stories",
        "the same on 260 stories",
        Bar(1.05, at_most=True),
        _run,
    ),
)

if __name__ == "__main__":
    print(_scan(*json.loads(sys.argv[1])))
