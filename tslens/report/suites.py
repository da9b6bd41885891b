"""What a model answered to suites of prompts: kept beside it, and the section of the page that shows it."""

import contextlib
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tslens.errors import InputError
from tslens.evaluation.coloured import STYLE, coloured_html
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import suites
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "suites, 1"
"""Part of the key of kept answers: raise it when prompts or scores change."""
INTRO = (
    "How often it prefers the right ending of a prompt to the wrong one. What one prompt of a pair accepts, its twin "
    "rejects, so a model that does not read the prompt has 50%. Intervals are 95%, in clusters of pairs or templates."
)


def keep(model: "LanguageModel", found: SuiteResult) -> None:
    """Keep the answers to a suite that comes with tslens; where nothing can be kept, they have to be found again."""
    if found.suite in suites():
        with contextlib.suppress(OSError):
            found.save(store.places(model, _name(model, found.suite))[0])


def kept(model: "LanguageModel") -> list[SuiteResult]:
    """The answers that were kept of a model with these weights, the last to each suite."""
    found = []
    for suite in suites():
        for place in store.places(model, _name(model, suite)):
            with contextlib.suppress(OSError, InputError):
                found.append(SuiteResult.load(place))
                break
    return found


def _name(model: "LanguageModel", suite: str) -> str:
    return f"suites/{store.of_weights(model, VERSION)}/{suite}"


def section(found: Sequence[SuiteResult], name: str) -> str:
    """The section of the page as HTML: of each suite the shares with their intervals, and the coloured table."""
    intro = INTRO if found else f"None was asked. tslens eval all --model {name} asks them, and keeps the answers."
    style = f"<style>{STYLE}</style>" if found else ""
    return (
        '<section id="suites" aria-labelledby="suites-title">\n<h2 id="suites-title">Suites of prompts</h2>\n'
        f'<p class="intro">{html.escape(intro)}</p>\n{style}{"".join(map(_panel, found))}\n</section>'
    )


def _panel(result: SuiteResult) -> str:
    title = f"<h3>{html.escape(result.question)}</h3>"
    table = f"<details><summary>Every prompt</summary>{coloured_html(result)}</details>"
    return f'<div class="panel"><div class="scroll">{title}{_shares(result)}{table}</div></div>'


def _shares(result: SuiteResult) -> str:
    """A row for each model: its prompts right, of every kind."""
    head = "".join(f'<th scope="col" class="n">{part} right</th>' for part in result.parts())
    rows = [
        f"<tr><td>{html.escape(name)}</td>"
        + "".join(f'<td class="n">{result.right(i, part)}</td>' for part in result.parts())
        + "</tr>"
        for i, name in enumerate(result.models)
    ]
    return f'<table class="causes"><thead><tr><th scope="col">model</th>{head}</tr></thead>{"".join(rows)}</table>'
