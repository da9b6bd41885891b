"""The page: results as one HTML file that needs no network, within a budget of bytes."""

import dataclasses
import html
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from tslens import __version__, files
from tslens.corpus import counted
from tslens.errors import InputError
from tslens.report import card_view, circuits, fade, features, glossary, instructions, pairs_view, suites
from tslens.report.about import about
from tslens.report.causes_view import table
from tslens.report.clearest import clearest
from tslens.report.compute import ReportData
from tslens.report.embed import script_json
from tslens.report.film import link, section
from tslens.report.findings import card, findings
from tslens.report.live_view import link as live_link
from tslens.report.live_view import section as live_section
from tslens.report.neurons import Detail, FoundNeurons, richest, shown_of_each, strongest
from tslens.report.payload import Cuts, Uncut, build, curve, pack_attention
from tslens.report.shell import around, asset, bundle

BUDGET = 2_000_000
"""Largest size of a page in bytes, without CircuitsVis's bundle."""
LENGTHS = (128, 96, 64, 48, 32, 24, 16, 8)
FIRST_STORY = 0.85  # of the room left, at most, for the attention over the first story: neurons want some too


def draw(data: ReportData, *, budget: int = BUDGET) -> str:
    """The page as HTML. Content beyond `budget` bytes (without CircuitsVis's bundle, and without the model itself) is
    cut, and the page says what."""
    attention: dict[tuple[int, int], Any] = {}
    uncut = Uncut.of(data)
    cuts = _fit(dataclasses.replace(data, live=None), uncut, budget, attention)
    return _assemble(data, uncut, cuts, attention)


def write(page: str, path: str | Path) -> Path:
    """Write the page atomically; returns the path."""
    with files.atomic(path) as file:
        file.write(page)
    return Path(path)


def check_writable(path: str | Path) -> None:
    """Raise at once the OSError or InputError with which `write` would fail after all the work."""
    place = Path(path)
    if place.is_dir():
        raise InputError(f"{place} is a folder; name a file in it, such as {place / 'report.html'}.")
    parent = next(folder for folder in place.absolute().parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        why = str(error.strerror).lower()
        raise OSError(error.errno, f"cannot be written there ({why}), name another place", str(place)) from error


def display_name(model: str) -> str:
    """Short name of the model of a `--model`: the last part of its path, without scheme and extension."""
    head = model.removeprefix("llama2c:").removeprefix("hf:").partition(",")[0]
    return re.sub(r"[^\w.+-]+", "_", Path(head).name.removesuffix(".bin")).strip(".") or "model"


def _fit(data: ReportData, uncut: Uncut, budget: int, attention: dict[tuple[int, int], Any]) -> Cuts:
    """The richest page within the budget: the first story's attention, then neurons, then the other stories'.

    Fills `attention` with the packed attention of the stories that were considered.
    """
    nothing = Cuts((0,) * len(data.patterns), Detail(0, 0))
    bare = _bytes(script_json(build(data, uncut, nothing, {})))
    room = budget - _bytes(_assemble(data, uncut, nothing, {})) + _bytes(bundle()) - 1_000  # for words on what was cut
    attended = list(nothing.attended)
    for length in LENGTHS if data.patterns else ():
        n = min(length, len(data.patterns[0].tokens))
        attention[0, n] = pack_attention(data.patterns[0], n)
        if (size := len(attention[0, n]["data"])) <= FIRST_STORY * room:
            attended[0] = n
            room -= size
            break
    sizes = {nothing.detail: 0}

    def size_of(detail: Detail) -> int:
        if detail not in sizes:
            sizes[detail] = _bytes(script_json(build(data, uncut, Cuts(nothing.attended, detail), {}))) - bare
        return sizes[detail]

    detail = nothing.detail
    if data.neurons is not None:
        detail = richest(data.neurons.n, shown_of_each(data.neurons.profiles), room, size_of)
    room -= size_of(detail)
    for i, pattern in enumerate(data.patterns[1:], start=1):
        n = min(LENGTHS[0], len(pattern.tokens))
        attention[i, n] = pack_attention(pattern, n)
        if (size := len(attention[i, n]["data"]) + 60) <= room:
            attended[i] = n
            room -= size
    return Cuts(tuple(attended), detail)


def _bytes(text: str) -> int:
    return len(text.encode())


def _assemble(data: ReportData, uncut: Uncut, cuts: Cuts, attention: dict[tuple[int, int], Any]) -> str:
    escape, heads = html.escape, data.heads
    body = Template(asset("report.html")).substitute(
        version=__version__,
        name=escape(data.name),
        read=escape(f"read on {counted(len(data.loss.nats))}: {data.source}. {data.remark}".rstrip()),
        lede=escape(_lede(data)),
        findings="\n".join(map(card, findings(data))),
        clearest=clearest(data),
        facts="\n".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in _facts(data)),
        curve_text=f'<p class="muted">{escape(_curve_text(data))}</p>',
        causes=table(data.causes, data.no_causes),
        heads_intro=glossary.explained(
            f"{heads.role_code.shape[0]} layers of {heads.role_code.shape[1]} heads, named by what they look at over "
            f"{heads.stories:,} stories; a name is given only where it beats its null."
        ),
        neurons="" if data.neurons is None else _neurons(data, data.neurons, cuts.detail),
        neurons_link="" if data.neurons is None else '<a href="#neurons">Neurons</a>',
        circuits=circuits.section(data.circuits, data.given),
        features=features.section(data.features, data.given),
        suites=suites.section(data.suites, data.given) + instructions.section(data.instruct, data.instruct_grades),
        pairs=pairs_view.section(data.pairs, data.given),
        card_and_copies=card_view.sections(data.card, data.copies, data.given),
        film=section(data.film),
        live=live_section(data.live),
        live_link=live_link(data.live),
        film_link=link(data.film) + instructions.link(data.instruct),
        samples_intro=escape(f"Written by the model: {data.sampling}. The prompt is in bold; nothing was picked."),
        samples="\n".join(_sample(prompt, text) for prompt, text in data.samples),
        about="\n".join(f"<p>{glossary.explained(line)}</p>" for line in about(data, cuts)) + glossary.table(),
    )
    content, title = build(data, uncut, cuts, attention), f"{data.name} · tslens report"
    return around(body, content, name=data.name, title=title, live=data.live and data.live.content)


def _lede(data: ReportData) -> str:
    d = data.description
    return (
        f"{d['n_layers']} layers × {d['n_heads']} heads, width {d['d_model']}, {d['parameters']:,} parameters. "
        f"What its heads{', neurons' if data.neurons else ''} and layers do on these stories, with the evidence."
    )


def _curve_text(data: ReportData) -> str:
    """The stories behind the validation curve: during training fewer may have been read than at the end."""
    if curve(data.metrics) is None:
        return "This model carries no record of its training."
    stories = ((data.config.get("recipe") or {}).get("train") or {}).get("validation_stories")
    return f"Validation along the way: the first {stories:,} validation stories." if stories else ""


def _facts(data: ReportData) -> Iterator[tuple[str, str]]:
    """The facts about the model, as (name, value)."""
    d, c = data.description, data.config
    style = ", ".join(d.get("because", ())) or f"{'GPT-2' if d['style'] == 'gpt2' else 'Llama'} style"
    yield "shape", f"{d['name']} ({style})"
    yield "layers, heads, width", f"{d['n_layers']}, {d['n_heads']}, {d['d_model']}"
    yield "neurons per layer", f"{data.neurons.profiles.max.shape[1]:,}" if data.neurons else "none that are read"
    yield "parameters", f"{d['parameters']:,} ({d['parameters_without_embeddings']:,} without embeddings)"
    yield "vocabulary, context", f"{d['d_vocab']:,} tokens, {d['n_ctx']:,} positions"
    yield "FLOPs per token", f"{d['flops_per_token'] / 1e6:,.1f} million"
    if "tokenizer" in c:
        yield "tokenizer", f"{str(c['tokenizer'])[:16]}…"
    if "tokens" in c:
        yield "trained for", f"{c['tokens']:,} tokens" + (f", {c['step']:,} steps" if "step" in c else "")
    recipe = c.get("recipe") or {}
    if recipe.get("objective"):
        yield "recipe: objective", _objective(recipe["objective"])
    if recipe.get("data"):
        yield "recipe: data", _words(recipe["data"])
    for key, value in (c.get("data") or {}).items():
        if key not in ("digests", "read_from"):  # they tell programs where the data are, and whether they changed
            yield key.replace("_", " "), _words(value)
    losses = {"validation_loss": "nats", "bits_per_byte": "bits per byte"}
    if at_end := ", ".join(f"{c[name]:.3f} {unit}" for name, unit in losses.items() if name in c):
        yield "validation, at the end", at_end + _of_stories(c)
    low, high = data.loss.interval("text_bytes")
    yield "measured on", f"{data.source}: {counted(len(data.loss.nats))}, {int(data.loss.tokens.sum()):,} tokens"
    yield "loss", f"{data.loss.nats_per_token:.3f} nats per token"
    interval = f" [{low:.3f}, {high:.3f}]" if math.isfinite(low) else ""  # one story has none
    yield "bits per byte", f"{data.loss.bits_per_byte:.3f}{interval}"


def _of_stories(config: Mapping[str, Any]) -> str:
    """Number of validation stories of the final loss, if recorded."""
    count = (config.get("data") or {}).get("validation_stories")
    return f" over {count:,} stories" if count else ""


def _objective(recorded: Any) -> str:
    """The objective's name, with its settings in parentheses; older records hold only the name."""
    if not isinstance(recorded, dict):
        return _words(recorded)
    settings = _words({key: value for key, value in recorded.items() if key != "name"})
    return f"{recorded.get('name', '')} ({settings})" if settings else _words(recorded.get("name", ""))


def _words(value: Any) -> str:
    """A value of the run's record as readable text."""
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_words(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list):
        return ", ".join(_words(item) for item in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _sample(prompt: str, text: str) -> str:
    start, rest = (prompt, text[len(prompt) :].rstrip()) if prompt and text.startswith(prompt) else ("", text.strip())
    bold = f"<b>{html.escape(start)}</b>" if start else ""
    more = "" if rest.endswith((".", "!", "?", '"', "”", "’", "'")) else '<span class="muted">…</span>'
    return f'<article><p class="story">{bold}{html.escape(rest)}{more}</p></article>'


def _neurons(data: ReportData, found: FoundNeurons, detail: Detail) -> str:
    """The section of neurons, whose table the page's script draws."""
    profiles = found.profiles
    intro = f"All {found.n:,} MLP neurons over {profiles.n_tokens:,} tokens, {profiles.n_stories:,} stories. "
    intro = glossary.explained(intro + _contexts_shown(found, detail))
    return Template(asset("neurons.html")).substitute(intro=intro, fade=fade.panel(data.fade, data.given))


def _contexts_shown(found: FoundNeurons, detail: Detail) -> str:
    """The content of an opened row, in words."""
    samples = "Top tokens alone mislead: open a row to see them beside samples that nobody chose."
    if detail.full == found.n:
        return samples
    few = strongest(detail)
    if not detail.full:
        return f"The page holds {few} of each; the rest, and samples that nobody chose, would have outgrown its budget."
    return (
        f"{samples} That is here for the {detail.full:,} neurons whose label has the best evidence, with "
        f"{shown_of_each(found.profiles)} contexts each; of the others the page holds {few}."
    )
