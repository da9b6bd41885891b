"""Layered graphs: nodes stand at their places, an edge is as wide as its weight, and no node hides an edge."""

import pytest
from matplotlib.colors import to_hex

from tslens import plots
from tslens.plots.style import COLD, WARM

LEVELS = [{"in": 0.0}, {"a": 0.0, "b": 2.0}, {"out": 0.0}]


def test_edges_say_their_weight_and_go_round_a_node_in_their_way() -> None:
    figure = plots.layered(LEVELS, {("in", "b"): 0.5, ("a", "out"): -1.0, ("in", "out"): 0.2}, title="T", note="N")
    axes = figure.axes[0]
    names = {text.get_text(): text.get_position() for text in axes.texts if text.get_text()}
    assert names == {"in": (0, 0), "a": (0, 1), "b": (2, 1), "out": (0, 2)}
    drawn = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    arrows = {(*text.xyann, *text.xy): text.arrow_patch for text in drawn}
    widths = {place: arrow.get_linewidth() for place, arrow in arrows.items()}
    assert widths == {(0, 0, 2, 1): 0.5 + 3.5 * 0.5, (0, 1, 0, 2): 4.0, (0, 0, 0, 2): pytest.approx(0.5 + 3.5 * 0.2)}
    assert to_hex(arrows[(0, 1, 0, 2)].get_edgecolor()) == WARM.lower()
    assert to_hex(arrows[(0, 0, 2, 1)].get_edgecolor()) == COLD.lower()
    bent = {place for place, arrow in arrows.items() if arrow.get_connectionstyle().rad}
    assert bent == {(0, 0, 0, 2)}  # past `a`
    assert (axes.get_title(loc="left"), axes.get_xlabel()) == ("T", "N")


def test_an_edge_to_nowhere_is_refused_and_a_graph_without_edges_is_drawn() -> None:
    with pytest.raises(ValueError, match="an edge ends at 'x', which is on no level"):
        plots.layered(LEVELS, {("in", "x"): 1.0})
    assert len(plots.layered(LEVELS, {}).axes[0].texts) == 4
