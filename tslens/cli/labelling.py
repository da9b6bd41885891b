"""The command with which a person grades texts."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens import lock, progress
from tslens.cli.graders import ControlsSource, controls_for
from tslens.cli.grading import RubricName, Texts
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.grading.labelling import Labels


def label(
    *,
    texts: Texts,
    out: Annotated[Path, Parameter(help="The CSV file of your scores. Grades that it has already are kept.")],
    rubric: RubricName = "story",
    limit: Annotated[int | None, Parameter(help="Largest number of texts, drawn at random.")] = None,
    with_controls: Annotated[bool, Parameter(negative=(), help="Mix in the controls of `tslens eval grade`.")] = False,
    controls: ControlsSource = None,
    open_: Annotated[bool, Parameter(name="--open", negative=(), help="Open the page in the browser.")] = False,
    seed: Annotated[int, Parameter(help="Of the order and the damages.")] = 0,
) -> None:
    """Open a local page on which you grade texts blind, by the same rubric as any grader; saves them as CSV.

    The page is at an address of this machine alone. Every answer is saved at once: stop with Ctrl-C and go on later
    with the same command. `tslens eval grade --grader FILE.csv` reads the scores.
    """
    from tslens.evaluation.grading import read_texts
    from tslens.evaluation.grading import rubric as rubric_of
    from tslens.evaluation.grading.grade import plan
    from tslens.evaluation.grading.labelling import Labels

    if out.suffix != ".csv":
        raise InputError(f"--out is {out}; give a .csv file for the scores.")
    if limit is not None and limit < 1:
        raise InputError(f"--limit is {limit}; it must be at least 1.")
    found = [text for path in texts for text in read_texts(path)]
    by = rubric_of(rubric)
    made = controls_for(found, by, controls, seed)[0] if with_controls else []
    chosen = Random(f"{seed}:limit").sample(found, min(limit or len(found), len(found)))
    items, _ = plan(chosen, made, seed=seed)
    with lock.held(out, "give another --out"):  # else two pages would write over each other's grades
        _serve(Labels([item.text for item in items], by, out), open_)


def _serve(labels: "Labels", open_: bool) -> None:
    """Serve the page until all texts are graded, or Ctrl-C."""
    from tslens.evaluation.grading.labelling import LabelServer

    out = labels.path
    if labels.next is None:
        progress.note(f"all {len(labels.texts)} texts are graded in {out}")
        return
    with LabelServer(labels) as server:
        server.on_end = server.shutdown
        progress.note(f"grade {len(labels.texts)} texts at {server.url} (Ctrl-C stops; {out} keeps what you gave)")
        if open_:
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            progress.note(f"{len(labels.given)} of {len(labels.texts)} texts are graded in {out}")
