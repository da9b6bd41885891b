"""The command that scores a model on a suite of prompts."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery, print_json
from tslens.cli.options import Json, Model, Precision
from tslens.errors import InputError


def evaluate(
    suite: str | None = None,
    /,
    *,
    model: Model | None = None,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Measure how often a model prefers a right ending of a prompt to a wrong one, over a suite of prompt pairs.

    Parameters
    ----------
    suite
        A suite's name (`--list` shows them) or your own TOML file.
    list_
        List the suites.
    out
        A folder for the figure (SVG), the table of all prompts (CSV) and the whole answer.
    """
    from tslens.evaluation import prompts, suites

    if list_:
        known = [suites.suite(name) for name in suites.suites()]
        rows = [{"suite": s.name, "prompts": len(s.prompts), "question": s.question} for s in known]
        if json_:
            print_json(rows)
        else:
            print("\n".join("{suite:<10} {prompts:>4}  {question}".format(**r) for r in rows))
        return
    if suite is None:
        raise InputError(f"give a suite: one of {', '.join(suites.suites())}, or a .toml file.")
    if model is None:
        raise InputError("give --model, the model to be scored; `tslens models` lists the known ones.")
    from tslens.models import load

    chosen = suites.suite(suite)
    with delivery(out, json_) as deliver:
        deliver(prompts.evaluate(load(model), chosen, precision=precision), chosen.name)
