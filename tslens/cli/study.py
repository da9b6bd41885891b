"""The command that asks most questions about a model."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Engine, Json, Limit, Model, Stories, corpus_of, scanned


def everything(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 1000,
    checked: Annotated[int, Parameter(help="Stories on which labels are checked by twins, swaps and ablations.")] = 100,
    twins: Annotated[int, Parameter(help="Untrained twins; 19 give a p of 0.05 at best.")] = 19,
    engine: Engine = "local",
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Ask most questions about heads, neurons and layers, each with its checks; print what each found.

    Every part is kept when it ends, in the run's folder or else in the cache: a study that was stopped continues there.
    Commands of their own ask about circuits (`analyze circuit`), training (`analyze dynamics`), roles at two contexts
    (`analyze heads --kinds`), and neurons by layer, their classes, patterns, ablation and steering (`analyze neurons`).

    Parameters
    ----------
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers, and for the summary.
    """
    from tslens.models import load
    from tslens.study import everything as method

    with delivery(out, json_) as deliver:
        loaded = load(model)
        corpus = corpus_of(loaded, stories, limit)
        scan = partial(scanned, engine, model, loaded, corpus)
        for answer in method(loaded, corpus, checked=checked, twins=twins, scanned=scan):
            figures = getattr(answer.result, "figures", None)
            drawn = figures() if figures is not None and out is not None else None
            deliver(answer.result, answer.which, drawn, printed=answer.name == "summary")
