"""Heat maps and maps of kinds: a table as cells, row 0 on top."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tslens.plots.fitting import fold, legend_below, settled
from tslens.plots.style import (
    ABSENT,
    COLD,
    DARK,
    INK,
    LIGHT,
    PALETTE,
    WARM,
    blank,
    name_ticks,
    numbers,
    room,
    styled,
)
from tslens.plots.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

LEAST = 4.0  # inches of a map
IN_CELL: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
WORD_GAP = 0.04  # inches between the words of two cells
VECTOR_CELLS = 4096  # above this a heat map is one embedded picture instead of one path per cell


def heatmap(
    values: Any,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    *,
    title: str = "",
    row_label: str = "",
    column_label: str = "",
    colour_label: str = "",
    limits: tuple[float, float] | None = None,
    centre: float | None = None,
    texts: Sequence[Sequence[str]] | None = None,
) -> "Figure":
    """`values` (row, column) as colours, row 0 on top; NaN is drawn as absent.

    With `centre` the colours diverge from it (blue below, orange above), over the same range on both sides. `texts`
    writes a word into every cell, and a map that has no room for them is wider than other figures. `limits` fixes the
    values at the ends of the colour bar.
    """
    array = numbers(values, 2, "a heat map")
    low, high = _limits(array, limits, centre)
    with styled():
        width, height = 1.5 + 0.32 * min(array.shape[1], 24) + room(rows), 0.9 + 0.26 * min(array.shape[0], 24)
        figure, axes = blank(max(LEAST, width), max(1.8, height + room(columns)))
        colours = _colours(diverging=centre is not None)
        if array.size <= VECTOR_CELLS:
            image: Any = axes.pcolormesh(
                array, cmap=colours, vmin=low, vmax=high, edgecolors="white", linewidth=0.4 if array.size <= 400 else 0
            )
            axes.invert_yaxis()
            offset = 0.5
        else:
            image = axes.imshow(array, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="none")
            offset = 0.0
        axes.set_facecolor(ABSENT)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        name_ticks(axes, "y", rows, array.shape[0], offset)
        written = list(_cell_texts(array, texts, low, high, centre))
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, label=colour_label)
        bar.outline.set_visible(False)
        axes.set(title=title, xlabel=column_label, ylabel=row_label)
        fold(figure)  # the names beside the axes say how much is left for those below
        name_ticks(axes, "x", columns, array.shape[1], offset)
        _make_room({text for *_, text, _ in written if len(text) > 1}, axes, array.shape[1])
        settled(figure)
        for i, j, text, dark in written:  # afterwards: no layout has to measure them
            axes.text(j + offset, i + offset, text, color="white" if dark else INK, **IN_CELL)
    return figure


def _make_room(words: Collection[str], axes: "Axes", columns: int) -> None:
    """Widen the figure until the widest word has room in a cell."""
    if not words:
        return
    figure: Any = axes.figure
    figure.draw_without_rendering()
    tried = axes.text(0, 0, "\n".join(words), **IN_CELL)
    lacking = tried.get_window_extent().width + WORD_GAP * figure.dpi - axes.bbox.width / columns
    tried.remove()
    if lacking > 0:
        figure.set_figwidth(figure.get_figwidth() + lacking * columns / figure.dpi)


def tiles(
    kinds: Sequence[Sequence[str]],
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    *,
    title: str = "",
    row_label: str = "",
    column_label: str = "",
    strengths: Any = None,
    order: Sequence[str] = (),
    absent: Sequence[str] = ("unresolved",),
) -> "Figure":
    """A map of `kinds` (row, column): one colour per kind, in order of appearance; those in `absent` are grey.

    `order` fixes the colour of each kind, so that two maps can be compared. `strengths` (row, column), 0 to 1, makes
    weak cells pale and is written into every cell as a percentage.
    """
    from matplotlib.patches import Patch

    table = np.asarray(kinds, dtype=object)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"a map of kinds has rows and columns; got shape {table.shape}")
    found = list(dict.fromkeys(str(kind) for kind in table.ravel()))
    palette = [name for name in dict.fromkeys([*order, *found]) if name not in absent]
    colour = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(palette)} | dict.fromkeys(absent, ABSENT)
    strong = np.full(table.shape, np.nan) if strengths is None else numbers(strengths, 2, "strengths")
    with styled():
        width, height = 0.9 + 0.36 * min(table.shape[1], 32), 0.9 + 0.26 * min(table.shape[0], 32)
        figure, axes = blank(max(LEAST, width + room(rows)), max(1.6, height + room(columns)))
        for (i, j), kind in np.ndenumerate(table):
            weak = str(kind) in absent or not np.isfinite(strong[i, j])
            depth = 1.0 if weak else 0.3 + 0.7 * float(np.clip(strong[i, j], 0, 1))
            axes.add_patch(_cell(i, j, _paler(colour[str(kind)], depth)))
            if not weak:
                ink = "white" if _is_dark(_paler(colour[str(kind)], depth)) else INK
                axes.text(j + 0.5, i + 0.5, f"{strong[i, j]:.0%}"[:-1], color=ink, **IN_CELL)
        axes.set(xlim=(0, table.shape[1]), ylim=(table.shape[0], 0), title=title)
        axes.set(xlabel=column_label, ylabel=row_label)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        name_ticks(axes, "y", rows, table.shape[0], 0.5)
        fold(figure)
        name_ticks(axes, "x", columns, table.shape[1], 0.5)
        legend = [name for name in (*palette, *absent) if name in found]
        handles = [Patch(facecolor=colour[name], label=name) for name in legend]
        legend_below(axes, handles, handlelength=1)
    return settled(figure)


def _cell(i: int, j: int, colour: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="white", linewidth=1)


def _paler(colour: str, depth: float) -> tuple[float, float, float]:
    """The colour mixed with white: 1 is the colour itself, 0 is white."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - depth * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def _is_dark(colour: tuple[float, float, float]) -> bool:
    """Whether white text is more legible on the colour than dark text (approximate relative luminance)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.6


def _colours(diverging: bool) -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    stops = [COLD, "#FFFFFF", WARM] if diverging else [LIGHT, "#9CC3E0", "#3787C0", DARK]
    return LinearSegmentedColormap.from_list("tslens", stops, N=257).with_extremes(bad=ABSENT)


def _limits(array: NDArray[Any], limits: tuple[float, float] | None, centre: float | None) -> tuple[float, float]:
    """The values at the ends of the colour bar."""
    if limits is not None:
        return limits
    finite = array[np.isfinite(array)]
    if finite.size == 0:
        return 0.0, 1.0
    if centre is not None:
        reach = float(np.abs(finite - centre).max()) or 1.0
        return centre - reach, centre + reach
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _cell_texts(
    array: NDArray[Any], texts: Sequence[Sequence[str]] | None, low: float, high: float, centre: float | None
) -> Iterator[tuple[int, int, str, bool]]:
    """Row, column, text, and whether the cell is dark enough for white text."""
    if texts is None:
        return
    words = np.asarray(texts, dtype=object)
    if words.shape != array.shape:
        raise ValueError(f"texts must have the shape of the values, {array.shape}; got {words.shape}")
    for (i, j), word in np.ndenumerate(words):
        share = (array[i, j] - low) / (high - low)
        dark = abs(share - 0.5) > 0.35 if centre is not None else share > 0.55
        yield i, j, printable(str(word)), bool(dark)
