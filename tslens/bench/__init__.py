"""Benchmarks of speed, memory and quality against other libraries, on this machine.

Each module defines `BENCHMARKS`, its rows of the table. Caches keep what several rows share, by `Size`: stories,
a tokenizer, the times of one race, the answers of one scan; none holds a memory map.
"""

from collections.abc import Sequence

from tslens.bench import (
    completions,
    copying,
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
    completions,
    packing,
    generator,
    copying,
    tagging,
    page,
    startup,
)
BENCHMARKS: tuple[Benchmark, ...] = tuple(row for module in MODULES for row in module.BENCHMARKS)


def select(names: Sequence[str] = ()) -> list[Benchmark]:
    """The rows with these names or prefixes (`scan` selects all scans); all rows if no names are given.

    InputError for a name that matches none, with the nearest one.
    """
    known = [row.name for row in BENCHMARKS]
    for name in names:
        if not any(fits(row, name) for row in BENCHMARKS):
            raise InputError(f"no benchmark is called {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}.")
    return [row for row in BENCHMARKS if not names or any(fits(row, name) for name in names)]


def fits(row: Benchmark, name: str) -> bool:
    """Whether a name selects a row: the row's name, or a prefix of it up to a hyphen."""
    return row.name == name or row.name.startswith(f"{name}-")
