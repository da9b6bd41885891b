"""Figures shown 400 pixels wide: letters of seven pixels, nothing beyond the canvas, no legend over what is drawn."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from tslens import plots

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in points."""
FIGURES = Path(__file__).resolve().parents[2] / "figures"
SVG = "{http://www.w3.org/2000/svg}"
SHOWN, LEAST = 400, 7.0  # pixels
LONG = "a name that is a good deal longer than the room beside the axes of this figure"
VALUES = np.random.default_rng(0).uniform(-1, 1, size=(24, 14))
SERIES = {f"{LONG} {i}": [1.0, 2.0, 3.0] for i in range(3)}
DOTS = ([1.0, 2.0], [0.5, 1.5], [1.5, 2.5])
CHART = {"series": SERIES, "title": LONG, "x_label": LONG, "y_label": LONG}
DRAWN: dict[str, Callable[[], Figure]] = {
    "lines": lambda: plots.lines(SERIES, title=LONG, x_label=f"{LONG}, {LONG}"),
    "one panel": lambda: plots.panels(CHART),
    "panels that share a legend": lambda: plots.panels(CHART, CHART, CHART, CHART),
    "panels of different names": lambda: plots.panels(CHART, CHART | {"controls": [[1, 1, 1]]}, CHART),
    "bars": lambda: plots.bars([LONG, "b"], [1, 2], low=[0, 1], high=[2, 3], title=LONG, x_label=f"{LONG}, {LONG}"),
    "strip": lambda: plots.strip({LONG: [1, 2, 3], "b": [2, 2, 9]}, title=f"{LONG}, {LONG}"),
    "dots": lambda: plots.intervals([LONG, "b"], {LONG: DOTS, f"{LONG} and more": DOTS}, title=LONG),
    "controls": lambda: plots.beside_controls([LONG, "b"], *DOTS, np.ones((2, 19)), title=LONG, x_label=LONG * 2),
    "tiles": lambda: plots.tiles([[LONG, "b"] * 8] * 4, title=f"{LONG}, {LONG}", strengths=np.ones((4, 16))),
    "map of numbers": lambda: plots.heatmap(
        VALUES, ["a token → another one"] * 24, [f"head {i}.0" for i in range(14)], title=f"{LONG}, {LONG}",
        colour_label=LONG, centre=0.0, texts=[[f"{value:.1f}" for value in row] for row in VALUES],
    ),
    "wide map": lambda: plots.heatmap(np.tile(VALUES, (1, 20)), row_label=LONG, column_label=f"{LONG}, {LONG}"),
}  # fmt: skip


@cache
def _size_of(text: str, weight: str) -> tuple[float, float]:
    """Width and height of a text for a letter of one point."""
    width, height, _ = TextToPath().get_text_width_height_descent(text, FontProperties(size=100, weight=weight), False)
    return width / 100, height / 100


def texts(root: ET.Element) -> Iterator[tuple[str, float, Box]]:
    """Every text with the size of its letters and the box that it fills, in points."""
    for element in root.iter(f"{SVG}text"):
        said, style = "".join(element.itertext()), element.get("style", "")
        size = float(re.search(r"([\d.]+)px", style)[1])  # type: ignore[index]
        weight = "bold" if re.search(r"font-weight: (700|bold)", style) else "normal"
        width, height = (size * part for part in _size_of(said, weight))
        anchor = re.search(r"text-anchor: (\w+)", style)
        before = {"middle": 0.5, "end": 1.0}.get(anchor[1] if anchor else "start", 0.0) * width
        transform = element.get("transform", "")
        turned = float((re.search(r"rotate\((\S+?)[ )]", transform) or ["", "0"])[1])
        moved = re.search(r"translate\((\S+) (\S+)\)", transform)
        x, y = map(float, moved.groups() if moved else (element.get("x", "0"), element.get("y", "0")))
        ends = (x, y - width + before, x, y + before) if turned else (x - before, y, x - before + width, y)
        yield said, size, (ends[0] - height, *ends[1:]) if turned else (ends[0], y - height, *ends[2:])


def frames_and_legends(root: ET.Element) -> tuple[list[Box], list[Box]]:
    """The frame of each axes, and the box of the texts of each legend."""
    found: tuple[list[Box], list[Box]] = [], []
    for group in root.iter(f"{SVG}g"):
        if group.get("id", "").startswith("axes_"):
            drawn = group.find(f"{SVG}g/{SVG}path")
            corners = np.array(re.findall(r"[ML] (\S+) (\S+)", drawn.get("d", "")), dtype=float)  # type: ignore[union-attr]
            found[0].append((*corners.min(0), *corners.max(0)))  # type: ignore[arg-type]
        elif group.get("id", "").startswith("legend_"):
            boxes = np.array([box for _, _, box in texts(group)])
            found[1].append((*boxes[:, :2].min(0), *boxes[:, 2:].max(0)))  # type: ignore[arg-type]
    return found


def wrong(picture: str) -> list[str]:
    """What cannot be read in an SVG that is shown 400 pixels wide."""
    root = ET.fromstring(picture)
    _, _, wide, tall = map(float, root.get("viewBox", "").split())
    said = []
    for text, size, (left, top, right, bottom) in texts(root):
        if size * SHOWN / wide < LEAST:
            said.append(f"{text!r} has {size * SHOWN / wide:.1f} pixels")
        if left < -1 or right > wide + 1 or top < -1 or bottom > tall + 1:
            said.append(f"{text!r} from {left:.0f}, {top:.0f} to {right:.0f}, {bottom:.0f} of {wide:.0f}, {tall:.0f}")
    frames, legends = frames_and_legends(root)
    said += [f"a legend at {a} over axes at {b}" for a in legends for b in frames if _overlap(a, b)]
    return said


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("kind", DRAWN)
def test_a_figure_of_long_names_is_read_at_400_pixels(kind: str) -> None:
    assert wrong(plots.svg(DRAWN[kind]())) == []


@pytest.mark.parametrize("folder", sorted(path.name for path in FIGURES.iterdir() if any(path.rglob("*.svg"))))
def test_a_committed_figure_is_read_at_400_pixels(folder: str) -> None:
    paths = sorted((FIGURES / folder).rglob("*.svg"))
    found = {str(path.relative_to(FIGURES)): wrong(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: said for name, said in found.items() if said} == {}


def test_what_cannot_be_read_is_found() -> None:
    figure = Figure(figsize=(8, 2))
    axes = figure.add_subplot()
    axes.plot([0, 1], label="inside")
    axes.set_title("t" * 200)
    axes.legend(fontsize=8)
    found = wrong(plots.svg(figure))
    assert any("pixels" in said for said in found) and any("over axes" in said for said in found)
    assert any(said.startswith("'ttt") and " of 576, 144" in said for said in found)
