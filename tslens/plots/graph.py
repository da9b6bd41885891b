"""Layered graphs: nodes on levels from below to above, edges by their weight."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tslens.errors import InputError
from tslens.plots.fitting import settled
from tslens.plots.style import COLD, INK, LIGHT, WARM, blank, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def layered(
    levels: Sequence[Mapping[str, float]],
    edges: Mapping[tuple[str, str], float],
    *,
    title: str = "",
    note: str = "",
    level_names: Sequence[str] = (),
) -> "Figure":
    """Nodes by level, the first below, each at its place from left to right; an edge is as wide as its weight, blue
    above 0 and orange below."""
    place = {name: (x, float(level)) for level, names in enumerate(levels) for name, x in names.items()}
    if unknown := sorted({end for edge in edges for end in edge} - place.keys()):
        raise InputError(f"an edge ends at {unknown[0]!r}, which is on no level")
    strongest = max((abs(weight) for weight in edges.values()), default=1.0) or 1.0
    left, right = min(x for x, _ in place.values()), max(x for x, _ in place.values())
    with styled():
        figure, axes = blank(max(4.8, 1.8 + 0.8 * (right - left)), max(2.4, 1.0 + 0.55 * len(levels)))
        for (source, target), weight in sorted(edges.items(), key=lambda edge: abs(edge[1])):
            (x, y), (to_x, to_y), strength = place[source], place[target], abs(weight) / strongest
            between = any(
                name not in (source, target) and _near(at, (x, y), (to_x, to_y)) for name, at in place.items()
            )
            axes.annotate(
                "",
                xy=(to_x, to_y),
                xytext=(x, y),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": COLD if weight > 0 else WARM,
                    "linewidth": 0.5 + 3.5 * strength,
                    "alpha": 0.35 + 0.6 * strength,
                    "shrinkA": 9,
                    "shrinkB": 10,
                    "connectionstyle": f"arc3,rad={0.3 if between else 0.0}",
                },
            )
        for name, (x, y) in place.items():
            box = {"boxstyle": "round,pad=0.3", "facecolor": LIGHT, "edgecolor": INK, "linewidth": 0.8}
            axes.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box, zorder=3)
        axes.set(xlim=(left - 0.8, right + 0.8), ylim=(-0.6, len(levels) - 0.4), title=title)
        axes.set_xlabel(note, fontsize=8)
        axes.set_xticks([])
        axes.set_yticks(range(len(levels)), list(level_names) or [""] * len(levels))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return settled(figure)


def _near(at: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> bool:
    """Whether a node lies on the straight line between two others."""
    if not min(start[1], end[1]) < at[1] < max(start[1], end[1]):
        return False
    x = start[0] + (end[0] - start[0]) * (at[1] - start[1]) / (end[1] - start[1])
    return abs(x - at[0]) < 0.45
