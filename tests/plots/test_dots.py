import pytest

from tslens import plots

VALUES = ([10.0, 200.0], [9.0, 150.0], [11.0, 250.0])


def test_dots_need_not_begin_at_zero() -> None:
    axes = plots.intervals(["a", "b"], {"": ([3.07, 3.68], [3.05, 3.67], [3.08, 3.69])}).axes[0]
    low, high = axes.get_xlim()
    assert 3.0 < low < 3.05 and 3.69 < high < 3.8
    assert axes.get_legend() is None


def test_a_logarithmic_axis_is_named() -> None:
    figure = plots.intervals(["a", "b"], {"": VALUES}, log_x=True)
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    named = [label.get_text() for label in axes.get_xticklabels()]
    assert {"10", "20", "50", "100", "200"} <= set(named) and "mathdefault" not in plots.svg(figure)


def test_long_names_are_folded() -> None:
    name = "a model of a very long name, with a vocabulary of 50k"
    label = plots.intervals([name, "b"], {"": VALUES}).axes[0].get_yticklabels()[0].get_text()
    assert label.replace("\n", " ") == name and max(map(len, label.splitlines())) <= 24


def boxes(figure: object) -> list[tuple[object, object]]:
    """The legend's box and the frame of its axes, of each axes with a legend."""
    return [
        (axes.get_legend().get_window_extent(), axes.get_window_extent())
        for axes in figure.axes  # type: ignore[attr-defined]
        if axes.get_legend()
    ]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.lines({"validation loss": [1, 2, 3], "training loss": [2, 1, 2]}, x_label="step"),
        lambda: plots.lines({f"series {i}": [i, i + 1, i] for i in range(9)}, levels={"series 3": (0.5, 0.7)}),
        lambda: plots.lines({"a": [1, 2], "b": [2, 1]}, ticks=["a name as long as a sentence", "and another one"]),
        lambda: plots.panels(
            {"series": {"own": [1, 2, 3]}, "controls": [[2, 2, 2]]}, {"series": {"a": [1, 2], "b": [2, 1]}}
        ),
        lambda: plots.intervals(["x", "y"], {"one": VALUES, "other": VALUES}),
    ],
)
def test_no_legend_lies_over_what_is_drawn(draw: object) -> None:
    figure = draw()  # type: ignore[operator]
    found = boxes(figure)
    assert found
    tall = figure.bbox.height
    for legend, frame in found:
        assert legend.y1 < frame.y0 and legend.y0 >= 0 and frame.height > 0.2 * tall  # type: ignore[attr-defined]
