from collections.abc import Callable

import pytest

from tslens import plots


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.lines({}), "at least one series"),
        (lambda: plots.lines({"a": [1, 2]}, [1, 2, 3]), "series 'a' has 2 values, but x has 3"),
        (lambda: plots.bars(["a"], [1, 2]), "1 names for 2 bars"),
        (lambda: plots.bars(["a"], [1], low=[0]), "two ends"),
        (lambda: plots.strip({}), "at least one group"),
        (lambda: plots.scales([], {}), "at least one curve"),
        (lambda: plots.scales([("a", [1.0])], {"b": []}), "groups without lengths: a"),
    ],
)
def test_refusals(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()


def test_controls_are_grey_lines_behind_with_one_entry_in_the_legend() -> None:
    drawn = plots.panels({"series": {"own": [0.1, 0.5, 1.0]}, "controls": [[0.2, 0.7, 1.0], [0.3, 0.9, 1.0]]})
    first, second, own = drawn.axes[0].lines
    assert [line.get_ydata()[1] for line in (first, second, own)] == [0.7, 0.9, 0.5]
    assert first.get_color() == second.get_color() != own.get_color()
    legend = drawn.axes[0].get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["untrained twins", "own"]


def test_a_series_named_after_a_long_path_is_folded_in_the_legend() -> None:
    name = f"5-gram of /{'folder/' * 20}stories.jsonl (other data)"
    columns = ([0.5, 0.6], [0.4, 0.5], [0.6, 0.7])
    figure = plots.intervals(["grammar", "plot"], {"model": columns, name: columns})
    _, folded = figure.axes[0].get_legend().get_texts()
    assert folded.get_text().replace("\n", "").replace(" ", "") == name.replace(" ", "")
    assert max(map(len, folded.get_text().splitlines())) <= 60 and figure.axes[0].get_position().width > 0.3
