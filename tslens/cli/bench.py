"""The command that runs the benchmarks."""

from collections.abc import Sequence
from pathlib import Path

from tslens.cli.delivery import print_json
from tslens.cli.options import Json
from tslens.errors import InputError
from tslens.tables import as_text, filled


def bench(*names: str, out: Path | None = None, quick: bool = False, json_: Json = False) -> None:
    """Measure speed, memory and quality against other libraries, on this machine. Takes over ten minutes.

    Both sides of a ratio take turns; the median over the turns is printed with its 95% interval and the target.

    Parameters
    ----------
    names
        Rows, by name or prefix (training, scan, generate, …); by default all. `memory`, given alone: the memory of a
        training step by model, width and batch, in a separate table.
    out
        A folder for `bench.json` (the numbers, the machine and the versions) and `table.md`.
    quick
        Fewer turns: wider intervals.
    """
    from tslens import files
    from tslens.bench import FULL, QUICK, select, table
    from tslens.report import check_writable

    if "memory" in names:
        _memory(names, out, quick, json_)
        return
    rows = select(names)
    if out is not None:
        check_writable(out / "bench.json")
    known = table.facts()
    measured = table.run(rows, QUICK if quick else FULL)
    numbers = table.as_json(measured, known)
    if json_:
        print_json(numbers)
    else:
        table.show(measured, known)
    if out is not None:
        files.write_json(out / "bench.json", numbers)
        with files.atomic(out / "table.md") as file:
            file.write(table.markdown(measured, known))


def _memory(names: Sequence[str], out: Path | None, quick: bool, json_: bool) -> None:
    """Measure and print the table of memory, and write it with its figure."""
    from tslens.bench.memory import WIDTHS, memory
    from tslens.plots import save
    from tslens.report import check_writable

    if len(names) > 1:
        raise InputError("memory has its own table and runs alone: tslens bench memory.")
    if out is not None:
        check_writable(out / "memory.svg")
    widths = WIDTHS[:1] if quick else WIDTHS
    answer = memory(widths)
    if json_:
        print_json(answer.to_json())
    else:
        print(filled(answer.headline()))
        print(as_text(answer.summary()))
        print("MB. Batches of 2 and 4 are measured; with 3 they lie on a line, from which the larger ones are read.")
        print(f"Peak allocated on {answer.gpu}." if answer.gpu else "No GPU found: no peak was measured.")
    if out is not None:
        answer.save(out)
        save(answer.figure(), out / "memory.svg", answer.to_frame())
