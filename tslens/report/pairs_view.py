"""The section of the page on minimal pairs: the score of every phenomenon, and the means over them."""

import html
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tslens.evaluation.pairs import LOCAL, PairsResult
from tslens.plots import svg
from tslens.report.glossary import explained
from tslens.report.suites import around, percent, rows_of
from tslens.stats import Interval

INTRO = (
    "Of two texts that differ in one respect, how often it finds the good one more probable, by phenomenon. Of ours, "
    "counts of words and length alone score 50%. Intervals are 95%, over sets of pairs. Means leave out the tests of "
    "order, which a contrastive objective trains on. The last comparison is shown that was made with these weights."
)
BESIDE = (
    "A word 5-gram, which sees four words at a time, stands beside; a phenomenon in which it scores {:.0%} or more is "
    "local: five words tell."
)
ALONE = "No word 5-gram stands beside, which would say where five words tell."
LEFT_OUT = {
    "identical": "are identical",
    "unknown": "have words that the given stories lack",
    "too_long": "are longer than a model's context",
}
MEANS = "Over all phenomena, and by whether a pair's texts have as many tokens (of a 5-gram: words)"
TRAINED = "<span>it is trained on this</span>"


def section(found: Sequence[PairsResult], given: str) -> str:
    """The section as HTML, ours and then those of others; where nothing is kept it says which command scores pairs."""
    if not found:
        return around("pairs", "Minimal pairs", f"None were scored. tslens eval pairs --model {given} scores them.", "")
    first, *more = found
    panels = _panels(first)
    for one in more:
        panels += f'<h3>Pairs of others: {html.escape(one.pairs)}</h3><p class="intro">{explained(_said(one))}</p>'
        panels += _panels(one)
    return around("pairs", "Minimal pairs", f"{INTRO} {_said(first)}", panels)


def _said(found: PairsResult) -> str:
    """How many pairs there are, what stands beside, and what was left out."""
    left_out = [f"{n:,} {why}" for field, why in LEFT_OUT.items() if (n := getattr(found, field))]
    said = [f"{len(found.goods):,} pairs of {len(found.paradigms)} phenomena."]
    said += [BESIDE.format(LOCAL) if found.n_grams else ALONE]
    return " ".join([*said, f"Left out: {', '.join(left_out)}."] if left_out else said)


def _panels(found: PairsResult) -> str:
    """The figure, the table of phenomena, and the means."""
    figure = f'<div class="scroll"><figure>{svg(found.figure())}</figure></div>'
    panels = (f"{figure}{_phenomena(found)}", f"<h3>{MEANS}</h3>{_means(found)}")
    return "".join(f'<div class="panel drawn">{body}</div>' for body in panels)


def _phenomena(found: PairsResult) -> str:
    """The table of phenomena: what each is about, whether it is local, its pairs, and its score under each scorer."""
    table, head = found.by_paradigm(), ["phenomenon", "axis", "local", "pairs", *found.scorers]
    rows = []
    for _, of in table.groupby("paradigm", sort=False):
        cells = of.to_dict("records")
        one = cells[0]
        about = [html.escape(one["paradigm"]), html.escape(one["axis"]), "local" if one["local"] else "–"]
        rows.append([*about, f"{one['pairs']:,}", *(_share(cell, "score", "low", "high") for cell in cells)])
    return rows_of(head, rows, words=["axis", "local"])


def _means(found: PairsResult) -> str:
    """The table of scorers: the means over phenomena and over tests of order, and the shares by lengths in tokens."""
    columns = {
        "mean": ("score", "low", "high"),
        "order": ("order", "order_low", "order_high"),
        "equal length": ("equal_length", "equal_low", "equal_high"),
        "unequal length": ("unequal_length", "unequal_low", "unequal_high"),
    }
    rows = []
    for one in found.summary().to_dict("records"):
        cells = {title: _share(one, *bounds) for title, bounds in columns.items()}
        cells["order"] += TRAINED if one.get("trained_on_order") else ""
        for title, kind in zip(list(columns)[-2:], ("equal", "unequal"), strict=True):
            cells[title] += f"<span>{one[f'{kind}_pairs']:,} pairs</span>"
        rows.append([html.escape(one["scorer"]), *cells.values()])
    return rows_of(["model", *columns], rows)


def _share(row: Mapping[Hashable, Any], *names: str) -> str:
    """A share with its interval, from these columns of a row; a dash where there is none."""
    estimate, low, high = (row.get(name, math.nan) for name in names)
    return percent(Interval(estimate, low, high, 0.95, ""))
