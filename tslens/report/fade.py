"""What FADE's measures say of the labels of neurons: kept beside the model, and their panel on the page."""

import contextlib
import html
from typing import TYPE_CHECKING

from tslens.analysis.neurons import FadeResult
from tslens.analysis.neurons.fade_result import MEASURES
from tslens.errors import InputError
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "FADE, 1"
"""Part of the key of what is kept: raise it when a measure changes."""
ROWS = 24
"""Rows of the table at most."""
TITLE = "Labels where the truth is known, and what neurons write"
COLUMNS = ("Neuron", "Label", *(measure.capitalize() for measure in MEASURES))


def keep(model: "LanguageModel", found: FadeResult) -> None:
    """Keep the measures beside the model; where nothing can be kept, they have to be found again."""
    with contextlib.suppress(OSError):
        found.save(store.places(model, _name(model))[0])


def kept(model: "LanguageModel") -> FadeResult | None:
    """The measures that were last kept of a model with these weights, or None."""
    for place in store.places(model, _name(model)):
        with contextlib.suppress(OSError, InputError):
            return FadeResult.load(place)
    return None


def _name(model: "LanguageModel") -> str:
    return f"fade/{store.of_weights(model, VERSION)}"


def panel(found: FadeResult | None, given: str) -> str:
    """The panel as HTML: the counts beside those of twins, and a table of the labels, those first whose neuron writes
    most of them; or the command that finds them."""
    if found is None:
        said = f"Not measured. tslens analyze neurons --fade --model {given} does, and keeps it for this page."
        return f'<div class="panel" id="fade"><h3>{TITLE}</h3><p>{html.escape(said)}</p></div>'
    intro = (
        "Labels that predict, by FADE's measures (Puri et al. 2025). Stories of the generator, whose parts of speech "
        "are known, say how well a neuron tells its label from natural text (clarity) and from other words "
        "(responsiveness: 1 always, 0 as by chance), and how many of its strongest tokens are of the label (purity). "
        "Faithfulness is the share of all probability, of what is left to gain, that goes to the label's tokens where "
        "the activation is set to the given multiple of a large one. Each has its 95% interval; grey is not above all "
        "of the layer's other neurons, whose largest value stands below. "
    )
    rows = found.summary()
    more = f" Not listed: {len(rows) - ROWS} labels (analyze neurons --fade has all)." if len(rows) > ROWS else ""
    said = f"{intro}{found.headline()} {found.said_of_twins()} {found.said_of_stories()}{more}"
    body = "".join(map(_row, rows.head(ROWS).to_dict("records")))
    heads = "".join(f'<th scope="col"{_number(i)}>{column}</th>' for i, column in enumerate(COLUMNS))
    table = f'<table class="causes"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    return (
        f'<div class="panel" id="fade"><h3>{TITLE}</h3><p class="muted small">{html.escape(said)}</p>'
        f'<div class="scroll">{table}</div></div>'
    )


def _row(label: dict[str, float]) -> str:
    layer, neuron = int(label["layer"]), int(label["neuron"])
    cells = [f'<a href="#neuron={layer}.{neuron}">{layer}.{neuron}</a>', html.escape(str(label["label"]))]
    cells += [_measure(label, measure) for measure in MEASURES]
    named = zip(COLUMNS, cells, strict=True)
    row = "".join(f'<td data-label="{column}"{_number(i)}>{cell}</td>' for i, (column, cell) in enumerate(named))
    return f"<tr>{row}</tr>"


def _measure(label: dict[str, float], measure: str) -> str:
    value, low, high, null = (label[f"{measure}{end}"] for end in ("", "_low", "_high", "_null"))
    if value != value:  # too few tokens are of the label
        return "–"
    faint = "" if low > null else ' class="faint"'
    at = f" at {label['strength']:+g}" if measure == MEASURES[-1] and label["strength"] else ""
    others = f"<span>others {null:.3f}</span>" if null == null else ""
    return f"<b{faint}>{value:.3f}</b>{at}<span>[{low:.3f}, {high:.3f}]</span>{others}"


def _number(column: int) -> str:
    return ' class="n"' if column >= 2 else ""
