"""Everything inside the figure: titles, labels and names folded to its width, legends below the axes, heights grown."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tslens.plots.style import LINE, NAME, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

GAP = 0.08  # inches between what stands side by side
DIFFERENT = 0.97  # share of a room that a text may fill: letters of a browser are a little wider
BEYOND = 0.2  # inches that a label along y may have more than its axes
LETTER = 0.075  # inches that a letter takes
ROW = 0.17  # inches of a row of a legend


def folded(names: Iterable[Any], letters: int = NAME) -> list[str]:
    """Names with line breaks, so that no line has more letters than these; a letter of East Asia counts as two."""
    from rich.cells import cell_len

    lines = ([(line, max([1, *map(cell_len, line)])) for line in str(name).split("\n")] for name in names)
    return ["\n".join(textwrap.fill(line, letters // wide) for line, wide in name) for name in lines]


def row_height(names: Sequence[str], least: float) -> float:
    """Inches of a row that holds any of these folded names, at least `least`."""
    return max(least, 0.15 * max((name.count("\n") + 1 for name in names), default=1) + 0.07)


def settled(figure: "Figure") -> "Figure":
    """The figure with its layout computed once; recomputed at every drawing, it would shift slightly.

    The layout makes room for names but not for long titles and labels: these are folded to the room of their axes, and
    the figure grows by their lines. A title begins where the names beside its axes do.
    """
    with styled():
        fold(figure)
        for axes in figure.axes:
            _place_legend(axes)
        figure.draw_without_rendering()
        for axes, box in _rooms(figure):
            title = axes.set_title(axes.get_title("left"), loc="left")
            title.set_x((box.x0 - axes.bbox.x0) / axes.bbox.width)
    figure.set_layout_engine("none")
    return figure


def fold(figure: "Figure") -> None:
    """Fold titles and labels to the room that they have, and let the figure grow by their lines."""
    titles = {axes: axes.get_title("left") for axes in figure.axes}
    for axes, title in titles.items():  # the layout keeps the middle of a title inside, however long it is
        axes.set_title("\n".join(line[:1] for line in title.split("\n")), loc="left")
    figure.draw_without_rendering()
    heights = _heights(figure)
    for axes, box in _rooms(figure):
        _fold(axes.set_title(titles[axes], loc="left"), box.width)
        middle = (axes.bbox.x0 + axes.bbox.x1) / 2
        _fold(axes.xaxis.label, 2 * min(middle - box.x0, box.x1 - middle))
        _fold(axes.yaxis.label, axes.bbox.height + BEYOND * figure.dpi, upright=True)
    if figure.get_suptitle():
        _fold(figure.suptitle(figure.get_suptitle(), fontweight="bold", fontsize=10), figure.bbox.width)
    more = sum(axes.get_title("left").count("\n") - title.count("\n") for axes, title in titles.items())
    figure.set_figheight(figure.get_figheight() + LINE * more)  # too small a figure has no layout
    figure.draw_without_rendering()
    lost = sum(was - now for was, now in zip(heights, _heights(figure), strict=True))
    if abs(lost) >= 1:
        figure.set_figheight(figure.get_figheight() + lost / figure.dpi)
        figure.draw_without_rendering()


def _rooms(figure: "Figure") -> "list[tuple[Axes, Bbox]]":
    """The axes, each with the room from the names on its left to what stands on its right."""
    from matplotlib.transforms import Bbox

    boxes = {axes: axes.get_tightbbox(for_layout_only=True) or axes.bbox for axes in figure.axes}
    found = []
    for axes, box in boxes.items():
        own = [bar.ax for bar in [getattr(part, "colorbar", None) for part in [*axes.collections, *axes.images]] if bar]
        beyond = [at.x0 for other, at in boxes.items() if other not in own and at.x0 > (box.x0 + box.x1) / 2]
        right = min(beyond, default=figure.bbox.width) - GAP * figure.dpi
        found.append((axes, Bbox.from_extents(box.x0, box.y0, max(right, axes.bbox.x1), box.y1)))
    return found


def _heights(figure: "Figure") -> list[float]:
    """The height of the lowest axes of each row, in pixels."""
    rows: dict[int, float] = {}
    for axes in figure.axes:
        row = _row(axes)
        rows[row] = min(axes.bbox.height, rows.get(row, axes.bbox.height))
    return list(rows.values())


def _row(axes: "Axes") -> int:
    place = axes.get_subplotspec()
    return place.rowspan.start if place else 0


def _fold(text: Any, room: float, *, upright: bool = False) -> None:
    """Fold a text, as it was first given, so that no line is wider than `room` in pixels, as far as words allow."""
    text.whole = whole = getattr(text, "whole", "") or text.get_text()
    text.set_text(whole)
    letters = max(map(len, whole.split("\n")))
    while letters > 1 and whole.strip():
        box = text.get_window_extent()
        taken = box.height if upright else box.width
        if taken <= DIFFERENT * room:
            return
        letters = min(letters - 1, int(letters * room / taken) + 1)
        lines = [textwrap.fill(line, max(letters, 1), break_long_words=False) for line in whole.split("\n")]
        text.set_text("\n".join(lines))


def legend_below(axes: "Axes", handles: Sequence[Any] = (), *, fontsize: float = 8, handlelength: float = 2) -> None:
    """A legend below what is written along x, so that it covers no curve; the figure grows by its height."""
    figure: Any = axes.figure
    fold(figure)
    known, labels = (list(handles), [one.get_label() for one in handles]) if handles else legend_of(axes)
    labels, columns, height = _arranged(labels, axes.bbox.width / figure.dpi)
    place: dict[str, Any] = {"loc": "upper left", "borderaxespad": 0, "ncols": columns}
    axes.legend(known, labels, fontsize=fontsize, handlelength=handlelength, **place)
    _place_legend(axes)
    rooms = getattr(figure, "rooms_below", {})
    grown = sum(rooms.values())
    rooms[_row(axes)] = max(rooms.get(_row(axes), 0.0), height)
    figure.rooms_below = rooms
    figure.set_figheight(figure.get_figheight() + sum(rooms.values()) - grown)


def _place_legend(axes: "Axes") -> None:
    """The legend of the axes, if it has one, below what is written along x."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = axes.figure
    if legend := axes.get_legend():
        written = axes.xaxis.get_tightbbox()
        below = (axes.bbox.y0 - written.y0) / figure.dpi if written else 0.0
        moved = axes.transAxes + ScaledTranslation(0, -below - 0.04, figure.dpi_scale_trans)
        legend.set_bbox_to_anchor((0, 0), moved)


def legend_of_all(figure: "Figure", axes: "Axes") -> None:
    """The legend of one of several axes that share it, below them all."""
    known, labels = legend_of(axes)
    labels, columns, height = _arranged(labels, figure.get_figwidth() - 0.5)
    figure.legend(known, labels, loc="outside lower left", ncols=columns)
    figure.set_figheight(figure.get_figheight() + height)


def legend_of(axes: "Axes") -> tuple[list[Any], list[str]]:
    """What has a name in these axes, and the names."""
    handles, labels = axes.get_legend_handles_labels()
    return handles, [str(label) for label in labels]


def _arranged(labels: Sequence[str], width: float) -> tuple[list[str], int, float]:
    """The labels of a legend, folded to a width in inches; its columns, and its height."""
    shown = folded(labels, max(12, int((width - 0.5) / LETTER)))
    longest = max(len(line) for label in shown for line in label.split("\n"))
    columns = max(1, min(len(shown), int(width / (0.5 + LETTER * longest))))
    rows = -(-len(shown) // columns)
    lines = max(sum(label.count("\n") + 1 for label in shown[i * rows : (i + 1) * rows]) for i in range(columns))
    return shown, columns, ROW * lines + 0.1
