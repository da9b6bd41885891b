"""The command that measures what is promised."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from tslens.bench import Benchmark, Measured, Size


def bench(
    *names: str,
    json_: Annotated[Path | None, Parameter(name="--json")] = None,
    markdown: Path | None = None,
    quick: bool = False,
) -> None:
    """Measure speed, memory and quality against other libraries, on this machine. Takes about eight minutes.

    Both sides of a ratio take turns; the median over the turns is printed with its 95% interval and the bar.

    Parameters
    ----------
    names
        Which rows: names or beginnings of names (training, scan, generate, …). Without them, all.
    json_
        A file for the numbers, the machine and the versions.
    markdown
        A file for the table.
    quick
        Fewer turns: wider intervals.
    """
    from tslens import checkpoints
    from tslens.bench import FULL, QUICK, select, table
    from tslens.report import check_writable

    rows = select(names)
    for file in (json_, markdown):
        if file is not None:
            check_writable(file)
    known = table.facts()
    measured = _watched(rows, QUICK if quick else FULL)
    table.show(measured, known)
    if json_ is not None:
        with checkpoints.atomic(json_) as out:
            out.write(json.dumps(table.as_json(measured, known), indent=1, ensure_ascii=False) + "\n")
    if markdown is not None:
        with checkpoints.atomic(markdown) as out:
            out.write(table.markdown(measured, known))


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
