"""Counts of twins that come with the bundled model stand beside labels that are asked for without twins."""

import pytest

from tslens import cli


@pytest.mark.parametrize(("question", "label"), [("heads", "4 heads with a role"), ("neurons", "one-word neurons")])
def test_kept_twins_stand_beside_labels(question: str, label: str, in_tmp, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    assert cli.main(["analyze", question, "--model", "stories2M", "--limit", "100"]) == 0
    printed = capsys.readouterr().out
    assert label in printed and "twins: 0; p = 0.05" in printed


def test_labels_by_another_rule_have_none(in_tmp, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    command = ["analyze", "neurons", "--model", "stories2M", "--limit", "100", "--sample", "900"]
    assert cli.main(command) == 0
    assert "p = 0.05" not in capsys.readouterr().out
