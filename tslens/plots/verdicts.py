"""Tables of fail, partial and success: prompts by models, legible without telling colours apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tslens.plots.fitting import settled
from tslens.plots.style import ABSENT, COLD, INK, WARM, blank, name_ticks, numbers, room, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAIL_TO_SUCCESS = ((WARM, "×"), ("#F3E3A2", "~"), (COLD, "✓"))
"""Colour and mark of fail, partial and success: orange, pale yellow and blue, told apart in every colour blindness."""


def verdicts(
    values: Any, rows: Sequence[str], columns: Sequence[str], *, title: str = "", names: Sequence[str] = ()
) -> "Figure":
    """`values` (row, column, one of several) from 0, fail, to 2, success, as coloured and marked cells; NaN is absent.

    The last axis stands side by side within a column, as the two prompts of a pair. `columns` may have several lines;
    `names` are those of the three verdicts, for the legend.
    """
    from matplotlib.patches import Patch, Rectangle

    array = numbers(values, 3, "a table of verdicts")
    height, width, each = array.shape
    with styled():
        longest = max((len(line) for name in columns for line in name.split("\n")), default=0)
        column = max(0.3 * each, 0.065 * longest) + 0.1
        figure, axes = blank(0.6 + column * width + room(rows), 1.1 + 0.2 * height)
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
        axes.set_xticks(np.arange(width) + 0.5, columns, fontsize=8)
        handles = [
            Patch(facecolor=colour, label=f"{mark} {name}")
            for (colour, mark), name in zip(FAIL_TO_SUCCESS, names, strict=False)
        ]
        if handles:
            figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=1, handleheight=1)
    return settled(figure)
