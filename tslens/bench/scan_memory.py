"""Memory of a scan on a long corpus relative to a short one.

Each corpus is a file, scanned in a process of its own whose largest resident memory the system reports. Heads, neurons
and lens are read in the same pass.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tslens.bench.measure import Benchmark, Measured, Target, median
from tslens.bench.size import Size, corpus, tokenizer

TIMES = 10
STATUS = Path("/proc/self/status")


def scan_memory(size: Size, times: int) -> int:
    """Peak bytes of a process beyond its memory when the scan began. The corpus repeats the same stories, so a longer
    corpus has no longer story."""
    with tempfile.TemporaryDirectory() as folder:
        source, cut = Path(folder) / "stories.txt", Path(folder) / "tokenizer.json"
        source.write_text("\n<|endoftext|>\n".join(corpus(size.flat) * times), encoding="utf-8")
        tokenizer(replace(size, vocabulary=size.flat_vocabulary)).save(cut)
        arguments = json.dumps([size.flat_shape, str(source), str(cut)])
        command = [sys.executable, "-m", "tslens.bench.scan_memory", arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, before = json.loads(done.stdout)
    return int(peak - before)


def largest_resident() -> int:
    """The largest resident memory of this process so far, in bytes.

    On Linux not from `getrusage`: a child process inherits that number, so it would be the size of the parent.
    """
    if STATUS.is_file():
        return _kilobytes("VmHWM") * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _kilobytes(field: str) -> int:
    lines = (line.partition(":") for line in STATUS.read_text(encoding="utf-8").splitlines())
    return next(int(value.split()[0]) for name, _, value in lines if name == field)


def _scan(shape: str, source: str, cut: str) -> tuple[int, int]:
    """The scan in the other process."""
    from tslens import progress, scan
    from tslens.analysis import heads, lens, neurons
    from tslens.models import Spec, attach_tokenizer, build
    from tslens.stories import stories
    from tslens.tokenizer import Tokenizer

    words = Tokenizer.load(cut)
    model = build(Spec.parse(shape, d_vocab=words.size))
    attach_tokenizer(model, words)
    reducers: list[Any] = [heads.Roles(), neurons.Profiles(), lens.ByDepth()]
    before = largest_resident()
    with progress.off():
        scan.states(model, stories(source, clean=False), reducers)
    return largest_resident(), before


def _run(size: Size) -> Measured:
    taken = np.array([[scan_memory(size, times) for times in (1, TIMES)] for _ in range(size.repeats)], dtype=float)
    short, long = taken.T
    ratio = median(long / short)
    peaks = (f"{np.median(each) / 1e6:,.0f} MB" for each in (long, short))
    return Measured(float(ratio.estimate), float(ratio.low), float(ratio.high), len(taken), *peaks)


BENCHMARKS = (
    Benchmark(
        "scan-memory",
        "memory that a scan takes at its peak (heads, neurons, lens; 32x2), 2,600 stories",
        "the same on 260 stories",
        Target(1.05, at_most=True),
        _run,
    ),
)

if __name__ == "__main__":
    print(json.dumps(_scan(*json.loads(sys.argv[1]))))
