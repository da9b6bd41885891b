from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pytest
import torch

from tslens import plots

VALUES = np.random.default_rng(0).uniform(size=(3, 4))


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


def test_dots_leave_a_wide_map_as_wide_as_none_and_words_widen_it() -> None:
    values = np.zeros((2, 64))
    width = {text: plots.heatmap(values, texts=[[text] * 64] * 2).get_figwidth() for text in ("·", "word")}
    assert width["·"] == plots.heatmap(values).get_figwidth() < 12 < width["word"]


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
    figure = plots.tiles([["induction", "unresolved"], ["previous token", "induction"]])
    faces = [mpl.colors.to_hex(patch.get_facecolor()) for patch in figure.axes[0].patches]
    assert faces[1] == plots.ABSENT.lower()
    assert faces[0] == faces[3] != faces[2]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.heatmap([1, 2]), "a heat map needs 2 axes"),
        (lambda: plots.heatmap(np.empty((0, 3))), r"got shape \(0, 3\)"),
        (lambda: plots.heatmap(VALUES, rows=["a"]), "1 names for 3 rows"),
        (lambda: plots.heatmap(VALUES, texts=[["a"]]), "texts must have the shape of the values"),
        (lambda: plots.tiles([]), "rows and columns"),
    ],
)
def test_refusals(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
