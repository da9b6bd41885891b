"""The style of all figures: colours, type, size, names along an axis, SVG. Changes no global state."""

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tslens.plots.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette (2008), told apart under the common colour blindnesses; its yellow is too pale for lines.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A7A7A", "#000000")
INK = "#33373D"
ABSENT = "#DDE0E4"
LIGHT, DARK = "#F4F7FA", "#08306B"
COLD, WARM = "#0072B2", "#D55E00"
WIDEST = 6.2
"""Inches of a figure, at most: shown 400 pixels wide its smallest letters, of 8 points, have seven."""
LINE = 0.13
"""Inches of a line of text."""
NAME = 24
"""Letters on a line of a row's name."""

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
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


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Our style during the block, based on matplotlib's defaults, not on the user's settings."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # In an SVG text stays text: whoever opens it has the glyphs that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(STYLE)
        yield


@cache
def _drawing() -> "type[Figure]":
    """The class of our figures, kept because matplotlib is imported only when the first is drawn; no memory map."""
    from matplotlib.figure import Figure

    class Drawing(Figure):
        """A figure that shows itself in Jupyter; a plain one does so only if pyplot was imported."""

        def _repr_svg_(self) -> str:
            return svg(self)

    return Drawing


def svg(figure: "Figure") -> str:
    """The figure as one `<svg>` element, without XML prolog or date, text as text; identical each time."""
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def canvas(width: float, height: float) -> "Figure":
    """An empty figure of this size in inches, not registered with pyplot."""
    return _drawing()(figsize=(width, height), layout="constrained")


def blank(width: float, height: float) -> "tuple[Figure, Axes]":
    """An empty figure of this size in inches, at most `WIDEST`, with its axes."""
    figure = canvas(min(width, WIDEST), height)
    return figure, figure.subplots()


def room(names: Sequence[Any] | None) -> float:
    """Extra width in inches that names beside the cells need, compared with numbers."""
    lines = [line for name in names or () for line in str(name).split("\n")]
    return 0.08 * max(0, max(map(len, lines), default=0) - 3)


def name_ticks(axes: "Axes", side: str, names: Sequence[Any] | None, count: int, offset: float) -> None:
    """Names at the middle of the cells; numbers where there are no names, thinned when there are many."""
    if names is not None and len(names) != count:
        raise ValueError(f"{len(names)} names for {count} {'columns' if side == 'x' else 'rows'}")
    few = 48 if names is not None else 16
    along = (axes.bbox.width if side == "x" else axes.bbox.height) / axes.figure.dpi  # inches
    few = max(1, min(few, int(along / LINE)))
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100, 500, count) if count <= few * step)
    shown = range(0, count, every)
    labels = [printable(str(i if names is None else names[i])) for i in shown]
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_ticks([i + offset for i in shown], labels)
    cell = along * every / count
    if side == "x" and 0.08 * max(map(len, labels)) > cell:  # a letter takes about 0.08
        axis.set_tick_params(rotation=90)


def numbers(values: Any, axes: int | None, what: str) -> NDArray[Any]:
    """A float array, from anything that NumPy or torch can make one of."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().float().numpy()
    array = np.asarray(values, dtype=float)
    if (axes is not None and array.ndim != axes) or array.size == 0:
        wanted = f"{axes} {'axis' if axes == 1 else 'axes'}" if axes else "values"
        raise ValueError(f"{what} needs {wanted} and something in it; got shape {array.shape}")
    return array
