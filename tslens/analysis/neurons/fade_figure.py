"""The figure of FADE's measures: each with its interval, beside other neurons of the layer."""

from typing import TYPE_CHECKING

import numpy as np

from tslens.plots.fitting import settled
from tslens.plots.style import ABSENT, PALETTE, WIDEST, canvas, styled
from tslens.plots.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.analysis.neurons.fade_result import FadeResult

MOST = 50
"""Largest number of labels drawn, those of a part of speech first."""


def draw(answer: "FadeResult") -> "Figure":
    """A panel for each measure: a dot with its interval, filled where it is above every control (grey dots)."""
    measures = answer.axis_names["measure"]
    best = np.argsort(-answer.value[:, -1].numpy(), kind="stable")
    every = best[np.argsort(answer.by_word[best].numpy(), kind="stable")]
    shown = every[:MOST]
    of = f", {len(shown)} of {len(every)} labels" if len(shown) < len(every) else ""
    with styled():
        figure = canvas(WIDEST, 1.1 + (0.6 + 0.16 * max(len(shown), 4)) * len(measures) / 2)
        panels = figure.subplots(len(measures) // 2, 2, sharey=True)
        for i, (name, axes) in enumerate(zip(measures, panels.flat, strict=True)):
            for row, at in enumerate(shown):
                controls = answer.controls[at, :, i].numpy()
                axes.plot(controls, np.full(len(controls), row), "o", color=PALETTE[6], markersize=2, alpha=0.5, mew=0)
                colour = PALETTE[1 if answer.by_word[at] else 0]
                low, value, high = (float(part[at, i]) for part in (answer.low, answer.value, answer.high))
                axes.plot((low, high), (row, row), color=colour, linewidth=1.2, solid_capstyle="butt")
                filled = colour if answer.above[at, i] else "white"
                axes.plot(value, row, "o", color=colour, markersize=3.5, markerfacecolor=filled)
            axes.axvline(0, color=ABSENT, linewidth=0.8)
            axes.set(title=name, xlabel="95% interval")
            axes.grid(axis="x")
            axes.tick_params(axis="y", length=0)
        names = [f"{answer.labels[i].removeprefix('token: ')}  {answer.layer[i]}.{answer.neuron[i]}" for i in shown]
        panels[0, 0].set_yticks(range(len(shown)), [printable(name) for name in names])
        panels[0, 0].set_ylim(max(len(shown), 1) - 0.4, -0.6)
        for axes in panels.flat:
            axes.tick_params(axis="y", labelsize=8)
        figure.suptitle(f"{answer.model}: labels on generator truth{of}; grey: other neurons", fontweight="bold")
    return settled(figure)
