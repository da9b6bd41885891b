"""The sections of the page on the score card, and on what a model copies from its training stories."""

import html
import math
from collections.abc import Mapping
from typing import Any

from tslens.evaluation.card import CardResult
from tslens.evaluation.copies import CopiesResult
from tslens.evaluation.copies.names import BITS, COMPARISONS, OTHERS
from tslens.evaluation.copies.view import side_by_side
from tslens.plots import svg
from tslens.report.suites import around, rows_of

CARD = (
    "Grammar, consistency and plot without a grader. By minimal pairs: the share of pairs whose good text is more "
    "probable than the bad one; chance is 50%. By texts: what the model writes, in standard deviations from reference "
    "stories; 0 is usual. Intervals are 95%."
)
COPIES = (
    "How near what it writes is to the true ending, to its other texts and to the nearest of {n:,} training stories "
    "({train}), beside the true endings of stories that it was not trained on{twins}. A text is an exact copy if a "
    "training story has {span} words and marks of it in a row, or all of at least 8, and a template copy if one has "
    "{span} of its skeleton. Intervals are 95%, over stories."
)
BESIDE = (
    " Untrained twins of the model's shape stand beside, with every weight's values permuted, or freshly initialised: "
    "what they have too, no training gave."
)
GRAMS = " So does a word 5-gram of training stories, which sees four words at a time."
ALONE = " No untrained twin was asked."
FULLEST = " Of the cards of these weights the fullest is shown, the last of its kind: on {}"
PLACED = "{} texts beside training stories: those with the longest copies, then those with the nearest plots"
LAST = " What was looked for last with these weights is shown: on {}"
UNSEEN = "does not measure"
SHOWN = (*COMPARISONS.values(), OTHERS["longest"], "exact copies", "template copies", OTHERS["plot"], BITS)


def sections(card_found: CardResult | None, copies_found: CopiesResult | None, given: str) -> str:
    """Both sections as HTML; where nothing is kept they say which command finds it."""
    return f"{card(card_found, given)}\n{copies(copies_found, given)}"


def card(found: CardResult | None, given: str) -> str:
    """The section of the score card as HTML: every axis with its intervals, and what it does not measure."""
    if found is None:
        hint = f"None was made. tslens eval all --model {given} makes one, tslens eval card scores what it writes too."
        return around("card", "Score card", hint, "")
    on = f" The reference is {found.reference}." if found.reference else ""
    on += (BESIDE if found.twins else ALONE) + (GRAMS if found.n_grams else "")
    on += FULLEST.format(found.corpus) if found.corpus else ""
    panels = "".join(f'<div class="panel drawn">{_rows(found, kind)}</div>' for kind in _kinds(found))
    return around("card", "Score card", CARD + on, panels)


def _kinds(found: CardResult) -> list[str]:
    return list(dict.fromkeys(row.rpartition(", ")[2] for row in found.rows))


def _rows(found: CardResult, kind: str) -> str:
    """The figure and the table of the rows by `pairs` or by `texts`."""
    table = found.summary()
    rows = []
    for row in (row for row in found.rows if row.endswith(f", {kind}")):
        of = table[table["row"] == row].to_dict("records")
        values = [_value(one, kind) for one in of]
        unseen = dict.fromkeys(f"{one[UNSEEN]}" for one in of)
        rows.append([html.escape(row.rpartition(", ")[0]), *values, html.escape(" / ".join(unseen))])
    if kind == "pairs" and not found.bits_per_byte.isnan().all():
        bits = map(_bits, found.bits_per_byte.tolist(), found.bits_low.tolist(), found.bits_high.tolist())
        rows.append(["bits per byte", *bits, "of held-out stories: how sure it is of them, not what it writes"])
    title = "By minimal pairs" if kind == "pairs" else "By what it writes"
    return (
        f'<h3>{title}</h3><div class="scroll"><figure>{svg(found.drawn(kind))}</figure></div>'
        f"{rows_of(['axis', *found.models, UNSEEN], rows, words=[UNSEEN])}"
    )


def _value(one: Mapping[str, Any], kind: str) -> str:
    """A value of the card with its interval: a share, or standard deviations."""
    shown = "{:.0%}" if kind == "pairs" else "{:+.2f}"
    value, low, high = (shown.format(one[key]) for key in ("value", "low", "high"))
    return "–" if math.isnan(one["value"]) else f"{value} <span>[{low}, {high}]</span>"


def _bits(value: float, low: float, high: float) -> str:
    """Bits per byte, with their interval where there is one."""
    bounds = "" if math.isnan(low) else f" <span>[{low:.3f}, {high:.3f}]</span>"
    return "–" if math.isnan(value) else f"{value:.3f}{bounds}"


def copies(found: CopiesResult | None, given: str) -> str:
    """The section on copies as HTML: the histograms of the three comparisons, and their means beside true endings."""
    if found is None:
        return around("copies", "Copies", f"None were looked for. tslens eval copies --model {given} does.", "")
    table = found.summary()
    table = table[table["measure"].isin(SHOWN)].sort_values("measure", key=lambda m: m.map(SHOWN.index), kind="stable")
    columns = [("written", "low", "high"), ("true_endings", "true_low", "true_high")]
    columns += [(twin, f"{twin} low", f"{twin} high") for twin in found.twins]
    rows = [
        [
            html.escape(row["measure"]) + ("" if math.isnan(row["cut"]) else f", cut at {row['cut']:.0%}"),
            *(_mean(*(row[name] for name in bounds)) for bounds in columns),
        ]
        for row in table.to_dict("records")
    ]
    body = (
        f'<div class="panel drawn panels"><div class="scroll"><figure>{svg(found.figure())}</figure></div>'
        f"{rows_of(['mean over texts', *found.writers], rows)}</div>"
    )
    if found.shown:
        body += f"<details><summary>{PLACED.format(len(found.shown))}</summary>{side_by_side(found)}</details>"
    twins = ", and what untrained twins write after the same prompts" if found.twins else ""
    said = COPIES.format(n=found.n_train, train=found.train, twins=twins, span=found.span)
    said += ("" if twins else ALONE) + (LAST.format(found.corpus) if found.corpus else "")
    return around("copies", "Copies", said, body)


def _mean(value: float, low: float, high: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g} <span>[{low:.3g}, {high:.3g}]</span>"
