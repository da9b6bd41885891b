"""The figure of all neurons: how many of each layer have a label, and the evidence of each that has one."""

from typing import TYPE_CHECKING, Any, NamedTuple

from tslens.plots.fitting import legend_below, settled
from tslens.plots.style import ABSENT, INK, WIDEST, canvas, styled
from tslens.plots.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.analysis.neurons.result import ProfilesResult

MOST = 40
"""Largest number of neurons drawn one by one."""
ONE_WORD = "one word"
USUAL = ("ADJ", "ADP", "ADV", "AUX", "DET", "NOUN", "PRON", "PROPN", "VERB")


class Named(NamedTuple):
    """A labelled neuron, and how well its activation separates tokens of the label from others."""

    layer: int
    neuron: int
    kind: str
    """A part of speech, or `ONE_WORD`."""
    label: str
    auroc: float
    low: float
    high: float


def named(answer: "ProfilesResult") -> list[Named]:
    """Every neuron that is labelled, layer by layer, the largest AUROC of a layer first."""
    found = []
    for layer, neuron in ((answer.label >= 0) | answer.by_word).nonzero().tolist():
        at = (layer, neuron)
        if (tag := int(answer.label[at])) >= 0:
            kind = label = answer.tags[tag]
            evidence = answer.auroc[at], answer.auroc_low[at], answer.auroc_high[at]
        else:
            kind, label = ONE_WORD, f"“{answer.name_of(*at).removeprefix('token: ')}”"
            area, low = answer.word_auroc[at], answer.word_auroc_low[at]
            evidence = area, low, (2 * area.logit() - low.logit()).sigmoid()  # as far either way in logits
        found.append(Named(layer, neuron, kind, printable(label), *map(float, evidence)))
    return sorted(found, key=lambda one: (one.layer, -one.auroc))


def draw(answer: "ProfilesResult") -> "Figure":
    """Above: by layer, the number of neurons with each label and how often neurons fire. Below: the labelled neurons
    with the AUROC of their label: all of them, or the `MOST` with the highest lower bound. It is narrow, so that it is
    legible where it is shown small."""
    every = named(answer)
    surest = sorted(every, key=lambda one: -one.low)[:MOST]
    shown = [one for one in every if one in surest]
    rows = -(-len(shown) // 2)
    names = [answer.layer_of(layer) for layer in range(len(answer.label))]
    colours = _colours(answer.tags)
    with styled():
        heights = [0.9 + 0.16 * len(answer.label)] * 2 + ([0.7 + 0.16 * rows] if shown else [])
        figure = canvas(WIDEST, sum(heights) + 0.7)
        grid = figure.add_gridspec(len(heights), 2, height_ratios=heights)
        counts, rates = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
        few = f", the {len(shown)} surest of {len(every)}" if len(shown) < len(every) else ""
        for column, part in enumerate((shown[:rows], shown[rows:])):
            if part:
                axes = figure.add_subplot(grid[2, column])
                _draw_named(axes, part, rows, colours, names)
                axes.set_title("" if column else f"each with a name, and its number{few}")
        _draw_counts(counts, every, answer.label.shape, colours)
        _draw_rates(rates, answer.firing_rate.tolist())
        for axes in (counts, rates):
            axes.set_yticks(range(len(names)), names)
        words = sum(one.kind == ONE_WORD for one in every)
        what = (
            f"{len(every) - words} of {answer.label.numel():,} {answer.called} {answer.model} prefer a part of speech"
        )
        what += f", {words} one word"
        figure.suptitle(f"{what}\n({answer.n_tokens:,} tokens)", fontweight="bold", fontsize=10)
    return settled(figure)


def _colours(tags: list[str]) -> dict[str, Any]:
    """A colour for each part of speech, the same in every figure, strong for common ones; one-word labels are dark."""
    from matplotlib import colormaps

    free = [colormaps["tab20"](i) for i in (*range(0, 20, 2), *range(1, 20, 2)) if i not in (14, 15)]  # without greys
    order = sorted(tags, key=lambda tag: tag not in USUAL)
    return {tag: free[i % len(free)] for i, tag in enumerate(order)} | {ONE_WORD: INK}


def _draw_counts(axes: Any, every: list[Named], shape: Any, colours: dict[str, Any]) -> None:
    layers, width = shape
    start = [0] * layers
    for kind in (kind for kind in colours if any(one.kind == kind for one in every)):
        sizes = [sum((one.layer, one.kind) == (layer, kind) for one in every) for layer in range(layers)]
        axes.barh(range(layers), sizes, left=start, label=kind, color=colours[kind], edgecolor="white", linewidth=0.5)
        start = [a + b for a, b in zip(start, sizes, strict=True)]
    room = max(*start, 1)
    for layer, count in enumerate(start):
        axes.text(count + 0.02 * room, layer, f"{count} of {width:,}", va="center", fontsize=8)
    axes.set(title="named, by part of speech or one word", ylabel="layer", yticks=range(layers))
    axes.set_xlim(0, 1.25 * room)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.invert_yaxis()
    if every:
        legend_below(axes, handlelength=1)


def _draw_rates(axes: Any, rates: list[list[float]]) -> None:
    points = {"marker": ".", "markersize": 2, "alpha": 0.4}
    axes.boxplot(rates, orientation="horizontal", positions=range(len(rates)), widths=0.6, flierprops=points)
    axes.set(title="firing rate of all (share of tokens above 0)", ylabel="layer", xlim=(0, 1))
    axes.invert_yaxis()


def _draw_named(axes: Any, part: list[Named], rows: int, colours: dict[str, Any], names: list[str]) -> None:
    least = min(0.5, *(one.low for one in part)) - 0.01
    for row, one in enumerate(part):
        axes.plot((one.low, one.high), (row, row), color=colours[one.kind], linewidth=1.2, solid_capstyle="butt")
        axes.plot(one.auroc, row, "o", color=colours[one.kind], markersize=3)
        if row == 0 or one.layer != part[row - 1].layer:
            axes.axhline(row - 0.5, color=ABSENT, linewidth=0.6)
            axes.text(least + 0.005, row, f"layer {names[one.layer]}", va="center", fontsize=8, fontweight="bold")
    axes.set_yticks(range(len(part)), [f"{one.label}  {one.neuron}" for one in part], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(least, 1.01), ylim=(rows - 0.4, -0.6))
    axes.set_xlabel("AUROC, 95% interval", fontsize=8)
    axes.grid(axis="x")
