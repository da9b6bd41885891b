"""Dots with their intervals, one row per name and one colour per series."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tslens.plots.fitting import folded, legend_below, row_height, settled
from tslens.plots.style import INK, PALETTE, blank, numbers, room, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = "osD^vPX*"


def intervals(
    names: Sequence[str],
    series: Mapping[str, tuple[Any, Any, Any]],
    *,
    threshold: float | None = None,
    title: str = "",
    x_label: str = "",
    log_x: bool = False,
) -> "Figure":
    """For every name a dot with its interval in each series, which is (value, low, high); NaN leaves a dot out.

    A dotted line stands at `threshold`, such as what chance gives. The first name is on top. The axis need not begin at
    0, so that small differences are seen.
    """
    if not series:
        raise ValueError("intervals need at least one series; got none")
    rows, step = np.arange(len(names)), 0.7 / len(series)
    shown = folded(names)
    with styled():
        tall = row_height(shown, max(0.22, 0.085 * len(series)))
        figure, axes = blank(4.8 + room(shown), 1.0 + len(names) * tall)
        for i, (label, columns) in enumerate(series.items()):
            value, low, high = (numbers(column, 1, f"series {label!r}") for column in columns)
            if len(value) != len(names):
                raise ValueError(f"series {label!r} has {len(value)} values for {len(names)} names")
            at = rows + (i - (len(series) - 1) / 2) * step
            ends = np.maximum(np.stack([value - low, high - value]), 0)
            mark = MARKS[(i + i // len(PALETTE)) % len(MARKS)]  # beyond the palette no pair comes again
            colour = PALETTE[i % len(PALETTE)]
            drawn = axes.errorbar(value, at, xerr=ends, fmt=mark, color=colour, markersize=3.5, linewidth=1)
            drawn.set_label(label)
        if threshold is not None:
            axes.axvline(threshold, color=INK, linewidth=0.8, linestyle=":")
        axes.set_yticks(rows, shown)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
        if log_x:
            _logarithmic(axes)
        if len(series) > 1:
            legend_below(axes)
    return settled(figure)


def _logarithmic(axes: "Axes") -> None:
    """A logarithmic axis along x, named at 1, 2, 5, 10 and so on."""
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log", subs=range(2, 10))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
