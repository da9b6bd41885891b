"""What counts as a fault of a case's end."""

from pathlib import Path

import pytest

from tests.fuzz.running import Report, fault


@pytest.mark.parametrize(
    "said",
    [
        *("nan nats per token.", "5.1 nats per token (-inf to 5.2)", "depth 0 inf\n", "nan%", "loss=nan", "5 ± inf"),
        *('{"loss": NaN}', "[-Infinity, 1]", "loss:nan", "nan±nan"),
    ],
)
def test_a_number_that_is_none_is_no_answer(said: str, tmp_path: Path) -> None:
    assert fault(Report(0, said, ""), tmp_path).startswith("a number that is none")


@pytest.mark.parametrize(
    "said",
    ["The infant's nanny: 5.1 nats (4.9 to 5.2).", "runs/nan/log", "'nan'", '"inf"', "a-nan-b", "nan.html.tmp/nan"],
)
def test_a_word_is_no_number(said: str, tmp_path: Path) -> None:
    assert not fault(Report(0, said, ""), tmp_path)


def test_a_name_that_was_given_is_no_number(tmp_path: Path) -> None:
    table = Report(0, "inf  0.3 -1.4 2.1", "")
    assert not fault(table, tmp_path, names="p,a,inf,a\n")
    assert fault(table, tmp_path, names="p,a,nan,a\n") == "a number that is none: 'inf'"
    assert fault(Report(0, "inf  nan -1.4 2.1", ""), tmp_path, names="p,a,inf,a\n") == "a number that is none: 'nan'"


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("r.json", '{"loss": NaN}', True), ("r.json", '{"loss": "NaN"}', False), ("r.jsonl", "{}\n[Infinity]\n", True),
        ("r.csv", "a,b\n1,nan\n", True), ("r.csv", "a,b\n1,nanny\n", False), ("r.html", "<p>nan bits per byte</p>", True),
        ("r.html", "<style>nan</style><script>isNaN(NaN)</script><p title='nan'>an</p>", False),
        ("r.html", '<script type="application/json" id="x">[NaN]</script>', True), ("r.txt", "nan", False),
        ("result.json", '{"low": NaN}', False),
    ],
)  # fmt: skip
def test_a_file_that_was_written_holds_numbers(name: str, text: str, number: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert fault(Report(0, "written", ""), tmp_path).startswith("a number that is none") is number
    assert not fault(Report(0, "written", "", began=(tmp_path / name).stat().st_mtime + 1), tmp_path)


@pytest.mark.parametrize(
    ("report", "stop"),
    [
        (Report(0, "", ""), 0.0), (Report(130, "", "", seconds=50), 2.0), (Report(130, "", "", seconds=1), 0.0),
        (Report(0, "done", "", seconds=50), 2.0), (Report(0, "Traceback (most recent call last)", ""), 0.0),
        (Report(0, "thread 'main' panicked at", ""), 0.0), (Report(2, "", ""), 0.0), (Report(1, "", "tslens: a line of words"), 0.0),
    ],
)  # fmt: skip
def test_what_a_command_must_not_end_with(report: Report, stop: float, tmp_path: Path) -> None:
    assert fault(report, tmp_path, stop=stop)


@pytest.mark.parametrize(
    ("report", "stop"),
    [
        (Report(130, "", "", seconds=11), 2.0),
        (Report(0, "done", ""), 0.0),
        (Report(2, "", "tslens: a line of words\n"), 0.0),
    ],
)
def test_what_a_command_may_end_with(report: Report, stop: float, tmp_path: Path) -> None:
    assert not fault(report, tmp_path, stop=stop)
