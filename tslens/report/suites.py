"""The section of the page on suites of prompts: every way of scoring that is kept, with intervals and every prompt."""

import html
import math
from collections.abc import Iterator, Sequence

from tslens.evaluation.coloured import STYLE, bounds, coloured_html, scored
from tslens.evaluation.scores import FAIL, PARTIAL, PARTS, SUCCESS, named, twins_between
from tslens.evaluation.suite_result import SuiteResult
from tslens.report.glossary import explained
from tslens.stats import Interval

BUDGET = 400_000
"""Largest size of the section in bytes; the tips of cells, and then the tables of prompts, give way."""
TIPS = 3
"""Completions in the tip of a cell."""
INTRO = (
    "How often it prefers the right ending of a prompt to the wrong one, and how often it writes it: by the first "
    "words of what it writes, and by graders where any were asked. What one prompt of a pair accepts, the other "
    "rejects: a model that does not read the prompt prefers the right ending half of the time, and what untrained "
    "twins of the model prefer stands beside it. Of what it writes, chance is what the same texts get behind another "
    "prompt. Intervals are 95%, in clusters of pairs or templates. Of each suite "
    "the last comparison is shown that was made with these weights; texts and labels of earlier ones stay where it "
    "has fewer. A grader whose controls do not show that it is to be trusted is marked with what they show."
)
CUT = "The table of prompts would outgrow the page's budget; tslens eval {} --out FOLDER writes it."


def section(found: Sequence[SuiteResult], given: str) -> str:
    """The section as HTML: of each suite the shares with their intervals, and a coloured table for every way."""
    if not found:
        return around("suites", "Suites of prompts", f"None was asked. tslens eval all --model {given} asks them.", "")
    for tips in (TIPS, 0):
        panels = "".join(_panel(result, tips) for result in found)
        if len(panels.encode()) <= BUDGET:
            break
    else:
        panels = "".join(_panel(result, None) for result in found)
    return around("suites", "Suites of prompts", INTRO, f"<style>{STYLE}</style>{panels}")


def around(place: str, title: str, intro: str, body: str) -> str:
    """A section of the page with its title and its introduction, which is escaped and explained."""
    return (
        f'<section id="{place}" aria-labelledby="{place}-title">\n<h2 id="{place}-title">{title}</h2>\n'
        f'<p class="intro">{explained(intro)}</p>\n{body}\n</section>'
    )


def rows_of(head: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str] = ()) -> str:
    """A table that scrolls by itself; a phone stacks its cells.

    The first column names the rows; the others hold numbers, but for those called in `words`. Cells are HTML.
    """
    kinds = ["" if i == 0 or name in words else ' class="n"' for i, name in enumerate(head)]
    names = [f'<th scope="col"{kind}>{explained(name)}</th>' for kind, name in zip(kinds, head, strict=True)]
    body = "".join(
        "<tr>"
        + f"<td><b>{row[0]}</b></td>"
        + "".join(
            f'<td{kind} data-label="{html.escape(name)}">{cell}</td>'
            for kind, name, cell in zip(kinds[1:], head[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="causes"><thead><tr>{"".join(names)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def percent(share: Interval) -> str:
    """A share with its interval; a dash where there is none."""
    if math.isnan(share.estimate):
        return "–"
    return f"{share.estimate:.0%} <span>{bounds(share)}</span>"


def _panel(result: SuiteResult, tips: int | None) -> str:
    """A suite: its question, the shares, and the tables of prompts, of which None says that there is no room."""
    tables = "".join(
        f"<details{' open' if by == 'sum' else ''}><summary>Every prompt, {html.escape(scored(result, by))}</summary>"
        f'<div class="scroll">{coloured_html(result, by, tips)}</div></details>'
        for by in result.ways()
        if tips is not None
    )
    cut = "" if tables else f'<p class="muted small">{CUT.format(html.escape(result.suite))}</p>'
    columns = list(_columns(result))
    rows = [[html.escape(name), *(cells[i] for _, cells in columns)] for i, name in enumerate(result.models)]
    shares = rows_of(["model", *(title for title, _ in columns)], rows)
    how = f'<p class="muted small">{html.escape(_settings(result))}</p>'
    return f'<div class="panel suite"><h3>{html.escape(result.question)}</h3>{how}{shares}{tables}{cut}</div>'


def _settings(result: SuiteResult) -> str:
    """How many prompts were asked, and how what the models wrote after them was drawn."""
    models_of: dict[str, list[str]] = {}
    for model, how in zip(result.models, result.sampling, strict=False):
        models_of.setdefault(how, []).append(model)
    alike = len(models_of) == 1
    texts = [how if alike else f"{how} ({', '.join(of)})" for how, of in models_of.items() if how]
    said = f"{result.by_hand} prompts written by hand, {len(result.prompts) - result.by_hand} from templates."
    return f"{said} Texts: {'; '.join(texts)}." if texts else said


def _columns(result: SuiteResult) -> Iterator[tuple[str, list[str]]]:
    """Each column of the table of shares, and its cell for every model."""
    models = range(len(result.models))
    for part in result.parts():
        right = [percent(result.right(i, part)) + _of_twins(result, i, part, "prompts right") for i in models]
        yield f"right ending likelier, {part}", right
        both = [
            percent(result.pairs_right(i, part)) + _of_twins(result, i, part, "both of a pair right") for i in models
        ]
        yield f"both of a pair right, {part}", both
    for by in result.labels:
        called = "writes the right ending" if by == "match" else f"right, graded by {named(by, result.trust)}"
        yield f"{called}, {PARTS[0]}", [_graded(result, i, by) for i in models]


def _of_twins(result: SuiteResult, model: int, part: str, score: str) -> str:
    """What the untrained twins of a model score; empty if none was asked."""
    least, largest = twins_between(result.twins, result.models[model], part, score)
    return "" if math.isnan(least) else f"<span>twins {least:.0%} to {largest:.0%}</span>"


def _graded(result: SuiteResult, model: int, by: str) -> str:
    """The shares of completions that succeed, that do in part, and that fail, each with its interval, and how many
    succeed behind another prompt."""
    success, part, fail = (result.labelled(label, model, by) for label in (SUCCESS, PARTIAL, FAIL))
    if math.isnan(success.estimate):
        return "–"
    others = ((part, "in part"), (fail, "fail"))
    null = result.by_chance(SUCCESS, model, by)
    chance = "" if math.isnan(null.estimate) else f"<span>chance {null.estimate:.0%} {bounds(null)}</span>"
    return (
        percent(success)
        + chance
        + "".join(f"<span>{share.estimate:.0%} {name} {bounds(share)}</span>" for share, name in others)
    )
