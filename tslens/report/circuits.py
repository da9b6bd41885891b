"""The circuits that were found of a model: kept beside it, and their section of the page."""

import contextlib
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tslens.analysis.circuits import CircuitResult
from tslens.errors import InputError
from tslens.plots import svg
from tslens.report.glossary import explained
from tslens.stories.pairs import TASKS
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "circuits, 4"
"""Part of the key of kept circuits: raise it when the search or its controls change."""
# of the evidence; the effect is in logits, and tells a circuit from one that keeps all of next to nothing
SHOWN = ("control", "size", "faithfulness", "low", "high", "effect", "overlap", "by_chance", "share", "accuracy", "p")


def keep(model: "LanguageModel", found: CircuitResult) -> None:
    """Keep a circuit beside the model; where nothing can be kept, it has to be found again."""
    with contextlib.suppress(OSError):
        found.save(store.places(model, _name(model, found.task))[0])


def kept(model: "LanguageModel") -> list[CircuitResult]:
    """The circuits that were kept of a model with these weights, the last of each task."""
    found = []
    for task in TASKS:
        for place in store.places(model, _name(model, task)):
            with contextlib.suppress(OSError, InputError):
                found.append(CircuitResult.load(place))
                break
    return found


def _name(model: "LanguageModel", task: str) -> str:
    return f"circuits/{store.of_weights(model, VERSION)}/{task}"


def section(found: Sequence[CircuitResult], given: str) -> str:
    """The section of the page as HTML: of each circuit its graph, its verdict and its controls."""
    intro = (
        "The fewest heads and MLPs that keep 90% of an answer when all others see a prompt with another answer, "
        "beside random sets, a nonsense task and permuted twins."
        if found
        else f"None was searched for. tslens analyze circuit character --model {given} does, and keeps it for this "
        "page."
    )
    panels = "".join(map(_panel, found))
    return (
        '<section id="circuits" aria-labelledby="circuits-title">\n<h2 id="circuits-title">Circuits</h2>\n'
        f'<p class="intro">{explained(intro)}</p>\n{panels}\n</section>'
    )


def _panel(circuit: CircuitResult) -> str:
    graph = f"<figure>{svg(circuit.figure())}</figure>"
    said = f"<h3>{html.escape(circuit.question)}</h3><p>{explained(circuit.verdict)}.</p>"
    return f'<div class="panel circuit">{said}{graph}{_controls(circuit)}</div>'


def _controls(circuit: CircuitResult) -> str:
    """The circuit, its controls and its tests as a table; nothing for a model that does not do the task."""
    if not circuit.does:
        return ""
    table = circuit.summary()
    columns = [column for column in SHOWN if column in table]
    head = "".join(f'<th scope="col"{_number(column)}>{explained(column.replace("_", " "))}</th>' for column in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td{_number(column)}>{_cell(row[column])}</td>" for column in columns) + "</tr>"
        for row in table.to_dict("records")
    )
    return (
        f'<div class="scroll"><table class="causes"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _number(column: str) -> str:
    return "" if column == "control" else ' class="n"'


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else html.escape(str(value))
