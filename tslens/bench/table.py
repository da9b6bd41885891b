"""Tables of the measured rows and the machine: for a terminal, as Markdown and as JSON."""

import dataclasses
import math
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from tslens import forward, progress
from tslens.bench.measure import Benchmark, Measured
from tslens.bench.size import FULL, Size
from tslens.tables import as_text, filled, room

Row = tuple[Benchmark, Measured]
LIBRARIES = ("tslens", "torch", "transformer-lens", "transformers", "tokenizers", "numpy")
COLUMNS = ("what", "against", "must reach", "measured", "95% interval", "ours", "theirs", "")


def run(rows: Sequence[Benchmark], size: Size) -> list[Row]:
    """Measure the rows one after the other, on all cores, without progress output."""
    measured = []
    with _all_cores(), progress.bar("measuring", len(rows)) as shown:
        for done, row in enumerate(rows):
            shown.update(done, what=row.name)
            with progress.off():
                measured.append((row, row.run(size)))
    return measured


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _all_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(cores())
    try:
        yield
    finally:
        torch.set_num_threads(before)


def facts() -> dict[str, Any]:
    """The machine, the threads and the versions behind the numbers."""
    return {
        "processor": _processor(),
        "threads": cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "bf16_speedup": round(forward.bf16_speedup(FULL.spec, torch.device("cpu")), 2),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def sentence(known: dict[str, Any]) -> str:
    """The facts as a sentence."""
    versions = ", ".join(f"{library} {known[library]}" for library in LIBRARIES)
    return (
        f"{known['processor']}, {known['threads']} threads, {known['memory_gb']} GB, {known['system']}, "
        f"bf16 products {known['bf16_speedup']} times as fast as fp32; load before {known['load_before']}; "
        f"Python {known['python']}, {versions}."
    )


def cells(row: Benchmark, measured: Measured) -> list[str]:
    """A row as text, in the order of `COLUMNS`."""
    value, low, high = (number(x) for x in (measured.value, measured.low, measured.high))
    interval = "" if measured.repeats == 1 else f"[{low}, {high}]"
    target = f"{row.target}{row.unit}" if row.target else ""
    return [
        row.what,
        row.against,
        target,
        f"{value}{row.unit}",
        interval,
        measured.ours,
        measured.theirs,
        row.verdict(measured),
    ]


def number(x: float) -> str:
    """A number as text with three digits, or all digits of a whole number."""
    return f"{x:,.0f}" if x == math.inf or x >= 100 or x == round(x) else f"{x:.3g}"


def markdown(rows: Sequence[Row], known: dict[str, Any]) -> str:
    """The table as Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(cells(*row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{sentence(known)}\n"


def as_json(rows: Sequence[Row], known: dict[str, Any]) -> dict[str, Any]:
    """All numbers and facts as JSON."""
    return {
        "machine": known,
        "rows": [
            {
                "name": row.name,
                "what": row.what,
                "against": row.against,
                "target": None if row.target is None else str(row.target),
                "unit": row.unit.strip(),
                **dataclasses.asdict(measured),
                "verdict": row.verdict(measured),
            }
            for row, measured in rows
        ],
    }


def show(rows: Sequence[Row], known: dict[str, Any]) -> None:
    """Print the table on stdout, and the machine and the versions."""
    import pandas as pd

    named = [name or "verdict" for name in COLUMNS]
    table = pd.DataFrame([[row.name, *cells(row, measured)] for row, measured in rows], columns=["row", *named])
    if room() is None:
        print(as_text(table))
    else:  # whole names of rows say more than cut sentences
        print(as_text(table[["row", "must reach", "measured", "95% interval", "verdict"]]))
        print(filled("What each row is, against what, and both sides' numbers: --wide."))
    print(filled(sentence(known)))
