"""The commands that list training runs and plot their losses."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tslens.cli.delivery import print_json
from tslens.cli.options import Json
from tslens.tables import as_text


def runs(*, json_: Json = False) -> None:
    """List the training runs of this folder: shape, objective, progress, loss, bits per byte, and state.

    A run is `finished`, `running` (a process writes it now), `stopped` (tslens train --resume NAME resumes it) or
    `broken`.
    """
    from tslens.train.runs_table import summaries

    found = [dataclasses.asdict(run) for run in summaries()]
    if json_:
        print_json(found, indent=1)
        return
    if not found:
        print("no run yet. To train one: tslens train 256x8")
        return
    rows = [
        {
            "name": run["name"],
            "state": run["state"],
            "shape": run["shape"] or "-",
            "objective": run["objective"] or "-",
            "step": f"{run['step']}/{run['steps'] or '?'}",
            "tokens": f"{run['tokens']:,}",
            "train": _number(run["train_loss"]),
            "validation": _number(run["validation_loss"]),
            "bits/byte": _number(run["bits_per_byte"]),
            "why": run["why"],
        }
        for run in found
    ]
    if not any(row["why"] for row in rows):
        for row in rows:
            del row["why"]
    import pandas as pd

    print(as_text(pd.DataFrame(rows), ["name", "state", "step", "bits/byte"]))


def _number(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.3f}"


def plot(
    *names: str,
    bits: Annotated[bool, Parameter(negative=())] = False,
    out: Path = Path("loss.svg"),
    json_: Json = False,
) -> None:
    """Draw the training and validation loss of runs, together in one figure over the tokens seen.

    Runs of different vocabularies are drawn in bits per byte: their nats a token cannot be compared.

    Parameters
    ----------
    names
        Names of the runs.
    bits
        Draw the bits per byte of validation stories instead of nats a token.
    out
        An .svg or .png file; the numbers go beside it as .csv.
    """
    from tslens import plots, progress
    from tslens.train import curves

    records = curves.table(names)
    if not bits and curves.vocabularies(names) > 1:
        progress.note("these runs have different vocabularies, so bits per byte are drawn, not nats a token")
        bits = True
    for name in curves.unvalidated(records):
        drawn = "it is not drawn" if bits else "its training loss alone is drawn, of every tenth step"
        progress.note(f"{name} has no validation yet; {drawn}")
    written = plots.save(curves.draw(records, bits=bits), out, records)
    if json_:
        print_json(records.to_dict("records"), indent=1)
        return
    print(f"written to {written.parent}: {written.name}, {written.with_suffix('.csv').name}")
