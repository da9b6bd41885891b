"""Charts of numbers along an axis: lines, bars, histograms and dots, with their intervals."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tslens.plots.fitting import folded, legend_below, legend_of, legend_of_all, row_height, settled
from tslens.plots.style import INK, PALETTE, WIDEST, blank, canvas, name_ticks, numbers, room, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FEW = 8  # places along a logarithmic axis that are all named
COLUMNS = 2  # charts in a row


def lines(
    series: Mapping[str, Any],
    x: Any = None,
    *,
    bands: Mapping[str, tuple[Any, Any]] | None = None,
    levels: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    ticks: Sequence[Any] | None = None,
) -> "Figure":
    """One line per series over `x` (default 0, 1, 2, ...; or by series, where each has its own).

    `bands` are (low, high) by series, drawn behind it; `levels` the least and the largest value of untrained twins by
    series, a dotted band across; `ticks` are the names of 0, 1, 2, ... along x.
    """
    names = {"title": title, "x_label": x_label, "y_label": y_label, "log_x": log_x, "log_y": log_y, "ticks": ticks}
    with styled():
        figure, axes = blank(4.8, 2.8)
        _draw_lines(axes, **{"series": series, "x": x, "bands": bands, "levels": levels, **names})
        _name_lines(figure, [axes])
    return settled(figure)


def panels(*charts: Mapping[str, Any]) -> "Figure":
    """Several charts of lines, two in a row, each as the arguments of `lines`; `controls` are grey lines behind. Charts
    of the same names share one legend."""
    if not charts:
        raise ValueError("panels need at least one chart; got none")
    rows = -(-len(charts) // COLUMNS)
    with styled():
        figure = canvas(3.6 if len(charts) == 1 else WIDEST, 2.5 * rows)
        grid = figure.add_gridspec(rows, min(len(charts), COLUMNS))
        every = [figure.add_subplot(grid[divmod(i, COLUMNS)]) for i in range(len(charts))]
        for axes, chart in zip(every, charts, strict=True):
            _draw_lines(axes, **chart)
        _name_lines(figure, every)
    return settled(figure)


def _name_lines(figure: "Figure", every: Sequence["Axes"]) -> None:
    """A legend below each of the axes that has more than one name, or below all where the names are the same."""
    named = [legend_of(axes)[1] for axes in every]
    if len(named) > 1 and len(named[0]) > 1 and all(names == named[0] for names in named):
        legend_of_all(figure, every[0])
        return
    for axes, names in zip(every, named, strict=True):
        if len(names) > 1:
            legend_below(axes)


def _draw_lines(
    axes: "Axes",
    series: Mapping[str, Any],
    x: Any = None,
    *,
    bands: Mapping[str, tuple[Any, Any]] | None = None,
    levels: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    ticks: Sequence[Any] | None = None,
    controls: Sequence[Any] = (),
) -> None:
    if not series:
        raise ValueError("lines need at least one series; got none")
    longest, places = 0, set[float]()
    for i, control in enumerate(controls):
        label = "untrained twins" if i == 0 else None
        axes.plot(numbers(control, 1, "a control"), color=PALETTE[6], linewidth=0.8, alpha=0.6, label=label)
    for i, (name, values) in enumerate(series.items()):
        y = numbers(values, 1, f"series {name!r}")
        at = np.arange(len(y)) if x is None else numbers(x[name] if isinstance(x, Mapping) else x, 1, "x")
        if len(at) != len(y):
            raise ValueError(f"series {name!r} has {len(y)} values, but x has {len(at)}")
        longest = max(longest, len(y))
        places |= set(at.tolist())
        colour = PALETTE[i % len(PALETTE)]
        dash = "-" if i < len(PALETTE) else "--"
        axes.plot(at, y, dash, color=colour, label=name, marker="o" if len(y) <= 24 else None, markersize=3)
        if bands and name in bands:
            low, high = (numbers(edge, 1, f"band of {name!r}") for edge in bands[name])
            axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
        if levels and name in levels:
            _draw_level(axes, *levels[name], colour, named=name == next(iter(levels)))
    axes.grid(axis="y")
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    for axis, logarithmic in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if logarithmic:
            axis.set_major_formatter(lambda x, _: f"{x:.3g}" if x < 1000 else f"{x:g}")
            axis.set_minor_formatter("")
    if log_x and len(places) <= FEW:
        axes.set_xticks(sorted(places))
    if ticks is not None:
        name_ticks(axes, "x", ticks, longest, 0.0)


def _draw_level(axes: "Axes", least: float, most: float, colour: str, *, named: bool) -> None:
    """What untrained twins have, from the least to the largest, over the whole width."""
    axes.axhspan(least, most, color=colour, alpha=0.08, linewidth=0)
    axes.axhline(least, color=colour, linestyle=":", linewidth=0.9, label="untrained twins" if named else None)
    axes.axhline(most, color=colour, linestyle=":", linewidth=0.9)


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

    `low` and `high` are the bounds of an interval, drawn as a whisker; `baseline` marks the value of a null or a base
    rate on each bar.
    """
    lengths = numbers(values, 1, "bars")
    if len(names) != len(lengths):
        raise ValueError(f"{len(names)} names for {len(lengths)} bars")
    if (low is None) != (high is None):
        raise ValueError("an interval has two ends: give low and high, or neither")
    at = np.arange(len(lengths))
    with styled():
        shown = folded(names)
        figure, axes = blank(4.8 + room(shown), max(1.4, 0.8 + row_height(shown, 0.22) * len(lengths)))
        axes.barh(at, lengths, color=PALETTE[4], height=0.7)
        if low is not None:
            axes.hlines(at, numbers(low, 1, "low"), numbers(high, 1, "high"), color=INK, linewidth=1)
        if baseline is not None:
            marks = np.broadcast_to(numbers(baseline, None, "baseline"), lengths.shape)
            axes.vlines(marks, at - 0.4, at + 0.4, color=PALETTE[5], linewidth=1.6)
        axes.set_yticks(at, shown)
        axes.set_ylim(len(at) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
    return settled(figure)


def histogram(values: Any, *, mark: float | None = None, x_label: str = "", y_label: str = "") -> "Figure":
    """Histogram of the values, with a line at `mark`."""
    with styled():
        figure, axes = blank(4.8, 2.4)
        axes.hist(numbers(values, 1, "values"), bins=40, color=PALETTE[4])
        if mark is not None:
            axes.axvline(mark, color=INK, linewidth=1.4)
        axes.grid(axis="y")
        axes.set(xlabel=x_label, ylabel=y_label)
    return settled(figure)


def strip(groups: Mapping[str, Any], *, title: str = "", x_label: str = "", threshold: float | None = None) -> "Figure":
    """Every value of every group as a dot, the groups under one another, with a bar at each median.

    Dots are spread vertically, without randomness, only to make them visible.
    """
    if not groups:
        raise ValueError("a strip needs at least one group; got none")
    with styled():
        shown = folded(groups)
        figure, axes = blank(4.8 + room(shown), 0.9 + row_height(shown, 0.42) * len(groups))
        for i, (name, values) in enumerate(groups.items()):
            x = numbers(values, 1, f"group {name!r}")
            # The golden ratio's multiples fill the unit interval evenly, without chance.
            jitter = (np.arange(len(x)) * 0.6180339887) % 1 - 0.5
            axes.plot(x, i + 0.55 * jitter, "o", color=PALETTE[i % len(PALETTE)], markersize=3, alpha=0.7, mew=0)
            if len(x):
                axes.plot([np.nanmedian(x)] * 2, [i - 0.36, i + 0.36], color=INK, linewidth=1.4)
        if threshold is not None:
            axes.axvline(threshold, color=INK, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(groups)), shown)
        axes.set_ylim(len(groups) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
    return settled(figure)


def beside_controls(
    names: Sequence[str], values: Any, low: Any, high: Any, controls: Any, *, title: str = "", x_label: str = ""
) -> "Figure":
    """A value with its interval for every name, and below it the controls `[name, control]` as grey dots."""
    x, spread = numbers(values, 1, "values"), numbers(controls, 2, "controls")
    ends = np.stack([x - numbers(low, 1, "low"), numbers(high, 1, "high") - x])
    with styled():
        shown = folded(names)
        figure, axes = blank(4.8 + room(shown), 1.1 + row_height(shown, 0.36) * len(names))
        rows = np.arange(len(names))
        jitter = 0.22 * (((np.arange(spread.shape[1]) * 0.6180339887) % 1) - 0.5)
        axes.plot(spread, rows[:, None] + 0.2 + jitter, "o", color=PALETTE[6], markersize=3, alpha=0.6, mew=0)
        axes.errorbar(x, rows - 0.12, xerr=ends, fmt="o", color=PALETTE[0], markersize=5, capsize=2.5, linewidth=1.2)
        axes.set_yticks(rows, shown)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set(title=title, xlabel=x_label)
        axes.set_xlim(left=-0.03 * max(float(ends[1].max() + x.max()), float(spread.max()), 1.0))
    return settled(figure)
