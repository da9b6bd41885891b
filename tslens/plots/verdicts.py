"""Tables of fail, partial and success: prompts by models, legible without telling colours apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tslens.plots.fitting import LETTER, settled
from tslens.plots.style import ABSENT, COLD, INK, LINE, WARM, WIDEST, blank, name_ticks, numbers, room, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAIL_TO_SUCCESS = ((WARM, "×"), ("#F3E3A2", "~"), (COLD, "✓"))
"""Colour and mark of fail, partial and success: orange, pale yellow and blue, told apart in every colour blindness."""


def verdicts(
    values: Any, rows: Sequence[str], columns: Sequence[str], *, title: str = "", names: Sequence[str] = ()
) -> "Figure":
    """`values` (row, column, one of several) from 0, fail, to 2, success, as coloured and marked cells; NaN is absent.

    The last axis stands side by side within a column, as the two prompts of a pair. `columns` may have several lines;
    `names` are those of the three verdicts, for the legend. Names of columns that have no room beside one another stand
    upright.
    """
    from matplotlib.patches import Patch, Rectangle

    array = numbers(values, 3, "a table of verdicts")
    height, width, each = array.shape
    with styled():
        column, beside = max(0.3 * each, LETTER * _longest(columns)) + 0.1, 0.6 + room(rows)
        upright = beside + column * width > WIDEST
        if upright:  # there is room for two lines
            columns = ["\n".join((own, " ".join(said))) for own, *said in (name.split("\n") for name in columns)]
        above = (
            LETTER * _longest(columns) if upright else LINE * max((name.count("\n") + 1 for name in columns), default=0)
        )
        figure, axes = blank(beside + column * width, 0.8 + 0.2 * height + above)
        for (i, j, k), verdict in np.ndenumerate(array):
            colour, mark = FAIL_TO_SUCCESS[int(verdict)] if np.isfinite(verdict) else (ABSENT, "")
            left, cell = j + 0.05 + 0.9 * k / each, 0.9 / each
            axes.add_patch(Rectangle((left, i), cell, 1, facecolor=colour, edgecolor="white", linewidth=1))
            ink = INK if verdict == 1 else "white"
            axes.text(left + cell / 2, i + 0.52, mark, ha="center", va="center", fontsize=8, color=ink)
        axes.set(xlim=(0, width), ylim=(height, 0), title=title)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.xaxis.tick_top()
        name_ticks(axes, "y", rows, height, 0.5)
        axes.set_xticks(np.arange(width) + 0.5, columns, fontsize=8, rotation=90 * upright)
        handles = [
            Patch(facecolor=colour, label=f"{mark} {name}")
            for (colour, mark), name in zip(FAIL_TO_SUCCESS, names, strict=False)
        ]
        if handles:
            figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=1, handleheight=1)
    return settled(figure)


def _longest(names: Sequence[str]) -> int:
    """Letters of the longest line."""
    return max((len(line) for name in names for line in name.split("\n")), default=0)
