"""Every kind of figure is drawn, the same text for the same data, and nothing else is touched."""

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from tslens import plots

VALUES = np.random.default_rng(0).uniform(size=(3, 4))
KINDS: dict[str, Callable[[], Figure]] = {
    "heatmap": lambda: plots.heatmap(VALUES, title="A map", row_label="layer", column_label="head"),
    "heatmap, diverging": lambda: plots.heatmap(VALUES, centre=0.5, texts=[["a", "b", "c", "d"]] * 3),
    "heatmap, large": lambda: plots.heatmap(np.tile(VALUES, (30, 30)), title="A map"),
    "tiles with strengths": lambda: plots.tiles(
        [["induction", "unresolved"]], strengths=[[0.7, float("nan")]], order=("previous token", "induction")
    ),
    "panels": lambda: plots.panels(
        {"series": {"loss": [2.0, 1.0]}, "bands": {"loss": ([1.9, 0.9], [2.1, 1.1])}, "ticks": ["embed", "0"]},
        {"series": {"agreement": [0.1, 1.0]}},
    ),
    "tiles": lambda: plots.tiles([["induction", "unresolved"], ["previous token", "induction"]], title="Roles"),
    "lines": lambda: plots.lines({"train": [3, 2, 1], "valid": [3, 2.5, 2]}, [10, 20, 30], log_x=True, title="Loss"),
    "lines, band": lambda: plots.lines({"loss": [3, 2, 1]}, bands={"loss": ([2, 1, 0], [4, 3, 2])}, log_y=True),
    "histogram": lambda: plots.histogram([1, 2, 2, 3], mark=2, x_label="nats"),
    "bars": lambda: plots.bars(["NOUN", "VERB"], [0.5, 0.2], low=[0.4, 0.1], high=[0.6, 0.3], baseline=0.25),
    "strip": lambda: plots.strip({"a": [1, 2, 3], "b": [2, 2, 9]}, threshold=2.5, title="Scores"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_one_svg_element_always_the_same_and_touches_nothing(kind: str) -> None:
    before = dict(mpl.rcParams)
    figure = KINDS[kind]()
    plain = plots.svg(figure)
    assert ET.fromstring(plain).tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"20\d\d-\d\d-\d\d", plain)
    assert plots.svg(figure) == plain  # drawn twice
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.linewidth": 9}):
        assert plots.svg(KINDS[kind]()) == plain  # made twice, whatever the reader's settings
    assert dict(mpl.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_palette_differs_in_lightness_or_hue_for_the_colour_blind() -> None:
    """Every two of the first six stay apart under simulated deuteranopia (Viénot, Brettel and Mollon 1999)."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    deuteranope = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    linear = np.array([mpl.colors.to_rgb(colour) for colour in plots.PALETTE[:6]]) ** 2.2
    seen = (linear @ (np.linalg.inv(to_lms) @ deuteranope @ to_lms).T).clip(0, 1) ** (1 / 2.2)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)[np.triu_indices(6, 1)]
    assert apart.min() > 0.12


@pytest.mark.parametrize("kind", ["heatmap", "tiles", "lines", "panels", "bars", "strip"])
def test_a_long_title_is_not_cut(kind: str) -> None:
    title = "a title that is a good deal longer than the figure below it would be without it, and then some more"
    draw: dict[str, Callable[[], Figure]] = {
        "heatmap": lambda: plots.heatmap(VALUES, title=title),
        "tiles": lambda: plots.tiles([["induction", "unresolved"]], title=title),
        "lines": lambda: plots.lines({"train": [3, 2, 1]}, title=title),
        "panels": lambda: plots.panels({"series": {"loss": [2.0, 1.0]}, "title": title}),
        "bars": lambda: plots.bars(["NOUN", "VERB"], [0.5, 0.2], title=title),
        "strip": lambda: plots.strip({"a": [0.5, 0.2]}, title=title),
    }
    with mpl.rc_context(plots.STYLE):
        figure = draw[kind]()
        assert figure.get_tightbbox().x1 <= figure.get_figwidth()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_shows_itself_in_jupyter_without_pyplot(kind: str) -> None:
    figure = KINDS[kind]()
    assert figure._repr_svg_() == plots.svg(figure)  # type: ignore[attr-defined]
