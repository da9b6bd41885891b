"""The command that writes a page of evidence about a model."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tslens.cli.delivery import print_json
from tslens.cli.options import Json, Limit, Model, Stories, corpus_of, record_of
from tslens.errors import InputError
from tslens.tables import filled

if TYPE_CHECKING:
    from tslens.corpus import Corpus
    from tslens.dynamics import SnapshotResult
    from tslens.models import LanguageModel
    from tslens.report import ReportData

Film = Annotated[
    bool | None,
    Parameter(
        help="Show the model at every snapshot of its run, with a slider; each is measured once, in seconds, on the "
        "first 100 stories, and kept. Default: where `analyze dynamics` has kept them."
    ),
]


Causes = Annotated[
    bool | None,
    Parameter(
        help="Swap words, ablate every head and name its kinds of keys; all is kept. Default: what is kept, or "
        "takes less than two minutes in all."
    ),
]


Live = Annotated[
    bool | None,
    Parameter(
        help="Let the page run the model: it writes, and heads and neurons can be switched off. Default: where its "
        "weights take at most 6 MB of the page (2.2 million in half precision)."
    ),
]


MOST_SHOWN = 40
"""Stories that a page shows: of twelve layers each takes 40 kB that cannot be cut."""


def report(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 200,
    text: list[str] | None = None,
    shown: int = 6,
    twins: int = 19,
    film: Film = None,
    causes: Causes = None,
    live: Live = None,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Write one HTML file that shows what a model's heads, neurons and layers do; it opens with no network.

    Parameters
    ----------
    text
        A story of your own to show with attention and lens, before the others; may be given several times.
    shown
        Stories to show with attention and lens, at most 40.
    twins
        Untrained models of the same shape whose labels are counted beside the model's, on 100 stories (p = 0.05 at best
        with 19); 0 leaves them out. Their counts are kept: only the first page of a model takes longer.
    out
        Where to write. Without it: report.html in the run's folder, or NAME-report.html here.
    """
    from tslens import models, runs
    from tslens import report as page

    folder, name = models.available().get(model) or Path(model), page.display_name(model)
    place = out or (folder / "report.html" if folder in runs.by_name().values() else Path(f"{name}-report.html"))
    page.check_writable(place)
    _refuse_lost(place)
    _check(max(shown, len(text or ())) if shown > 0 else shown, twins)
    _check_model(loaded := models.load(model), live)
    data = page.compute(
        loaded,
        corpus := corpus_of(loaded, stories, limit),
        name=name,
        **_of_run(model, folder),
        texts=text or (),
        shown=shown,
        twins=twins,
        film=_film(folder, corpus, film, twins),
        causes=causes,
        live=live,
    )
    _print(data, page.write(page.draw(data), place), json_)


def _refuse_lost(place: Path) -> None:
    """InputError for a file that is there and is no page: weights, for instance, or stories."""
    if place.is_file():
        with place.open("rb") as file:
            begins = file.read(100).lstrip().lower()
        if begins and not begins.startswith((b"<!doctype html", b"<html")):
            raise InputError(f"{place} is there and is no page: it would be lost. Give --out another place.")


def _check(shown: int, twins: int) -> None:
    """InputError for a number of stories or twins that is none, or for more stories than a page of 2 MB holds."""
    for option, value, least in (("--shown", shown, 1), ("--twins", twins, 0)):
        if value < least:
            raise InputError(f"{option} is {value}; give {least} or more.")
    if shown > MOST_SHOWN:
        raise InputError(
            f"{shown} stories to show are too many for a page that anybody opens; give at most {MOST_SHOWN}."
        )


def _check_model(model: "LanguageModel", live: bool | None) -> None:
    """InputError for a model of which there is no page, or none as it is wanted."""
    from tslens.forward.trunk import refuse_compressor
    from tslens.report.live import live_of

    refuse_compressor(model)
    if live:
        live_of(model, live)


def _film(folder: Path, stories: "Corpus", asked: bool | None, twins: int) -> "list[SnapshotResult]":
    """The snapshots that the page shows: where asked for those of the run, else those that are kept."""
    from tslens import dynamics, progress

    if asked:
        found = dynamics.snapshots(folder, stories)
        return dynamics.beside_twins(folder, found, stories, n=twins) if twins else found
    if asked is False or not dynamics.has_snapshots(folder):
        return []
    found = dynamics.kept_snapshots(folder, stories)
    if not found:
        progress.note("This run keeps snapshots: with --film its page shows them too, with a slider.")
    return dynamics.beside_kept_twins(folder, found, stories)


def _print(data: "ReportData", place: Path, as_json: bool) -> None:
    from tslens.report.findings import findings

    found = findings(data)
    if as_json:
        print_json({"page": str(place), "model": data.name, "findings": [dataclasses.asdict(f) for f in found]})
    else:
        print(*(filled(f"- {f.figure} {f.claim} {f.evidence}") for f in found), f"\nThe page: {place}", sep="\n")


def _of_run(model: str, folder: Path) -> dict[str, Any]:
    """The `config.json` and the metrics of a run's model; of another what is known, and no metrics."""
    from tslens import runs

    is_run = (folder / runs.CONFIG).is_file()
    return {"config": _config(model, is_run), "metrics": runs.read_metrics(folder) if is_run else ()}


def _config(model: str, whole: bool) -> dict[str, Any]:
    """The model's `config.json`; for a run at an earlier step, without the facts about its end."""
    kept = ("recipe", "data", "tokenizer")
    return {key: value for key, value in record_of(model).items() if whole or key in kept}
