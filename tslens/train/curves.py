"""Loss curves of one or several runs: their table and their figure."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tslens import files, plots, runs
from tslens.errors import InputError
from tslens.nearest import did_you_mean
from tslens.paths import as_text
from tslens.train.runs_table import home_of_all

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOSSES = {"train_loss": "training", "validation_loss": "validation"}
BITS = "bits_per_byte"


def table(names: Sequence[str]) -> "pd.DataFrame":
    """The records of these runs, one below another: run, step, tokens, train_loss and validation_loss (nats a token),
    and bits_per_byte of the validation stories. Of a run without a validation yet, the training loss of every tenth
    step.

    InputError for a run that does not exist, has no record yet, or has no finite loss.
    """
    import pandas as pd

    places = (path.parent for file in (runs.METRICS, runs.STEPS) for path in home_of_all().glob(f"*/{file}"))
    known = {as_text(place.name): place for place in sorted(places)}
    parts = []
    for name in dict.fromkeys(names):
        if name not in known:
            near = did_you_mean(name, list(known))
            raise InputError(f"no run is called {name!r}.{near} Runs here: {', '.join(known) or 'none'}.")
        records = [record for record in runs.read_metrics(known[name]) if "train_loss" in record]
        records = records or [
            {**record, "train_loss": record["step_loss"]}
            for record in runs.read_metrics(known[name], runs.STEPS)
            if "step_loss" in record
        ]
        if records and not any(math.isfinite(record.get(loss, math.nan)) for record in records for loss in LOSSES):
            raise InputError(f"{name} has records of its loss, and none is finite: it has diverged. Plot another run.")
        if not records:
            raise InputError(
                f"{name} has no record of its loss yet; it writes one of every tenth step, several at a time, and one "
                "every train.validate_every steps. Plot it then."
            )
        parts.append(pd.DataFrame(records).reindex(columns=["step", "tokens", *LOSSES, BITS]).assign(run=name))
    if not parts:
        raise InputError("name at least one run to plot.")
    return pd.concat(parts, ignore_index=True)[["run", "step", "tokens", *LOSSES, BITS]]


def unvalidated(records: "pd.DataFrame") -> list[str]:
    """The runs of this table that have no validation yet."""
    return [str(name) for name, part in records.groupby("run", sort=False) if part["validation_loss"].isna().all()]


def vocabularies(names: Sequence[str]) -> int:
    """How many different tokenizers the runs have: nats a token of different ones cannot be compared."""
    places = (runs.root() / name / runs.TOKENIZER for name in names)
    return len({files.sha256(place) for place in places if place.is_file()})


def single_steps(name: str) -> "pd.DataFrame":
    """Tokens and training loss of every tenth step of a run; without rows if it recorded none."""
    import pandas as pd

    return pd.DataFrame(runs.read_metrics(runs.run_folder(name), runs.STEPS), columns=["tokens", "step_loss"])


def draw(records: "pd.DataFrame", *, bits: bool = False) -> "Figure":
    """Loss over tokens seen, in nats a token: training, with the loss of single steps behind it, and validation in one
    chart for a single run, side by side for several. With `bits` the bits per byte of validation stories, which runs
    of different vocabularies share."""
    parts = dict(list(records.groupby("run", sort=False)))
    scale, unit = (1e6, "millions of tokens seen") if records["tokens"].max() >= 1e6 else (1.0, "tokens seen")
    seen = {name: part["tokens"].to_numpy() / scale for name, part in parts.items()}

    def known(field: str) -> dict[Any, Any]:  # by run, for those that have it
        return {name: part[field].to_numpy() for name, part in parts.items() if part[field].notna().any()}

    if bits:
        if not (series := known(BITS)):
            raise InputError(f"{', '.join(parts)}: no validation yet, which bits per byte are of. Plot it after one.")
        return plots.lines(series, seen, title="Validation", x_label=unit, y_label="bits per byte")
    losses = {label: found for field, label in LOSSES.items() if (found := known(field))}
    if len(parts) == 1:
        (name,) = parts
        steps = single_steps(str(name))[: None if len(losses) > 1 else 0]  # before a validation they are all there is
        series = {"single steps": steps["step_loss"].to_numpy()} if len(steps) else {}
        x = {**dict.fromkeys(losses, seen[name]), "single steps": steps["tokens"].to_numpy() / scale}
        series |= {label: found[name] for label, found in losses.items()}
        return plots.lines(series, x, title=f"Loss of {name}", x_label=unit, y_label="nats per token")
    charts = (
        {
            "series": found,
            "x": seen,
            "title": f"{label.capitalize()} loss",
            "x_label": unit,
            "y_label": "nats per token",
        }
        for label, found in losses.items()
    )
    return plots.panels(*charts)
