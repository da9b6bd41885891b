"""The command that follows heads, neurons and layers through training, and compares seeds."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Limit, Stories, corpus_of


def dynamics(
    *runs: str,
    stories: Stories = None,
    limit: Limit = 100,
    checkpoints: Annotated[bool, Parameter(negative=())] = False,
    layers: Annotated[bool, Parameter(negative=())] = False,
    n: Annotated[int, Parameter(name="--twins")] = 19,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Follow heads, neurons and layers over a run's snapshots, with bands over seeds, and say when each appears.

    Runs of one recipe are seeds: their scores get bands, and their counts and labels are compared. What was measured is
    kept in the runs, and shown as a film on their pages.

    Parameters
    ----------
    runs
        Names of the runs, which keep their weights at steps 1, 2, 4, ...
    checkpoints
        Read the checkpoints that a run still has too.
    layers
        Also count the neurons of each part of speech by layer, at every step, beside freshly initialised twins.
    n
        Untrained twins of the (first) finished model whose scores stand beside; 19 give p = 0.05 at best, 0 none.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens import dynamics as method
    from tslens.dynamics.points import folder_of, points
    from tslens.errors import InputError
    from tslens.forward.trunk import refuse_compressor
    from tslens.twins.counting import enough_texts

    if not runs:
        raise InputError("name one or more runs, such as: tslens analyze dynamics demo")
    with delivery(out, json_) as deliver:
        folders = [folder_of(run) for run in runs]
        refuse_compressor(loaded := points(folders[0])[-1].load())
        corpus = corpus_of(loaded, stories, limit)
        if layers:  # what it would refuse, before the scores are measured
            enough_texts(corpus, n, limit)
        answer = method.dynamics(folders, corpus, limit=limit, checkpoints=checkpoints, n=n)
        deliver(answer, corpus=corpus, figures=answer.figures())
        deliver(method.emergence(answer), corpus=corpus)
        for folder in folders if layers else ():
            found = method.layers(folder, corpus, n=n, limit=limit, checkpoints=checkpoints)
            deliver(found, which=folder.name if len(folders) > 1 else "")
        if len(folders) > 1:
            deliver(method.stability(folders, corpus, limit=limit), corpus=corpus)
