"""The command that holds the labels of a model against planted truth."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Limit, Model, Stories, corpus_of


def audit(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 100,
    seeds: int = 3,
    n: Annotated[int, Parameter(name="--twins")] = 2,
    runs: int = 2000,
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Hold the labels of heads and neurons against planted truth: power, false discoveries, coverage; in minutes.

    Its last line is the verdict, which the model's page then carries. Exits with 1 where the audit fails.

    Parameters
    ----------
    seeds
        Models of this model's style that are built by hand, with plants among random components: two hold every plant.
    n
        Untrained twins of the model.
    runs
        Simulated corpora behind the coverage of the intervals.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.audit import audit as method
    from tslens.audit import keep
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load

    with delivery(out, json_) as deliver:
        refuse_compressor(loaded := load(model))
        corpus = corpus_of(loaded, stories, limit)
        found = method(loaded, corpus, seeds=seeds, n=n, runs=runs, limit=limit or len(corpus))
        options = "" if stories is None else f" --stories {shlex.quote(stories)}"
        options += f" --limit {limit} --seeds {seeds} --twins {n} --runs {runs}"
        found = replace(found, command=f"tslens audit --model {shlex.quote(model)}{options}")
        deliver(found, corpus=corpus)
    keep(loaded, found)
    return 0 if found.passes else 1
