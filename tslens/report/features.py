"""Features of sparse autoencoders that were found of a model: kept beside it, and their section of the page."""

import contextlib
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tslens.errors import InputError
from tslens.files import atomic_folder
from tslens.report.glossary import explained
from tslens.sae import (
    FROZEN,
    KINDS,
    LABELS,
    TRAINED,
    BestFeaturesResult,
    ComparedFeaturesResult,
    RecoveredResult,
)
from tslens.twins import TwinsResult
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "features, 7"
"""Part of the key of kept features: raise it when a label, its test or the loss recovered changes."""
COUNTS = ("part-of-speech features", "one-word features")
"""The names of the counts of `LABELS` among those of twins."""
COLUMNS = {
    "kind": "What",
    "label": "Label",
    "labelled": "Have it",
    "holding": "Hold on other stories",
    "predicting": "Predict there",
    "auroc": "AUROC",
    "precision": "Precision",
    "base_rate": "Base rate",
}
OF_EACH = ("Feature", "Label", "Precision", "AUROC", "Fires on", "Where it fires most", "Makes likelier")


@dataclass(frozen=True)
class FoundFeatures:
    """What was found of the features of one activation."""

    compared: ComparedFeaturesResult
    recovered: RecoveredResult
    best: BestFeaturesResult
    twins: TwinsResult | None
    """The counts of untrained twins; None where none was counted."""

    @property
    def exceeds(self) -> tuple[bool, ...]:
        """Of which of `LABELS` there are surely more than among random features and among those of every twin."""
        beyond = self.compared.beyond_random.tolist()
        leads = [self.twins is not None and bool(self.twins.leads[self.twins.place(name)]) for name in COUNTS]
        return tuple(a and b for a, b in zip(beyond, leads, strict=True))


def keep(model: "LanguageModel", found: FoundFeatures) -> None:
    """Keep the features of an activation beside the model, all or nothing; where nothing can be kept, they have to be
    found again."""
    place = store.places(model, _folder(model))[0] / found.compared.hook
    with contextlib.suppress(OSError), atomic_folder(place) as fresh:
        for answer in filter(None, (found.compared, found.recovered, found.best, found.twins)):
            answer.save(fresh)


def kept(model: "LanguageModel") -> list[FoundFeatures]:
    """The features that were kept of a model with these weights, the last of each activation."""
    found: dict[str, FoundFeatures] = {}
    for folder in store.places(model, _folder(model)):
        for place in sorted(folder.iterdir()) if folder.is_dir() else ():
            with contextlib.suppress(OSError, InputError):
                found.setdefault(place.name, _load(place))
    return [found[hook] for hook in sorted(found)]


def _load(place: Path) -> FoundFeatures:
    twins = TwinsResult.load(place) if (place / TwinsResult.__name__).is_dir() else None
    parts = ComparedFeaturesResult.load(place), RecoveredResult.load(place), BestFeaturesResult.load(place)
    return FoundFeatures(*parts, twins)


def _folder(model: "LanguageModel") -> str:
    return f"features/{store.of_weights(model, VERSION)}"


def section(found: Sequence[FoundFeatures], given: str) -> str:
    """The section of the page as HTML: of each activation what its features recover, how many have a label beside
    random features and twins, and those whose labels are best supported."""
    intro = (
        "Directions in which a sparse autoencoder writes the residual stream, named by the rules for neurons. Random "
        "features are those of an autoencoder that was not trained: what they earn too says nothing about training."
        if found
        else f"None was trained. tslens analyze features --model {given} --hook blocks.0.hook_resid_post does (it "
        "needs the extra tslens[sae]), and keeps them for this page."
    )
    panels = "".join(map(_panel, found))
    return (
        '<section id="features" aria-labelledby="features-title">\n<h2 id="features-title">Features</h2>\n'
        f'<p class="intro">{explained(intro)}</p>\n{panels}\n</section>'
    )


def _panel(found: FoundFeatures) -> str:
    order = sorted(range(len(LABELS)), key=lambda i: not found.exceeds[i])
    grey = ["" if exceeds else ' class="muted"' for exceeds in found.exceeds]
    lines = "".join(f"<p{grey[i]}>{html.escape(' '.join(claim(found, i)))}</p>" for i in order)
    title = f"{found.compared.hook}: {found.best.width:,} features, {found.best.k} of them on a token at most"
    read = f"On {found.compared.corpus}" if found.compared.corpus else f"On {found.compared.stories:,} stories."
    return (
        f'<div class="panel features"><h3>{html.escape(title)}</h3>{lines}'
        f"<p>{html.escape(found.recovered.said())}</p>{_kinds(found.compared)}{_best(found, order)}"
        f'<p class="muted small">{html.escape(read)}</p></div>'
    )


def claim(found: FoundFeatures, label: int) -> tuple[str, str]:
    """How many features have one of `LABELS`: the figure, and the claim about it, beside random features and twins."""
    table, alive = found.compared, int(found.compared.alive[KINDS.index(TRAINED)])

    def counted(kind: str) -> tuple[str, str]:
        at = KINDS.index(kind), label
        low, high = float(table.labelled_low[at]), float(table.labelled_high[at])
        return f"{int(table.labelled[at]):,}", f"{low:,.0f} to {high:,.0f}"

    (own, between), (random, of_random) = counted(TRAINED), counted(FROZEN)
    tested, sure = (int(part[KINDS.index(TRAINED), label]) for part in (table.tested, table.predicting))
    said = f"have {('a part of speech', 'one word')[label]} ({between}), and of {tested:,} tested {sure:,} predict"
    said += f"{'s' if sure == 1 else ''} on other stories; random features {random} ({of_random}), "
    if found.twins is None:
        return f"{own} of {alive:,} features", f"{said}and no untrained twin was counted."
    name, verdict = COUNTS[label], "more than both" if found.exceeds[label] else "not surely more than both"
    there = int(found.twins.count[found.twins.place(name)])
    return f"{own} of {alive:,} features", (
        f"{said}those of {len(found.twins.twins)} untrained twins {found.twins.range_of(name)} on "
        f"{found.twins.stories:,} stories, where the model has {there:,}: {verdict}."
    )


def _kinds(table: ComparedFeaturesResult) -> str:
    """Neurons, features and random features beside one another."""
    frame = table.to_frame()
    rows = []
    for row in frame.to_dict("records"):
        low, high = f"{row['labelled_low']:,.0f}", f"{row['labelled_high']:,.0f}"
        cells = {
            **{name: html.escape(str(row[name])) for name in ("kind", "label")},
            "labelled": f"{row['labelled']:,}<span>{low} to {high}</span>",
            **{name: f"{row[name]:,} of {row['tested']:,}" for name in ("holding", "predicting")},
            **{name: _number(row[name]) for name in ("auroc", "precision", "base_rate")},
        }
        rows.append([cells[name] for name in COLUMNS])
    return _table(list(COLUMNS.values()), rows, words=2)


def _best(found: FoundFeatures, order: Sequence[int]) -> str:
    """The features whose labels are best supported, those first whose kind of label exceeds the controls."""
    best = found.best
    places = [i for label in order for i in range(len(best.features)) if bool(best.by_word[i]) == bool(label)]
    if not places:
        return "<p>No label holds on other stories.</p>"
    table = _table(OF_EACH, [list(_feature(best, i)) for i in places], words=2)
    return (
        "<h3>Features whose labels other stories support best</h3>"
        '<p class="muted small">Precision is the share of the tokens where a feature fires most that are of its label, '
        "on stories that did not give the label, with the label's share of all tokens. A sparse feature is silent on "
        f"most tokens of its label, so its AUROC stays low however pure it is.</p>{table}"
    )


def _feature(best: BestFeaturesResult, at: int) -> Iterator[str]:
    """The cells of one feature."""
    yield str(best.features[at])
    yield html.escape(best.labels[at])
    for measure, more in ((1, f"<span>base rate {float(best.base_rate[at]):.2f}</span>"), (0, "")):
        value, low, high = (float(part[at, measure]) for part in (best.value, best.low, best.high))
        yield f"{value:.2f}<span>{low:.2f} to {high:.2f}</span>{more}"
    yield f"{float(best.firing_rate[at]):.1%}"
    marked = (
        f"{html.escape(before.lstrip())}<mark>{html.escape(token)}</mark>{html.escape(after)}"
        for before, token, after in best.contexts[at]
    )
    yield "".join(f'<span class="context">{text}</span>' for text in marked)
    yield " ".join(f'<span class="word">{html.escape(token)}</span>' for token in best.promotes[at])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> str:
    """A table, of which the first `words` columns are text."""
    numbers = [' class="n"' if words <= i and name not in OF_EACH[-2:] else "" for i, name in enumerate(heads)]
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in zip(heads, numbers, strict=True))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{name}"{kind}>{cell}</td>' for name, kind, cell in zip(heads, numbers, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="causes"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.2f}"
