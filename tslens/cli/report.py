"""The command that writes a page of evidence about a model."""

import dataclasses
from pathlib import Path
from typing import Any

from tslens.cli.delivery import print_json
from tslens.cli.options import Json, Limit, Model, Stories, corpus_of, record_of
from tslens.errors import InputError


def report(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 200,
    text: list[str] | None = None,
    shown: int = 6,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Write one HTML file that shows what a model's heads, neurons and layers do; it opens with no network.

    Parameters
    ----------
    text
        A story of your own to show with attention and lens, before the others; may be given several times.
    shown
        Stories to show with attention and lens.
    out
        Where to write. Without it: report.html in the run's folder, or NAME-report.html here.
    """
    from tslens import models, runs
    from tslens import report as page
    from tslens.forward.trunk import refuse_compressor
    from tslens.report.findings import findings

    folder = models.available().get(model) or Path(model)
    is_run = (folder / runs.CONFIG).is_file()
    name = page.display_name(model)
    place = out or (folder / "report.html" if folder in runs.by_name().values() else Path(f"{name}-report.html"))
    page.check_writable(place)
    if shown < 1:
        raise InputError(f"--shown is {shown}; show at least 1 story.")
    refuse_compressor(loaded := models.load(model))
    data = page.compute(
        loaded,
        corpus_of(loaded, stories, limit),
        name=name,
        config=_config(model, is_run),
        metrics=runs.read_metrics(folder) if is_run else (),
        texts=text or (),
        shown=shown,
    )
    page.write(page.draw(data), place)
    found = findings(data)
    if json_:
        print_json({"page": str(place), "model": name, "findings": [dataclasses.asdict(f) for f in found]})
        return
    print(*(f"- {f.figure} {f.claim} {f.evidence}" for f in found), f"\nThe page: {place}", sep="\n")


def _config(model: str, whole: bool) -> dict[str, Any]:
    """The model's `config.json`; for a run at an earlier step, without the facts about its end."""
    kept = ("recipe", "data", "tokenizer")
    return {key: value for key, value in record_of(model).items() if whole or key in kept}
