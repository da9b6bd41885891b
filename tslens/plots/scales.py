"""Curves that fall over many scales, on logarithmic axes, coloured by group, above a strip of their lengths."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tslens.plots.fitting import legend_below, settled
from tslens.plots.style import PALETTE, canvas, numbers, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-4  # smaller values of a curve are not drawn


def scales(
    curves: Sequence[tuple[str, Any]],
    lengths: Mapping[str, Any],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
) -> "Figure":
    """Curves over 1, 2, 3, ..., each with its group, and below them a dot for every length of each group, over the same
    axis. `lengths` fixes the groups, their order and their colours; lengths that are not finite have no dot."""
    if not curves:
        raise ValueError("scales need at least one curve; got none")
    known = [group for group in lengths if any(of == group for of, _ in curves)]
    if unknown := {group for group, _ in curves} - set(lengths):
        raise ValueError(f"curves of groups without lengths: {', '.join(sorted(unknown))}")
    colour = {group: PALETTE[i % len(PALETTE)] for i, group in enumerate(lengths)}
    with styled():
        figure = canvas(5.6, 3.2 + 0.24 * len(known))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 0.24 * len(known) + 0.1])
        longest, named = 1, set[str]()
        for group, values in curves:
            y = numbers(values, 1, f"curve of {group!r}")
            longest = max(longest, len(y))
            drawn = np.where(y >= LEAST, y, np.nan)
            label = None if group in named else group
            named.add(group)
            above.plot(np.arange(1, len(y) + 1), drawn, color=colour[group], linewidth=1, alpha=0.8, label=label)
        for row, group in enumerate(known):
            x = np.asarray(lengths[group], dtype=float)
            x = x[np.isfinite(x)].clip(1, 10.0 * longest)
            jitter = (np.arange(len(x)) * 0.6180339887) % 1 - 0.5
            below.plot(x, row + 0.4 * jitter, "o", color=colour[group], markersize=3.5, alpha=0.8, mew=0)
        above.set(title=title, ylabel=y_label, xscale="log", yscale="log")
        above.grid(axis="y")
        below.set_yticks(range(len(known)), known)
        below.set_ylim(len(known) - 0.5, -0.5)
        below.tick_params(axis="y", length=0)
        below.set(xlabel=x_label)
        for axis in (below.xaxis, above.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        legend_below(below, above.get_legend_handles_labels()[0])
    return settled(figure)
