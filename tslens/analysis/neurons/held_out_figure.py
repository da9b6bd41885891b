"""The figure of labels tested on other stories, with their AUROC, and their precision beside the base rate."""

from typing import TYPE_CHECKING, Any

from tslens.analysis.neurons.held_out_measures import AUROC, MEASURES
from tslens.plots.fitting import settled
from tslens.plots.style import ABSENT, INK, PALETTE, WIDEST, canvas, styled
from tslens.plots.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.analysis.neurons.held_out_result import HeldOutResult

MOST = 50
"""Largest number of labels drawn, those of a part of speech first."""
PRECISION, BASE = MEASURES.index("precision"), MEASURES.index("base_rate")


def draw(answer: "HeldOutResult") -> "Figure":
    """Left: the AUROC of each tested label with its interval, filled where it predicts. Right: the precision among the
    tokens of the neuron's top decile, and the base rate as a grey line."""
    tested = (~answer.low[..., AUROC].isnan()).nonzero().tolist()
    every = sorted(
        [tuple(at) for at in tested], key=lambda at: (answer.label[at].item() < 0, -answer.low[at][AUROC].item())
    )
    shown = every[:MOST]
    of = f", {len(shown)} of {len(every)}" if len(shown) < len(every) else ""
    with styled():
        figure = canvas(WIDEST, 1.5 + 0.16 * max(len(shown), 4))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.6, 1))
        for row, at in enumerate(shown):
            _draw_interval(left, row, answer, at, AUROC, bool(answer.predicts[at]))
            _draw_interval(right, row, answer, at, PRECISION, bool(answer.predicts[at]))
            base = float(answer.value[at][BASE])
            right.plot((base, base), (row - 0.4, row + 0.4), color=PALETTE[6], linewidth=1.2)
        left.axvline(0.7, color=INK, linewidth=0.8, linestyle="--")
        left.axvline(0.5, color=ABSENT, linewidth=0.8)
        left.set_yticks(range(len(shown)), [_name(answer, at) for at in shown], fontsize=8)
        left.set_ylim(max(len(shown), 1) - 0.4, -0.6)
        left.tick_params(axis="y", length=0)
        left.set(title=f"AUROC of the label{of}", xlabel="AUROC, 95% interval; filled: predicts")
        right.set(title="precision in the top decile", xlabel="precision; grey: base rate", xlim=(-0.02, 1.02))
        for axes in (left, right):
            axes.grid(axis="x")
        figure.suptitle(
            f"{answer.model}: labels from {answer.n_labelled:,} stories, tested on {answer.n_tested:,} others",
            fontweight="bold",
        )
    return settled(figure)


def _name(answer: "HeldOutResult", at: Any) -> str:
    name = answer.label_of(*at).removesuffix(", tail selector").removeprefix("token: ")
    return printable(f"{name if answer.label[at] >= 0 else f'“{name}”'}  {answer.layer_of(at[0])}.{at[1]}")


def _draw_interval(axes: Any, row: int, answer: "HeldOutResult", at: Any, measure: int, filled: bool) -> None:
    colour = PALETTE[0] if answer.label[at] >= 0 else PALETTE[1]
    low, value, high = (float(part[at][measure]) for part in (answer.low, answer.value, answer.high))
    axes.plot((low, high), (row, row), color=colour, linewidth=1.2, solid_capstyle="butt")
    axes.plot(value, row, "o", color=colour, markersize=3.5, markerfacecolor=colour if filled else "white")
