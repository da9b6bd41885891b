"""Tables as text: the columns that a line has room for, small p-values, long texts, rows left out."""

import pandas as pd
import pytest

from tslens.tables import as_text, filled, wide

FRAME = pd.DataFrame(
    {"layer": [0, 1], "role": ["unresolved", "induction"], "q": [1e-9, 0.25], "effect": [0.5, float("nan")]}
)


def test_without_a_limit_every_column_is_there() -> None:
    assert as_text(FRAME).split("\n") == [
        "layer role            q effect",
        "    0 unresolved <0.001  0.500",
        "    1 induction   0.250      –",
    ]


@pytest.mark.parametrize(
    ("columns", "essential", "head", "rest"),
    [
        (40, (), ["layer", "role", "q", "effect"], ""),
        (20, (), ["layer", "role"], "q, effect"),
        (18, ("layer", "q", "effect"), ["layer", "q"], "role, effect"),
        (20, ("effect", "layer", "q"), ["layer", "q", "effect"], "role"),
    ],
)
def test_a_short_line_has_the_essential_columns(
    columns: int, essential: tuple[str, ...], head: list[str], rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = as_text(FRAME, essential).split("\n")
    assert shown[0].split() == head and max(map(len, shown)) <= columns
    assert " ".join(shown[3:]) == (f"More columns with --wide: {rest}." if rest else "")
    with wide(True):
        assert as_text(FRAME, essential).split("\n")[0].split() == list(FRAME)


def test_a_long_text_is_cut_and_a_sentence_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    frame = pd.DataFrame({"layer": [3], "top tokens": ["violets lilies tulips roses daisies"]})
    assert as_text(frame).split("\n")[1] == "    3 violets lilies tulips r…"
    assert filled("one\n" + "seven letters " * 4) == "one\nseven letters seven letters\nseven letters seven letters"


def test_rows_are_left_out_in_the_middle() -> None:
    lines = as_text(pd.DataFrame({"n": range(100)}), rows=4).split("\n")
    assert [line.strip() for line in lines] == ["n", "0", "1", "…", "98", "99"]
