import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from tslens import plots


def bars() -> Figure:
    return plots.bars(["NOUN", "VERB"], [0.5, 0.2], low=[0.4, 0.1], high=[0.6, 0.3], baseline=0.25)


def texts(figure: Figure) -> list[str]:
    return [element.text or "" for element in ET.fromstring(plots.svg(figure)).iter("{http://www.w3.org/2000/svg}text")]


def test_text_stays_text() -> None:
    words = texts(plots.tiles([["induction", "unresolved"], ["previous token", "induction"]], title="Roles"))
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


class TestSave:
    def test_svg_with_its_table(self, tmp_path: Path) -> None:
        table = pd.DataFrame({"head": [0, 1], "score": [0.123456789, 1]})
        path = plots.save(bars(), tmp_path / "new" / "bars.svg", table)
        assert path.read_text() == plots.svg(bars())
        with (tmp_path / "new" / "bars.csv").open() as file:
            assert next(csv.DictReader(file)) == {"head": "0", "score": "0.123457"}
        assert sorted(p.name for p in path.parent.iterdir()) == ["bars.csv", "bars.svg"]

    def test_png_is_the_same_twice(self, tmp_path: Path) -> None:
        one = plots.save(plots.heatmap([[1, 2]]), tmp_path / "one.png").read_bytes()
        two = plots.save(plots.heatmap([[1, 2]]), tmp_path / "two.png").read_bytes()
        assert one == two and one.startswith(b"\x89PNG")

    def test_a_failed_write_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "a.svg"
        path.write_text("old")
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            plots.save(bars(), path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"saved as \.svg or \.png; got 'a\.gif'"):
        plots.save(bars(), tmp_path / "a.gif")
