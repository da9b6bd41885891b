"""Views of one result for a notebook: the page's own, in a frame without network access."""

import html
from dataclasses import dataclass
from typing import Any

from tslens.analysis.heads import PatternResult, RolesResult
from tslens.analysis.lens import OfPromptResult
from tslens.analysis.neurons import ProfilesResult
from tslens.errors import InputError
from tslens.report import payload
from tslens.report.embed import Words
from tslens.report.neurons import Detail, neurons
from tslens.report.shell import around

FULL = 2_000  # neurons that a notebook holds with all their contexts


@dataclass(frozen=True)
class View:
    """A small HTML page, which Jupyter shows in a frame."""

    page: str
    """The complete page, which can also be written to a file."""
    height: int
    """Height of the frame in pixels."""

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts allow-downloads" title="tslens" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )


def show(result: PatternResult | OfPromptResult | ProfilesResult, heads: RolesResult | None = None) -> View:
    """The interactive view of a result, for the last line of a notebook's cell.

    A `PatternResult` opens the attention of every head (with CircuitsVis: 1.3 MB in the notebook), on the map of roles
    if `heads` are given; an `OfPromptResult` the heat map over tokens; a `ProfilesResult` the searchable table.
    """
    content: dict[str, Any]
    if isinstance(result, PatternResult):
        words, n = Words(()), len(result.tokens)
        story = payload.story(result.tokens, words, n, payload.pack_attention(result, n))
        content = {"stories": [story], "heads": payload.heads(heads) if heads else payload.bare_heads(result)}
        place, height, attention = "heads-view", 820, True
    elif isinstance(result, OfPromptResult):
        words = Words(())
        lens = payload.lens([result], words, int(result.true_rank.max()))
        content = {"stories": [payload.story(result.tokens, words)], "lens": lens}
        place, height, attention = "lens-view", 400 + 25 * len(result.depths), False
    elif isinstance(result, ProfilesResult):
        words = Words(result.pieces)
        content = {"neurons": neurons(result, words, Detail(full=FULL, rest=3))}
        place, height, attention = "neurons-view", 900, False
    else:
        raise InputError(
            f"{type(result).__name__} has no view; show takes a PatternResult, OfPromptResult or ProfilesResult."
        )
    name = f"{result.model} {type(result).__name__.removesuffix('Result')}"
    page = around(
        f'<div id="{place}"></div>',
        {"vocabulary": words.texts, **content},
        name=name,
        title=name,
        style="\nbody { padding: 8px; background: none; }",
        attention=attention,
    )
    return View(page, height)
