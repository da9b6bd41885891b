"""The section of the page where the model runs: its place, and the shape that its controls have."""

import html
from typing import Any

from tslens.report.live import Live

BEGINNING = "Once upon a time there was a little"
"""The text that the section opens with."""
INTRO = (
    "The model itself, in this page: no text leaves it. Type a beginning to see its loss token by token, and let the "
    "model write on. Switch a head or a neuron off, or scale it, and see what becomes of the loss, the lens and the "
    "text. A head's output is scaled before it is written to the residual stream, a neuron after its activation "
    "function. At temperature 0 the text is that of tslens generate --temperature 0, wherever the two best logits "
    "differ by more than {close:g}; at others a seed draws other texts than there."
)


def section(live: Live | None) -> str:
    """The section as HTML; empty where the page does not run the model."""
    if live is None:
        return ""
    intro = html.escape(f"{INTRO.format(close=live.close)} {live.precision}")
    return (
        '<section id="live" aria-labelledby="live-title">\n<h2 id="live-title">Try it</h2>\n'
        f'<p class="intro">{intro}</p>\n<div id="live-view"></div>\n</section>'
    )


def link(live: Live | None) -> str:
    """The section's place in the navigation."""
    return '<a href="#live">Try it</a>' if live else ""


def shape(live: Live | None) -> dict[str, Any]:
    """What the page's script needs before the model is loaded, by its field; empty without a model."""
    if live is None:
        return {}
    of = live.content["shape"]
    sizes = {"layers": of["n_layers"], "heads": of["n_heads"], "neurons": of["d_mlp"], "context": of["n_ctx"]}
    return {"live": {**sizes, "beginning": BEGINNING}}
