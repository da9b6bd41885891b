"""Benchmarks of speed, memory and quality beside other libraries, on the machine at hand.

Each module holds `BENCHMARKS`, the rows that answer its question.
"""

from collections.abc import Sequence

from tslens.bench import (
    generation,
    generator,
    packing,
    page,
    rounding,
    saved,
    scan_memory,
    scanning,
    startup,
    tagging,
    training,
    waiting,
)
from tslens.bench.measure import Benchmark, Measured, Target
from tslens.bench.size import FULL, QUICK, Size
from tslens.errors import InputError
from tslens.nearest import did_you_mean

__all__ = ["BENCHMARKS", "FULL", "QUICK", "Benchmark", "Measured", "Size", "Target", "select"]

MODULES = (
    training,
    waiting,
    saved,
    scanning,
    rounding,
    scan_memory,
    generation,
    packing,
    generator,
    tagging,
    page,
    startup,
)
BENCHMARKS: tuple[Benchmark, ...] = tuple(row for module in MODULES for row in module.BENCHMARKS)


def select(names: Sequence[str] = ()) -> list[Benchmark]:
    """The rows of these names, or whose names begin with them (`scan` is all scans); all rows for no names.

    InputError for a name that fits none, with the nearest.
    """
    known = [row.name for row in BENCHMARKS]
    for name in names:
        if not any(fits(row, name) for row in BENCHMARKS):
            raise InputError(f"no benchmark is called {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}.")
    return [row for row in BENCHMARKS if not names or any(fits(row, name) for name in names)]


def fits(row: Benchmark, name: str) -> bool:
    """Whether a row is meant by a name: its own, or a beginning of it up to a hyphen."""
    return row.name == name or row.name.startswith(f"{name}-")
