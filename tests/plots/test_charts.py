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
