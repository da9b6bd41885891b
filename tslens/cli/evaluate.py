"""The commands that score models on suites of prompts and put what they write side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, delivery, print_json
from tslens.cli.options import Json, Models, Precision
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.suites import Suite
    from tslens.models import LanguageModel

Written = Annotated[int, Parameter(name="--completions", help="Completions of each prompt to match; 0 for none.")]


def evaluate(
    suite: str | None = None,
    /,
    *,
    model: Models = None,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    completions: Written = 10,
    seed: int = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Measure how often models prefer, and how often they write, the right ending of a prompt of a suite.

    Give --model several times to compare models. Each prompt is answered by the more probable ending, and by what the
    model writes, at temperature 1.

    Parameters
    ----------
    suite
        A suite's name (`--list` shows them) or your own TOML file.
    list_
        List the suites.
    seed
        Random seed of the completions.
    out
        A folder for the coloured table of prompts by models (SVG, HTML), the table of all prompts (CSV) and the answer.
    """
    from tslens.evaluation import suites

    if list_:
        return _list(json_)
    if suite is None:
        raise InputError(f"give a suite: one of {', '.join(suites.suites())}, or a .toml file.")
    chosen = suites.suite(suite)
    loaded = load_models(model)
    with delivery(out, json_) as deliver:
        _score(deliver, loaded, chosen, completions, seed, precision)


def _list(json_: bool) -> None:
    from tslens.evaluation import suites

    known = [suites.suite(name) for name in suites.suites()]
    rows: list[dict[str, object]] = [
        {"suite": s.name, "prompts": n, "templated": len(s.prompts) - n, "question": s.question}
        for s in known
        for n in [len(s.by_hand)]
    ]
    if json_:
        return print_json(rows)
    print("\n".join("{suite:<10} {prompts:>4} + {templated:<4}  {question}".format(**r) for r in rows))


def load_models(names: list[str] | None) -> dict[str, "LanguageModel"]:
    """The models of `--model`, by their names in tables. InputError for none, or for one given twice."""
    if not names:
        raise InputError("give --model, the model to be scored; `tslens models` lists the known ones.")
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f"--model {twice} is given twice; give each model once.")
    from tslens.models import load, name_of

    loaded = [load(name) for name in names]
    short = [name_of(model) for model in loaded]
    return {s if short.count(s) == 1 else name: m for name, s, m in zip(names, short, loaded, strict=True)}


def _score(
    deliver: Delivery, models: dict[str, "LanguageModel"], suite: "Suite", written: int, seed: int, precision: str,
    printed: bool = True,
) -> None:  # fmt: skip
    from tslens.evaluation.prompts import evaluate as score

    deliver(score(models, suite, written=written, seed=seed, precision=precision), suite.name, printed=printed)
