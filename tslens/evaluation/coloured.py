"""The coloured table of a suite's prompts by models, as a figure and as HTML."""

from html import escape
from typing import TYPE_CHECKING

from tslens.evaluation.scores import PARTS, SCORINGS, VERDICTS
from tslens.plots import FAIL_TO_SUCCESS, verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.evaluation.suite_result import SuiteResult

MEANING = {
    "sum": ("wrong ending likelier", "within a factor of two", "right ending likelier"),
    "byte": ("wrong ending likelier per byte", "a tie", "right ending likelier per byte"),
}


STYLE = ".tslens-suite td:not(:first-child){text-align:center}" + "".join(
    f".tslens-suite .{name}{{background:{colour};color:{'#33373d' if name == 'partial' else '#fff'}}}"
    for name, (colour, _) in zip(VERDICTS, FAIL_TO_SUCCESS, strict=True)
)
"""The style sheet of `coloured_html`."""


def coloured_figure(result: "SuiteResult", by: str = "sum") -> "Figure":
    """Pairs of twins by models, each prompt fail, partial or success, by a scoring (`sum`, `byte`) or by the labels of
    `match` or a grader; above each model its share with the interval."""
    table = result.verdicts(by)
    return verdicts(
        table.reshape(len(result.models), -1, 2).transpose(1, 0, 2),
        [result.topics[i] for i in result.topic[: result.by_hand : 2]],
        ["\n".join((name, *share)) for name, share in zip(result.models, _shares(result, by), strict=True)],
        title=f"{result.suite}: {result.by_hand} prompts",
        names=MEANING.get(by, VERDICTS),
    )


def coloured_html(result: "SuiteResult", by: str = "sum") -> str:
    """The same as one HTML table with every prompt in words, without its style sheet; all text is escaped."""
    head = "".join(
        f"<th>{escape(name)}<br><small>{' '.join(share)}</small></th>"
        for name, share in zip(result.models, _shares(result, by), strict=True)
    )
    rows, table = [], result.verdicts(by)
    for i in range(result.by_hand):
        cells = "".join(_cell(result, by, model, i, float(table[model, i])) for model in range(len(result.models)))
        rows.append(f"<tr><td>{escape(result.prompts[i])} …</td>{cells}</tr>")
    return "\n".join(
        [
            f'<table class="tslens-suite"><caption>{escape(result.question)}</caption>',
            f"<thead><tr><th>{escape(result.suite)}</th>{head}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody></table>\n",
        ]
    )


def _cell(result: "SuiteResult", by: str, model: int, prompt: int, verdict: float) -> str:
    """A cell whose colour and mark are the verdict, and whose tip says what it rests on."""
    if verdict != verdict:  # NaN: nobody gave a label
        return "<td></td>"
    name, (_, mark) = VERDICTS[int(verdict)], FAIL_TO_SUCCESS[int(verdict)]
    if by in SCORINGS:
        yes, no = (result.endings[int(best[model, prompt])] for best in (result.best_accepted, result.best_rejected))
        tip = f"{yes} against {no}: {float(result.margin[model, prompt]):+.2f} nats"
    else:
        tip = " | ".join(result.completions[model][prompt])
    return f'<td class="{name}" title="{escape(tip)}">{mark} {name}</td>'


def _shares(result: "SuiteResult", by: str) -> list[tuple[str, str]]:
    """The share of each model and its interval: prompts right, or completions that succeed."""
    found = [
        result.right(i, PARTS[0], by) if by in SCORINGS else result.labelled(2, i, by)
        for i in range(len(result.models))
    ]
    return [(f"{share.estimate:.0%}", f"[{share.low:.0%}, {share.high:.0%}]") for share in found]
