"""How do our figures look? A few kinds of plot, in one style, returned and never shown.

Each function takes arrays and names and returns a `matplotlib.figure.Figure`; nothing global is touched, so figures
can be drawn anywhere. `svg` gives the text of a figure, the same text for the same data; `save` writes it whole or
not at all, with the table behind it.
"""

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Okabe and Ito's palette (2008), told apart under the common colour blindnesses; its yellow is too pale for lines.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A7A7A", "#000000")
INK = "#33373D"
ABSENT = "#DDE0E4"
LIGHT, DARK = "#F4F7FA", "#08306B"
COLD, WARM = "#0072B2", "#D55E00"

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": "#E3E5E8",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "text.parse_math": False,  # a dollar in a story does not begin a formula
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
    "svg.hashsalt": "tslens",  # the ids of shared elements do not change from one drawing to the next
}
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

    With `centre` the colours diverge from it (blue below, orange above), by the same distance either way. `texts`
    writes a word into every cell. `limits` fixes what the ends of the colour bar mean.
    """
    array = _array(values, 2, "a heat map")
    low, high = _limits(array, limits, centre)
    with _style():
        width = 1.6 + 0.32 * min(array.shape[1], 24) + (0.4 if texts is None else 0.3 * array.shape[1])
        height = 0.9 + 0.26 * min(array.shape[0], 24)
        figure, axes = _blank(max(3.2, width + _room(rows)), max(1.8, height + _room(columns)))
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
        _ticks(axes, "y", rows, array.shape[0], offset)
        _ticks(axes, "x", columns, array.shape[1], offset)
        for i, j, text, dark in _cell_texts(array, texts, low, high, centre):
            axes.text(
                j + offset, i + offset, text, ha="center", va="center", fontsize=7, color="white" if dark else INK
            )
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, label=colour_label)
        bar.outline.set_visible(False)
        axes.set(title=title, xlabel=column_label, ylabel=row_label)
    return _settled(figure)


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

    `order` fixes which kind has which colour, so that two maps can be laid side by side. `strengths` (row, column),
    0 to 1, makes the weak pale and is written into every cell as a percentage.
    """
    from matplotlib.patches import Patch

    table = np.asarray(kinds, dtype=object)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"a map of kinds has rows and columns; got shape {table.shape}")
    found = list(dict.fromkeys(str(kind) for kind in table.ravel()))
    palette = [name for name in dict.fromkeys([*order, *found]) if name not in absent]
    colour = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(palette)} | dict.fromkeys(absent, ABSENT)
    strong = np.full(table.shape, np.nan) if strengths is None else _array(strengths, 2, "strengths")
    with _style():
        width, height = 2.8 + 0.32 * min(table.shape[1], 32), 0.9 + 0.26 * min(table.shape[0], 32)
        wide = max(width + _room(rows), 0.085 * len(title))  # a small map is no narrower than its title
        figure, axes = _blank(wide, max(1.6, height + _room(columns)))
        for (i, j), kind in np.ndenumerate(table):
            weak = str(kind) in absent or not np.isfinite(strong[i, j])
            depth = 1.0 if weak else 0.3 + 0.7 * float(np.clip(strong[i, j], 0, 1))
            axes.add_patch(_cell(i, j, _paler(colour[str(kind)], depth)))
            if not weak:
                ink = "white" if _is_dark(_paler(colour[str(kind)], depth)) else INK
                axes.text(j + 0.5, i + 0.5, f"{strong[i, j]:.0%}"[:-1], ha="center", va="center", fontsize=7, color=ink)
        axes.set(xlim=(0, table.shape[1]), ylim=(table.shape[0], 0), title=title)
        axes.set(xlabel=column_label, ylabel=row_label)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        _ticks(axes, "y", rows, table.shape[0], 0.5)
        _ticks(axes, "x", columns, table.shape[1], 0.5)
        legend = [name for name in (*palette, *absent) if name in found]
        handles = [Patch(facecolor=colour[name], label=name) for name in legend]
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.02), handlelength=1, handleheight=1)
    return _settled(figure)


def _paler(colour: str, depth: float) -> tuple[float, float, float]:
    """The colour mixed with white: 1 is the colour itself, 0 is white."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - depth * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def _is_dark(colour: tuple[float, float, float]) -> bool:
    """Whether white ink reads better on it than dark ink (relative luminance, roughly)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.6


def lines(series: Mapping[str, Any], x: Any = None, **options: Any) -> "Figure":
    """One line per series over `x` (default 0, 1, 2, ...), with a band (low, high) behind those that have one.

    Options: `bands` (low and high by series), `title`, `x_label`, `y_label`, `log_x`, `log_y`, `ticks` (the names of
    0, 1, 2, ... along x).
    """
    with _style():
        figure, axes = _blank(4.8, 2.8)
        _draw_lines(axes, series, x, **options)
    return _settled(figure)


def panels(*charts: Mapping[str, Any]) -> "Figure":
    """Several charts of lines side by side, each given as the arguments of `lines`."""
    if not charts:
        raise ValueError("panels need at least one chart; got none")
    with _style():
        figure, first = _blank(3.6 * len(charts), 2.8, len(charts))
        for axes, chart in zip(np.ravel(np.asarray(first, dtype=object)), charts, strict=True):
            _draw_lines(axes, **chart)
    return _settled(figure)


def _draw_lines(
    axes: "Axes",
    series: Mapping[str, Any],
    x: Any = None,
    *,
    bands: Mapping[str, tuple[Any, Any]] | None = None,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    ticks: Sequence[Any] | None = None,
) -> None:
    if not series:
        raise ValueError("lines need at least one series; got none")
    longest = 0
    for i, (name, values) in enumerate(series.items()):
        y = _array(values, 1, f"series {name!r}")
        at = np.arange(len(y)) if x is None else _array(x, 1, "x")
        if len(at) != len(y):
            raise ValueError(f"series {name!r} has {len(y)} values, but x has {len(at)}")
        longest = max(longest, len(y))
        colour = PALETTE[i % len(PALETTE)]
        dash = "-" if i < len(PALETTE) else "--"
        axes.plot(at, y, dash, color=colour, label=name, marker="o" if len(y) <= 24 else None, markersize=3)
        if bands and name in bands:
            low, high = (_array(edge, 1, f"band of {name!r}") for edge in bands[name])
            axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.grid(axis="y")
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    for axis, logarithmic in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if logarithmic:
            axis.set_major_formatter("{x:g}")
    if ticks is not None:
        _ticks(axes, "x", ticks, longest, 0.0)
    if len(series) > 1:
        axes.legend()


def bars(
    names: Sequence[str],
    values: Any,
    *,
    low: Any = None,
    high: Any = None,
    baseline: Any = None,
    title: str = "",
    x_label: str = "",
) -> "Figure":
    """One horizontal bar per name, the first on top.

    `low` and `high` are the bounds of an interval, drawn as a whisker; `baseline` marks on each bar what a null or
    a base rate would give.
    """
    lengths = _array(values, 1, "bars")
    if len(names) != len(lengths):
        raise ValueError(f"{len(names)} names for {len(lengths)} bars")
    if (low is None) != (high is None):
        raise ValueError("an interval has two ends: give low and high, or neither")
    at = np.arange(len(lengths))
    with _style():
        figure, axes = _blank(4.8 + _room(names), max(1.4, 0.8 + 0.22 * len(lengths)))
        axes.barh(at, lengths, color=PALETTE[4], height=0.7)
        if low is not None:
            axes.hlines(at, _array(low, 1, "low"), _array(high, 1, "high"), color=INK, linewidth=1)
        if baseline is not None:
            marks = np.broadcast_to(_array(baseline, None, "baseline"), lengths.shape)
            axes.vlines(marks, at - 0.4, at + 0.4, color=PALETTE[5], linewidth=1.6)
        axes.set_yticks(at, [str(name) for name in names])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
    return _settled(figure)


def strip(groups: Mapping[str, Any], *, title: str = "", x_label: str = "", threshold: float | None = None) -> "Figure":
    """Every value of every group as a dot, the groups under one another, with a bar at each median.

    The dots are spread up and down only so that they can be seen, always in the same way.
    """
    if not groups:
        raise ValueError("a strip needs at least one group; got none")
    with _style():
        figure, axes = _blank(4.8 + _room(list(groups)), 0.9 + 0.42 * len(groups))
        for i, (name, values) in enumerate(groups.items()):
            x = _array(values, 1, f"group {name!r}")
            # The golden ratio's multiples fill the unit interval evenly, without chance.
            jitter = (np.arange(len(x)) * 0.6180339887) % 1 - 0.5
            axes.plot(x, i + 0.55 * jitter, "o", color=PALETTE[i % len(PALETTE)], markersize=3, alpha=0.7, mew=0)
            if len(x):
                axes.plot([np.nanmedian(x)] * 2, [i - 0.36, i + 0.36], color=INK, linewidth=1.4)
        if threshold is not None:
            axes.axvline(threshold, color=INK, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(groups)), list(groups))
        axes.set_ylim(len(groups) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
    return _settled(figure)


def svg(figure: "Figure") -> str:
    """The figure as one `<svg>` element: no XML prolog, no date, text as text; the same each time it is drawn."""
    buffer = io.StringIO()
    with _style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(figure: "Figure", path: str | Path, table: "pd.DataFrame | None" = None) -> Path:
    """Write the figure as `path` says (.svg or .png) and `table` beside it as .csv; returns the path.

    Each file is written under another name and then renamed, so that it is whole or not there. Control characters
    in the table are written out (a token may be a carriage return, which not every reader takes for text).
    """
    place = Path(path)
    if place.suffix == ".svg":
        content = svg(figure).encode()
    elif place.suffix == ".png":
        buffer = io.BytesIO()
        with _style():
            figure.savefig(buffer, format="png", metadata={"Software": None})
        content = buffer.getvalue()
    else:
        raise ValueError(f"a figure is saved as .svg or .png; got {place.name!r}")
    place.parent.mkdir(parents=True, exist_ok=True)
    _write(place, content)
    if table is not None:
        plain = table.map(lambda cell: _printable(cell) if isinstance(cell, str) else cell)
        _write(place.with_suffix(".csv"), plain.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode())
    return place


def _write(place: Path, content: bytes) -> None:
    """Put `content` at `place` in one step."""
    handle, scratch = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(place)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _style() -> Iterator[None]:
    """Our style, for as long as the block lasts, on top of matplotlib's defaults and not of the user's."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # In an SVG text stays text: whoever opens it has the glyphs that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(STYLE)
        yield


def _blank(width: float, height: float, columns: int = 1) -> "tuple[Figure, Axes]":
    """An empty figure of so many inches, outside pyplot's list of open figures; with columns, an array of axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def _room(names: Sequence[Any] | None) -> float:
    """Inches that names beside the cells take beyond those of a number."""
    return 0.08 * max(0, max((len(str(name)) for name in names or ()), default=0) - 3)


def _settled(figure: "Figure") -> "Figure":
    """The figure with its layout worked out once: worked out at every drawing it would move by a hair each time."""
    with _style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _colours(diverging: bool) -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    stops = [COLD, "#FFFFFF", WARM] if diverging else [LIGHT, "#9CC3E0", "#3787C0", DARK]
    return LinearSegmentedColormap.from_list("tslens", stops, N=257).with_extremes(bad=ABSENT)


def _cell(i: int, j: int, colour: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="white", linewidth=1)


def _limits(array: NDArray[Any], limits: tuple[float, float] | None, centre: float | None) -> tuple[float, float]:
    """What the ends of the colour bar mean."""
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
    """Row, column, text, and whether the cell is dark enough to want white ink."""
    if texts is None:
        return
    words = np.asarray(texts, dtype=object)
    if words.shape != array.shape:
        raise ValueError(f"texts must have the shape of the values, {array.shape}; got {words.shape}")
    for (i, j), word in np.ndenumerate(words):
        share = (array[i, j] - low) / (high - low)
        dark = abs(share - 0.5) > 0.35 if centre is not None else share > 0.55
        yield i, j, _printable(str(word)), bool(dark)


def _printable(text: str) -> str:
    """The text with its control characters written out: a token may be any byte."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _ticks(axes: "Axes", side: str, names: Sequence[Any] | None, count: int, offset: float) -> None:
    """Names at the middle of the cells; numbers where there are no names, thinned when there are many."""
    if names is not None and len(names) != count:
        raise ValueError(f"{len(names)} names for {count} {'columns' if side == 'x' else 'rows'}")
    few = 48 if names is not None else 16
    every = next(step for step in (1, 5, 10, 20, 50, 100, 500, count) if count <= few * step)
    shown = range(0, count, every)
    labels = [_printable(str(i if names is None else names[i])) for i in shown]
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_ticks([i + offset for i in shown], labels)
    cell = axes.bbox.width / axes.figure.dpi * every / count  # inches
    if side == "x" and 0.08 * max(map(len, labels)) > cell:  # a letter takes about 0.08
        axis.set_tick_params(rotation=90)


def _array(values: Any, axes: int | None, what: str) -> NDArray[Any]:
    """A float array, from anything that NumPy or torch can make one of."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    array = np.asarray(values, dtype=float)
    if (axes is not None and array.ndim != axes) or array.size == 0:
        wanted = f"{axes} {'axis' if axes == 1 else 'axes'}" if axes else "values"
        raise ValueError(f"{what} needs {wanted} and something in it; got shape {array.shape}")
    return array
