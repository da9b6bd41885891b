"""Texts beside the training stories that they copy or whose plot is nearest, as a fragment of a page."""

import html
from typing import TYPE_CHECKING, Any

from tslens.evaluation.copies.names import PLOT
from tslens.ngrams.words import WORD
from tslens.plots.text import printable

if TYPE_CHECKING:
    from tslens.evaluation.copies.result import CopiesResult

_SAID = {
    "exact": "Exact copy",
    "template": "Template copy: the same skeleton, other names and nouns",
    "none": "No copy; the longest span that a training story has",
    PLOT: "No copy; the training story whose plot is nearest, in whatever words",
}


def side_by_side(result: "CopiesResult") -> str:
    """The texts with the longest copies, the copied span marked, and those with the nearest plots, each beside its
    training story; all text escaped."""
    parts = [_pair(row) for row in result.shown]
    head = f"{html.escape(result.model)} beside {result.n_train:,} training stories ({html.escape(result.train)})"
    return f"<section class='tslens-copies'><h4>{head}</h4>{''.join(parts)}</section>"


def page(result: "CopiesResult") -> str:
    """`side_by_side` as a page of its own."""
    head = "<!doctype html><html lang='en'><meta charset='utf-8'><title>tslens: copies</title>"
    return f"{head}<body style='font:15px sans-serif;max-width:70em;margin:auto'>{side_by_side(result)}</body></html>\n"


def _pair(row: dict[str, Any]) -> str:
    prompt, story = html.escape(_plain(row["prompt"])), row["story_text"]
    near = f"cosine of rare words {row['cosine']:.2f}" if row["kind"] == PLOT else f"{row['words']} words and marks"
    return (
        f"<article><p>{_SAID[row['kind']]}: {near}</p>"
        "<div style='display:grid;grid-template-columns:repeat(auto-fit,minmax(16em,1fr));gap:1em'>"
        f"<p style='white-space:pre-wrap'><i>{prompt}</i>{marked(row['text'], row['span'])}</p>"
        f"<p style='white-space:pre-wrap'>{marked(story, row['story_span'])}</p></div></article>"
    )


def marked(text: str, span: str) -> str:
    """The text as HTML, the first place that has the span's words within <mark>."""
    plain, wanted = _plain(text), span.split()
    lower = plain.lower().translate(str.maketrans("‘’ʼ“”", "'''\"\"")) if wanted else ""
    if not wanted or len(lower) != len(plain):
        return html.escape(plain)
    found = list(WORD.finditer(lower))
    for i in range(len(found) - len(wanted) + 1):
        if all(place[0] == word for place, word in zip(found[i:], wanted, strict=False)):
            start, end = found[i].start(), found[i + len(wanted) - 1].end()
            return f"{html.escape(plain[:start])}<mark>{html.escape(plain[start:end])}</mark>{html.escape(plain[end:])}"
    return html.escape(plain)


def _plain(text: str) -> str:
    """The text with control characters escaped, line breaks kept."""
    return "\n".join(printable(line) for line in text.split("\n"))
