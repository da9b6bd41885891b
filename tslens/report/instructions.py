"""The section of the page on instructions: how far models do what they are told, by rule and by graders."""

import html
import math
from collections.abc import Sequence

from tslens.evaluation.instruct import InstructGradesResult, InstructResult
from tslens.evaluation.instruct.result import LEAST
from tslens.evaluation.scores import named
from tslens.plots import svg
from tslens.report.suites import around, rows_of
from tslens.stats import Interval

RULES = (
    "How much of what {n:,} instructions ask its stories do, by rule, from 0 to 1; below, in brackets, what it exceeds "
    "the same model's stories for other instructions by. Groups say whether the words and features of an instruction "
    "were asked for together in the first model's training. Intervals are 95%, over instructions."
)
GRADES = "Scores from 1 to 10 by {}. A grader whose controls do not show that it is to be trusted is marked."


def section(found: InstructResult | None, grades: Sequence[InstructGradesResult]) -> str:
    """The section as HTML; empty where no instruction was given, since most models are not trained on any."""
    if found is None:
        return ""
    on = f" The stories behind the instructions: {found.corpus}" if found.corpus else ""
    body = "".join([_by_rule(found), *map(_by_grader, grades)])
    return around("instructions", "Instructions", RULES.format(n=len(found.instructions)) + on, body)


def link(found: InstructResult | None) -> str:
    """The link to the section, for the head of the page; empty where there is none."""
    return '<a href="#instructions">Instructions</a>' if found else ""


def _by_rule(found: InstructResult) -> str:
    rows = []
    for group in (None, *found.groups):
        for measure in found.measures:
            cells = [_cell(found, model, measure, group) for model in found.models]
            if any(cells):
                rows.append([html.escape(f"{measure}, {group or 'all'}"), *(cell or "–" for cell in cells)])
    figure = f'<div class="scroll"><figure>{svg(found.figure())}</figure></div>'
    return f'<div class="panel drawn">{figure}{rows_of(["by rule", *found.models], rows)}</div>'


def _cell(found: InstructResult, model: str, measure: str, group: str | None) -> str:
    """The score, and its gain on other instructions; empty where too few instructions ask for the measure."""
    if found.count(measure, group) < LEAST:
        return ""
    gain = found.gain(model, measure, group)
    beyond = f"<span>{gain.estimate:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]</span>"
    return _mean(found.score_of(model, measure, group)) + beyond


def _by_grader(found: InstructGradesResult) -> str:
    rows = []
    for axis in found.axes:
        cells = [_mean(found.score_of(model, axis)) for model in found.models]
        if any(cell != "–" for cell in cells):
            rows.append([html.escape(named(axis, found.trust)), *cells])
    said = f'<p class="muted small">{html.escape(GRADES.format(found.grader))}</p>'
    return f'<div class="panel">{said}{rows_of(["by the grader", *found.models], rows)}</div>'


def _mean(of: Interval) -> str:
    return "–" if math.isnan(of.estimate) else f"{of.estimate:.2f} <span>[{of.low:.2f}, {of.high:.2f}]</span>"
