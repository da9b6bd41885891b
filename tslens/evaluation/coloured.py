"""The coloured table of a suite's prompts by models, as a figure and as HTML."""

import math
from html import escape
from typing import TYPE_CHECKING

from tslens.evaluation.scores import PARTS, SCORINGS, SUCCESS, VERDICTS, named
from tslens.plots import FAIL_TO_SUCCESS, intervals, verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.evaluation.suite_result import SuiteResult
    from tslens.stats import Interval

MEANING = {
    "sum": ("wrong ending likelier", "within a factor of two", "right ending likelier"),
    "byte": ("wrong ending likelier per byte", "a tie", "right ending likelier per byte"),
}
SCORED = {"sum": "by the probability of its endings", "byte": "by their probability per byte"}
SCORED |= {"match": "by the first words that a model writes"}

STYLE = (
    ".tslens-suite{border-collapse:collapse;font-size:.9em}.tslens-suite caption{text-align:left;padding:.4em 0}"
    ".tslens-suite th,.tslens-suite td{padding:.25em .6em;border-bottom:1px solid #8884;text-align:left}"
    ".tslens-suite td:not(:first-child),.tslens-suite th:not(:first-child){text-align:center;white-space:nowrap}"
    ".tslens-suite td:first-child{min-width:15em}"
) + "".join(
    f".tslens-suite .{name}{{background:{colour};color:{'#33373d' if name == 'partial' else '#fff'}}}"
    for name, (colour, _) in zip(VERDICTS, FAIL_TO_SUCCESS, strict=True)
)
"""The style sheet of `coloured_html`."""


def scored(result: "SuiteResult", by: str) -> str:
    """What a scoring or a grader goes by, in words, with a mark for a grader that is not to be trusted."""
    return SCORED.get(by) or f"graded by {named(by, result.trust)}"


def coloured_figure(result: "SuiteResult", by: str = "sum") -> "Figure":
    """Pairs of prompts by models, each prompt fail, partial or success, by a scoring (`sum`, `byte`) or labels of
    `match` or a grader; above each model its share with the interval. Of a suite of templates alone, the shares."""
    if not result.by_hand:
        return _templated_shares(result)
    table, who = result.verdicts(by), named(by, result.trust, is_brief=True)
    is_marked = by not in SCORED and who != by  # the title has room for one line
    return verdicts(
        table.reshape(len(result.models), -1, 2).transpose(1, 0, 2),
        [result.topics[i] for i in result.topic[: result.by_hand : 2]],
        ["\n".join((name, *share)) for name, share in zip(result.models, _shares(result, by), strict=True)],
        title=f"{result.suite}, by {who}"
        if is_marked
        else f"{result.suite}: {result.by_hand} prompts, {scored(result, by)}",
        names=MEANING.get(by, VERDICTS),
    )


def _templated_shares(result: "SuiteResult") -> "Figure":
    """The share of templated prompts that each model has right, with its interval."""
    shares = [result.right(i, PARTS[1]) for i in range(len(result.models))]
    value, low, high = ([getattr(share, end) for share in shares] for end in ("estimate", "low", "high"))
    title = f"{result.suite}: {len(result.prompts)} templated prompts"
    return intervals(
        result.models, {title: (value, low, high)}, threshold=0.5, x_label="share with the right ending likelier"
    )


def coloured_html(result: "SuiteResult", by: str = "sum", tips: int | None = None) -> str:
    """The same as one HTML table with every prompt in words, without its style sheet; all text is escaped.

    The tip of a cell is what it rests on: the endings, or the first `tips` completions (all, by default; with 0 no cell
    has a tip). A suite of templates alone has no table, and it says so.
    """
    if not result.by_hand:
        return f"<p>{escape(result.suite)} has no prompt written by hand, so no table of prompts.</p>\n"
    head = "".join(
        f'<th scope="col">{escape(name)}<br><small>{" ".join(share)}</small></th>'
        for name, share in zip(result.models, _shares(result, by), strict=True)
    )
    rows, table = [], result.verdicts(by)
    for i in range(result.by_hand):
        cells = "".join(
            _cell(result, by, model, i, float(table[model, i]), tips) for model in range(len(result.models))
        )
        rows.append(f"<tr><td>{escape(result.prompts[i])} …</td>{cells}</tr>")
    marks = [mark for _, mark in FAIL_TO_SUCCESS]
    key = ", ".join(map(" ".join, zip(marks, MEANING.get(by, VERDICTS), strict=True)))
    null = " Chance is what the same texts get behind another prompt." if by in result.chance else ""
    caption = escape(f"{result.question} Scored {scored(result, by)}: {key}.{null}")
    return "\n".join(
        [
            f'<table class="tslens-suite"><caption>{caption}</caption>',
            f'<thead><tr><th scope="col">{escape(result.suite)}</th>{head}</tr></thead>',
            "<tbody>",
            *rows,
            "</tbody></table>\n",
        ]
    )


def _cell(result: "SuiteResult", by: str, model: int, prompt: int, verdict: float, tips: int | None) -> str:
    """A cell whose colour and mark are the verdict, and whose tip says what it rests on."""
    if math.isnan(verdict):  # nobody gave a label
        return "<td></td>"
    name, (_, mark) = VERDICTS[int(verdict)], FAIL_TO_SUCCESS[int(verdict)]
    if by in SCORINGS:
        yes, no = (result.endings[int(best[model, prompt])] for best in (result.best_accepted, result.best_rejected))
        tip = f"{yes} against {no}: {float(result.margin[model, prompt]):+.2f} nats"
    else:
        tip = " | ".join(result.completions[model][prompt][:tips])
    title = "" if tips == 0 else f' title="{escape(tip)}"'
    return f'<td class="{name}"{title}>{mark} {name}</td>'


def _shares(result: "SuiteResult", by: str) -> list[tuple[str, ...]]:
    """The share of each model and its interval: prompts right, or completions that succeed, and how many do so behind
    another prompt; a dash if none has a label."""
    return [_share(result, by, i) for i in range(len(result.models))]


def _share(result: "SuiteResult", by: str, model: int) -> tuple[str, ...]:
    is_scored = by in SCORINGS
    share = result.right(model, PARTS[0], by) if is_scored else result.labelled(SUCCESS, model, by)
    if math.isnan(share.estimate):
        return ("–",)
    null = None if is_scored else result.by_chance(SUCCESS, model, by)
    chance = () if null is None or math.isnan(null.estimate) else (f"chance {null.estimate:.0%}", bounds(null))
    return f"{share.estimate:.0%}", bounds(share), *chance


def bounds(share: "Interval") -> str:
    """The interval of a share in brackets, in per cent."""
    return f"[{share.low:.0%}, {share.high:.0%}]"
