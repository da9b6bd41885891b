"""Dots with their intervals, one row per name and one colour per series."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tslens.plots.style import INK, PALETTE, blank, numbers, room, settled, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = "osD^vPX*"
LETTERS = 32  # on a line of the legend; a series may be named after a path


def intervals(
    names: Sequence[str],
    series: Mapping[str, tuple[Any, Any, Any]],
    *,
    threshold: float | None = None,
    title: str = "",
    x_label: str = "",
) -> "Figure":
    """For every name a dot with its interval in each series, which is (value, low, high); NaN leaves a dot out.

    A dotted line stands at `threshold`, such as what chance gives. The first name is on top.
    """
    if not series:
        raise ValueError("intervals need at least one series; got none")
    rows, step = np.arange(len(names)), 0.7 / len(series)
    lines = {label: textwrap.wrap(label, LETTERS) for label in series}
    with styled():
        wide = room(list(names)) + room([line for own in lines.values() for line in own if len(own) > 1])
        figure, axes = blank(4.8 + wide, 1.0 + len(names) * max(0.22, 0.11 * len(series)))
        for i, (label, columns) in enumerate(series.items()):
            value, low, high = (numbers(column, 1, f"series {label!r}") for column in columns)
            if len(value) != len(names):
                raise ValueError(f"series {label!r} has {len(value)} values for {len(names)} names")
            at = rows + (i - (len(series) - 1) / 2) * step
            ends = np.maximum(np.stack([value - low, high - value]), 0)
            mark = MARKS[(i + i // len(PALETTE)) % len(MARKS)]  # beyond the palette no pair comes again
            colour = PALETTE[i % len(PALETTE)]
            drawn = axes.errorbar(value, at, xerr=ends, fmt=mark, color=colour, markersize=3.5, linewidth=1)
            drawn.set_label("\n".join(lines[label]))
        if threshold is not None:
            axes.axvline(threshold, color=INK, linewidth=0.8, linestyle=":")
        axes.set_yticks(rows, list(names))
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
        if len(series) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return settled(figure)
