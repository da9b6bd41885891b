"""Every kind of figure is drawn; the same data give the same text; files are whole or not there."""

import csv
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import torch
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
    "bars": lambda: plots.bars(["NOUN", "VERB"], [0.5, 0.2], low=[0.4, 0.1], high=[0.6, 0.3], baseline=0.25),
    "strip": lambda: plots.strip({"a": [1, 2, 3], "b": [2, 2, 9]}, threshold=2.5, title="Scores"),
}


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_is_drawn_as_one_svg_element(self, kind: str) -> None:
        root = ET.fromstring(plots.svg(KINDS[kind]()))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"

    def test_same_data_same_text(self, kind: str) -> None:
        figure = KINDS[kind]()
        first = plots.svg(figure)
        assert plots.svg(figure) == first  # drawn twice
        assert plots.svg(KINDS[kind]()) == first  # made twice
        assert not re.search(r"20\d\d-\d\d-\d\d", first)

    def test_nothing_global_changes(self, kind: str) -> None:
        before = dict(mpl.rcParams)
        plots.svg(KINDS[kind]())
        assert dict(mpl.rcParams) == before
        pyplot = sys.modules.get("matplotlib.pyplot")
        assert pyplot is None or pyplot.get_fignums() == []

    def test_the_settings_of_the_reader_do_not_show(self, kind: str) -> None:
        plain = plots.svg(KINDS[kind]())
        with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.linewidth": 9}):
            assert plots.svg(KINDS[kind]()) == plain


def texts(figure: Figure) -> list[str]:
    return [element.text or "" for element in ET.fromstring(plots.svg(figure)).iter("{http://www.w3.org/2000/svg}text")]


def test_text_stays_text() -> None:
    words = texts(KINDS["tiles"]())
    assert {"Roles", "induction", "previous token", "unresolved"} <= set(words)


def test_a_dollar_is_a_dollar_and_markup_is_text() -> None:
    tokens = ["$5 and $6", "<script>alert(1)</script>", r"\frac"]
    figure = plots.heatmap([[1, 2, 3]], columns=tokens, texts=[tokens], title="$x$")
    assert {*tokens, "$x$"} <= set(texts(figure))
    assert "<script" not in plots.svg(figure)


def test_logarithmic_axes_have_plain_numbers() -> None:
    words = texts(plots.lines({"loss": [1, 10, 100]}, [1, 1000, 1_000_000], log_x=True, log_y=True))
    assert not [word for word in words if "mathdefault" in word]
    assert "100" in words


def test_row_0_is_on_top_and_its_colour_is_its_value() -> None:
    figure = plots.heatmap([[0.0, 1.0], [0.5, np.nan]])
    axes = figure.axes[0]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    (mesh,) = axes.collections
    colours = mesh.get_cmap()(mesh.norm(mesh.get_array()))  # type: ignore[arg-type]
    assert mpl.colors.to_hex(colours[0, 0]) == plots.LIGHT.lower()
    assert mpl.colors.to_hex(colours[0, 1]) == plots.DARK.lower()
    assert mpl.colors.to_hex(colours[1, 1]) == plots.ABSENT.lower()


def test_diverging_colours_are_white_at_the_centre() -> None:
    mesh = plots.heatmap([[-1.0, 0.0, 3.0]], centre=0).axes[0].collections[0]
    assert mesh.get_clim() == (-3, 3)
    assert mpl.colors.to_hex(mesh.get_cmap()(mesh.norm(0.0))) == "#ffffff"


def test_a_map_of_one_value_and_of_none() -> None:
    assert plots.heatmap([[2.0]]).axes[0].collections[0].get_clim() == (1.5, 2.5)
    assert plots.heatmap([[np.nan]]).axes[0].collections[0].get_clim() == (0, 1)


def test_a_large_map_stays_small() -> None:
    big = plots.svg(plots.heatmap(np.random.default_rng(1).uniform(size=(200, 200))))
    assert "<image" in big and len(big) < 250_000


def test_tensors_are_welcome() -> None:
    weights = torch.nn.Parameter(torch.eye(3, dtype=torch.bfloat16))
    assert plots.svg(plots.heatmap(weights)) == plots.svg(plots.heatmap(np.eye(3)))


def test_absent_kinds_are_grey() -> None:
    figure = KINDS["tiles"]()
    faces = [mpl.colors.to_hex(patch.get_facecolor()) for patch in figure.axes[0].patches]
    assert faces[1] == plots.ABSENT.lower()
    assert faces[0] == faces[3] != faces[2]


def test_palette_differs_in_lightness_or_hue_for_the_colour_blind() -> None:
    """Every two of the first six stay apart under simulated deuteranopia (Viénot, Brettel and Mollon 1999)."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    deuteranope = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    linear = np.array([mpl.colors.to_rgb(colour) for colour in plots.PALETTE[:6]]) ** 2.2
    seen = (linear @ (np.linalg.inv(to_lms) @ deuteranope @ to_lms).T).clip(0, 1) ** (1 / 2.2)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)[np.triu_indices(6, 1)]
    assert apart.min() > 0.12


class TestSave:
    def test_svg_with_its_table(self, tmp_path: Path) -> None:
        table = pd.DataFrame({"head": [0, 1], "score": [0.123456789, 1]})
        path = plots.save(KINDS["bars"](), tmp_path / "new" / "bars.svg", table)
        assert path.read_text() == plots.svg(KINDS["bars"]())
        with (tmp_path / "new" / "bars.csv").open() as file:
            assert next(csv.DictReader(file)) == {"head": "0", "score": "0.123457"}
        assert sorted(p.name for p in path.parent.iterdir()) == ["bars.csv", "bars.svg"]

    def test_png_is_the_same_twice(self, tmp_path: Path) -> None:
        one = plots.save(KINDS["heatmap"](), tmp_path / "one.png").read_bytes()
        two = plots.save(KINDS["heatmap"](), tmp_path / "two.png").read_bytes()
        assert one == two and one.startswith(b"\x89PNG")

    def test_a_failed_write_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "a.svg"
        path.write_text("old")
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            plots.save(KINDS["bars"](), path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.heatmap([1, 2]), "a heat map needs 2 axes"),
        (lambda: plots.heatmap(np.empty((0, 3))), r"got shape \(0, 3\)"),
        (lambda: plots.heatmap(VALUES, rows=["a"]), "1 names for 3 rows"),
        (lambda: plots.heatmap(VALUES, texts=[["a"]]), "texts must have the shape of the values"),
        (lambda: plots.tiles([]), "rows and columns"),
        (lambda: plots.lines({}), "at least one series"),
        (lambda: plots.lines({"a": [1, 2]}, [1, 2, 3]), "series 'a' has 2 values, but x has 3"),
        (lambda: plots.bars(["a"], [1, 2]), "1 names for 2 bars"),
        (lambda: plots.bars(["a"], [1], low=[0]), "two ends"),
        (lambda: plots.strip({}), "at least one group"),
        (lambda: plots.save(KINDS["bars"](), "a.gif"), "saved as .svg or .png; got 'a.gif'"),
    ],
)
def test_refusals(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
