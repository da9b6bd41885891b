"""Seconds until `tslens --help` answers and `import tslens` is done."""

import subprocess
import sys
from functools import partial

from tslens.bench.measure import Benchmark, Measured, Target, clocked
from tslens.bench.size import Size


def _run(size: Size, arguments: list[str]) -> Measured:
    command = [sys.executable, *arguments]
    return clocked(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), repeats=max(3, size.repeats))


BENCHMARKS = (
    Benchmark(
        "help", "tslens --help", "seconds", Target(0.3, True), partial(_run, arguments=["-m", "tslens", "--help"]), " s"
    ),
    Benchmark("import", "import tslens", "seconds", None, partial(_run, arguments=["-c", "import tslens"]), " s"),
)
