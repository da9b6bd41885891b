"""The command that measures what is promised."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tslens.cli._options import Json

if TYPE_CHECKING:
    from tslens.bench import Benchmark, Measured, Size


def bench(*names: str, out: Path | None = None, quick: bool = False, json_: Json = False) -> None:
    """Measure speed, memory and quality against other libraries, on this machine. Takes about eight minutes.

    Both sides of a ratio take turns; the median over the turns is printed with its 95% interval and the bar.

    Parameters
    ----------
    names
        Which rows: names or beginnings of names (training, scan, generate, …). Without them, all.
    out
        A folder for `bench.json` (the numbers, the machine and the versions) and `table.md`.
    quick
        Fewer turns: wider intervals.
    """
    from tslens import checkpoints
    from tslens.bench import FULL, QUICK, select, table
    from tslens.report import check_writable

    rows = select(names)
    if out is not None:
        check_writable(out / "bench.json")
    known = table.facts()
    measured = _watched(rows, QUICK if quick else FULL)
    numbers = table.as_json(measured, known)
    if json_:
        print(json.dumps(numbers, ensure_ascii=False))
    else:
        table.show(measured, known)
    if out is not None:
        checkpoints.write_json(out / "bench.json", numbers)
        with checkpoints.atomic(out / "table.md") as file:
            file.write(table.markdown(measured, known))


def _watched(rows: "Sequence[Benchmark]", size: "Size") -> "list[tuple[Benchmark, Measured]]":
    """Run them under a bar that says which row is being measured."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from tslens.bench import table

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(rows))
        done = iter(range(len(rows)))
        return table.run(rows, size, lambda row: bar.update(task, completed=next(done), description=row.name))
