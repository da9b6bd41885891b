"""The commands that score models on suites of prompts and put what they write side by side."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.card import MADE, CardOptions, HeldOut, NGram, Usual, deliver_card
from tslens.cli.delivery import Delivery, delivery, print_json
from tslens.cli.graders import (
    Graders,
    charged,
    confirm_cost,
    deliver_agreement,
    exit_code,
    graders_of,
    place_of,
    true_texts,
)
from tslens.cli.large_model import LargeModel
from tslens.cli.options import Json, Models, ModelTwins, Precision, load_models
from tslens.cli.suites import Written, answered, keep
from tslens.cli.usual import usual_of_models
from tslens.errors import InputError
from tslens.tables import as_text, filled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tslens.evaluation.grading import ControlsResult, Grader, GradesResult
    from tslens.evaluation.suite_result import SuiteResult
    from tslens.evaluation.suites import Suite

    Graded = Sequence[tuple[GradesResult, ControlsResult]]

Cut = Annotated[
    str | None, Parameter(help="Real stories to cut: a file, a dataset or `made`, each also as SOURCE@validation.")
]
PAIRS = 100
"""Minimal pairs of each phenomenon behind the card of `tslens eval all`."""
TEXTS = 100
"""Texts that each model writes for it."""


def evaluate(
    suite: str | None = None,
    /,
    *,
    model: Models = None,
    list_: Annotated[bool, Parameter(name="--list", negative=(), help="List the suites.")] = False,
    completions: Written = 10,
    grader: Graders = None,
    twins: ModelTwins = 2,
    seed: int = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
    large: LargeModel | None = None,
) -> int:
    """Measure how often models prefer, and how often they write, the right ending of a prompt of a suite.

    Give --model several times to compare models. Each prompt is answered by the more probable ending, and by what the
    model writes, at temperature 1: by its first words, and by each --grader. The exit code is 3 if a model did not
    grade all.

    Parameters
    ----------
    suite
        A suite's name (`--list` shows them) or your own TOML file.
    seed
        Random seed of the completions.
    out
        A folder for the coloured table of prompts by models (SVG, HTML), the table of all prompts (CSV) and the answer.
    """
    from tslens.evaluation import suites
    from tslens.evaluation.untrained import untrained

    if list_:
        _list(json_)
        return 0
    if suite is None:
        raise InputError(f"give a suite: one of {', '.join(suites.suites())}, or a .toml file.")
    chosen = suites.suite(suite)
    loaded = load_models(model)
    if grader and not completions:
        raise InputError("--grader grades what models write; give --completions 1 or more.")
    with delivery(out, json_) as deliver:
        beside = untrained(loaded, twins)
        answer = answered(chosen, loaded, beside, completions=completions, seed=seed, precision=precision)
        keep(loaded, chosen, answer)  # whatever becomes of the grading
        asked, found, graded = _labelled(answer, chosen, grader or (), large or LargeModel(), seed, precision)
        keep(loaded, chosen, found)
        _deliver(deliver, found, graded=graded)
    return exit_code(asked)


def _labelled(
    found: "SuiteResult", suite: "Suite", names: "Sequence[str]", large: LargeModel, seed: int, precision: str
) -> "tuple[list[Grader], SuiteResult, Graded]":
    """The graders, the answer with their labels, and of each its grades and what its controls say of it."""
    if not names:
        return [], found, []
    from tslens.evaluation import grading
    from tslens.evaluation.grading.suites import RUBRIC, controls_of, texts_of

    texts, rubric = texts_of(found, suite), grading.rubric(RUBRIC)
    controls = controls_of(texts, suite, seed)
    asked = graders_of(names, true_texts(texts, None)[1], rubric, large, precision)
    confirm_cost(asked, texts, controls, rubric, 0, seed, large.yes)
    beside: list[tuple[GradesResult, ControlsResult]] = []
    with charged(asked):
        for one in asked:
            found, grades = grading.graded(found, suite, one, controls, seed=seed)
            beside.append((grades, grading.controlled(grades, rubric)))
    return asked, found, beside


def _deliver(deliver: Delivery, found: "SuiteResult", printed: bool = True, graded: "Graded" = ()) -> None:
    """Deliver the answers to a suite, with a coloured table for each way of labelling what was written; then what the
    controls say of each grader, and how far they agree. A rehearsal's grades stand with its controls, not in the
    answers."""
    deliver(found, found.suite, printed=printed)
    if deliver.folder is not None:
        from tslens import plots
        from tslens.evaluation.coloured import coloured_figure

        for by in found.labels:
            name = re.sub(r"[^\w.-]+", "_", f"suite-{found.suite}-{by}")
            plots.save(coloured_figure(found, by), deliver.folder / f"{name}.svg")
    for number, (grades, control) in enumerate(graded, 1):
        place, which = place_of(deliver, grades), found.suite if len(graded) == 1 else f"{found.suite}-{number}"
        if grades.is_rehearsal:
            place(grades, which)
        place(control, which)
    deliver_agreement(deliver, [grades for grades, _ in graded])


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
    print(filled("\n".join("{suite:<10} {prompts:>4} + {templated:<4}  {question}".format(**r) for r in rows)))


def beginnings(
    *,
    model: Models = None,
    stories: Cut = None,
    share: float = 0.5,
    n: int = 50,
    seed: int = 0,
    max_new_tokens: int = 200,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Put what models write after the same beginnings of stories side by side, for reading and grading.

    Without --stories the beginnings are those that come with tslens, cut in the middle of a sentence.

    Parameters
    ----------
    share
        Share of its words after which each real story is cut, such as 0.5 or 0.4.
    n
        Number of real stories.
    seed
        Random seed; the same seed gives the same texts.
    max_new_tokens
        Largest number of new tokens of a text.
    out
        A folder for the texts side by side (HTML and text) and the whole answer.
    """
    from tslens.evaluation import beginnings as of

    if max_new_tokens < 1 or n < 2:
        raise InputError(f"--n is {n} and --max-new-tokens {max_new_tokens}; give at least 2 and 1.")
    loaded = load_models(model)
    source, chosen = None, of.ours()
    if stories is not None:
        from tslens.stories import stories as read

        source = read(stories)
        chosen = of.cut(source, share, n)
    with delivery(out, json_) as deliver:
        found = of.continued(
            loaded, chosen, seed=seed, max_new_tokens=max_new_tokens, precision=precision, source=source
        )
        deliver(found, "beginnings", figures=())


def everything(
    *,
    model: Models = None,
    completions: Written = 10,
    seed: int = 0,
    twins: ModelTwins = 2,
    reference: Usual = None,
    n_gram: NGram = None,
    stories: HeldOut = None,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Score models on all suites that need no key, and print their table and a score card.

    Give --model several times to compare models. `tslens eval card` reads more minimal pairs and texts.

    Parameters
    ----------
    seed
        Random seed of the completions.
    out
        A folder for the figures, the tables and the whole answers.
    """
    from tslens.evaluation.suites import suite, suites
    from tslens.evaluation.untrained import untrained

    loaded = load_models(model)
    beside = untrained(loaded, twins)
    found: dict[str, SuiteResult] = {}
    with delivery(out, json_) as deliver:
        for name in suites():
            asked = suite(name)
            found[name] = answered(asked, loaded, beside, completions=completions, seed=seed, precision=precision)
            keep(loaded, asked, found[name])
            _deliver(deliver, found[name], printed=False)
        if not json_:
            import pandas as pd

            rows = pd.concat([result.summary().assign(part=name) for name, result in found.items()])
            print(as_text(rows[["part", *rows.columns.drop("part")]]))
        usual = usual_of_models(reference, loaded, MADE)
        how = CardOptions(PAIRS, n_gram, stories, precision)
        deliver_card(deliver, loaded, beside, usual, TEXTS, how, is_short=True)
