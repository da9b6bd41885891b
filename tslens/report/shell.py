"""The HTML frame of a page: head, style, data and scripts, in one file."""

import html
import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata, resources
from string import Template
from typing import Any

from tslens import __version__
from tslens.report.embed import script_json, script_text

SCRIPTS = tuple(
    f"{name}.js"
    for name in (
        *("data", "plot", "glossary", "address", "heads", "attention", "sheet", "large"),
        *("neurons", "neuron", "whole", "lens", "film", "page"),
    )
)
OF_LIVE = ("live.js", "live-controls.js")
WORKER = ("data.js", "live-tokenizer.js", "live-model.js", "live-worker.js")
"""What runs the model in the page, beside the page's own script."""


def around(
    body: str, content: Any, *, name: str, title: str, style: str = "", attention: bool = True, live: Any = None
) -> str:
    """The whole page around a body of HTML. The script reads `content` as JSON; CircuitsVis is included if there is
    attention to draw. `name` is the model's name, used for downloads. `live` is a model for the page (`live.Live`'s
    content), which comes with what runs it."""
    styles = ("report.css",) if live is None else ("report.css", "live.css")
    return Template(asset("shell.html")).substitute(
        version=__version__,
        name=html.escape(name),
        title=html.escape(title),
        style="".join(_tight(asset(name)) for name in styles) + style,
        body=body,
        data=script_json(content),
        bundle=bundle() if attention else "",
        script=_joined(SCRIPTS if live is None else (*OF_LIVE, *SCRIPTS)),
        worker="" if live is None else "; worker-src blob:",
        live="" if live is None else _live(live),
    )


def _live(content: Any) -> str:
    """A model, and the script of its worker, which the page starts from its text."""
    worker = '"use strict";\n' + script_text(_joined(WORKER))
    data = f'<script type="application/json" id="live-model">{script_json(content)}</script>\n'
    return f'{data}<script type="text/plain" id="live-worker">{worker}</script>\n'


def _joined(scripts: Iterable[str]) -> str:
    return "\n".join(_bare(asset(name)) for name in scripts)


def _bare(script: str) -> str:
    """A script without comments that fill a line and without indentation, so that more of the page is data. No text of
    it goes over several lines."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _tight(style: str) -> str:
    """A style sheet without comments and without the space that only people read; its texts in quotes are kept."""
    told = re.compile(r"""(".*?")|/\*.*?\*/|\s*([{};])\s*|([:,])\s+""", re.DOTALL)
    return told.sub(lambda found: "".join(part or "" for part in found.groups()), style)


@cache
def bundle() -> str:
    """CircuitsVis's script after its licence, safe to inline: nothing in it ends the element, and it names no source
    map. The text is kept; no memory map."""
    source = (resources.files("circuitsvis") / "dist" / "cdn" / "iife.js").read_text(encoding="utf-8")
    return script_text(f"/* CircuitsVis\n\n{_licence()} */\n" + source.partition("//# sourceMappingURL=")[0])


def _licence() -> str:
    """The licence of CircuitsVis, which must be in every copy."""
    files = [file for file in metadata.files("circuitsvis") or () if file.name.startswith("LICENSE")]
    return "\n\n".join(file.read_text().replace("*/", "* /") for file in files)


def asset(name: str) -> str:
    """The text of a file in `tslens/assets`."""
    return (resources.files("tslens") / "assets" / name).read_text(encoding="utf-8")
