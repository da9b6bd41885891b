"""Tables as text: the columns that a line has room for, small p-values, long texts, rows left out."""

import pandas as pd
import pytest

from tslens.tables import as_text, filled, size_of, wide

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


@pytest.mark.parametrize("name", ["run-of-" + "n" * 66 + "-seed-1", "絵本" * 20 + "🙂"], ids=["long", "wide"])
def test_a_long_name_takes_no_column_away(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "37")
    frame = pd.DataFrame({"model": ["a", name], "part": "mean margin (nats)", "value": [0.5, 0.25]})
    lines = as_text(frame).split("\n")
    assert lines[0].split() == ["model", "part", "value"]
    assert [size_of(line) for line in lines] == [37, 37, 37]
    assert lines[2].endswith("mean margin (nats) 0.250")
    assert lines[2].startswith("run-of…eed-1 " if name.isascii() else "絵本絵本絵 … ")
    with wide(True):
        assert name in as_text(frame)
    monkeypatch.setenv("COLUMNS", "60")  # what is left is for the name
    assert {size_of(line) for line in as_text(frame).split("\n")} == {60}


def test_wide_signs_count_as_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert as_text(pd.DataFrame({"name": ["絵本", "a"], "n": [1, 2]})).split("\n") == ["name n", "絵本 1", "a    2"]
    text = "of " + "絵" * 25 + " and one"
    lines = filled(text).split("\n")
    assert max(map(size_of, lines)) <= 20 and "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_rows_are_left_out_in_the_middle() -> None:
    lines = as_text(pd.DataFrame({"n": range(100)}), rows=4).split("\n")
    assert [line.strip() for line in lines] == ["n", "0", "1", "…", "98", "99"]
