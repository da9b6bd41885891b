"""At 80 columns no line of a command's output is longer, and --wide prints every column."""

import json
from pathlib import Path

import pytest

from tslens import cli

FEW = ("--model", "stories2M", "--stories", "made", "--limit", "4")
COMMANDS = {
    "heads": ("analyze", "heads", *FEW),
    "ablations": ("analyze", "heads", *FEW, "--ablate"),
    "neurons": ("analyze", "neurons", *FEW, "--test", "--classes"),
    "lens": ("analyze", "lens", *FEW),
    "attribution": ("analyze", "attribution", *FEW),
    "residuals": ("analyze", "residuals", *FEW),
    "models": ("models",),
    "loss": ("loss", *FEW),
    "facts": ("eval", "facts", "--model", "stories2M", "--completions", "0"),
    "pairs": ("eval", "pairs", "--model", "stories2M", "--limit", "4", "--n-gram", "none"),
    "card": ("eval", "card", "--model", "stories2M", "--limit", "0", "--pairs", "4", "--n-gram", "none"),
    "suites": ("eval", "--list"),
    "audit": ("stories", "audit", "made", "--limit", "40"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_terminal(
    name: str, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(COMMANDS[name]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line for line in lines if len(line) > 80] == []


def test_wide_prints_every_column(in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["analyze", "heads", *FEW, "--wide"]) == 0
    printed = capsys.readouterr().out
    assert "induction_random" in printed.split("\n")[2] and "--wide" not in printed
    assert printed.startswith(
        ("None of the 16 heads", "1 of 16 heads has", *(f"{n} of 16 heads have" for n in range(17)))
    )


def test_an_unresolved_head_shows_what_it_is_nearest_to(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "heads", *FEW[:-1], "12"]) == 0
    rows = [line for line in capsys.readouterr().out.split("\n") if "unresolved (" in line]
    assert rows
    for row in rows:
        effect, low, high = row.partition(")")[2].split()[:3]
        assert float(low) <= float(effect) <= float(high)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layer", "4"], "--layer is 4; layers run from 0 to 3."),
        (["--label", "nuon"], "Did you mean 'NOUN'?"),
        (["--word", "brontosaurus"], "--word is 'brontosaurus', which is no token of this model"),
    ],
)
def test_a_choice_that_no_neuron_can_meet_is_refused(
    words: list[str], said: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["analyze", "neurons", *FEW, *words]) == 2
    assert said in capsys.readouterr().err


def test_the_neurons_of_a_word_are_printed_and_counted(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "neurons", *FEW, "--word", "The", "--layer", "1"]) == 0
    lines = capsys.readouterr().out.split("\n")
    n, said = lines[0].split(" of 3,072 MLP neurons of stories2M are of the kind asked for; ")
    rows = [line.split() for line in lines[2:] if line.split()[:1] == ["1"]]
    assert 0 < len(rows) == min(int(n), 20) and " of them prefer a part of speech, and " in said
    assert all(any(word.lower().startswith("the") for word in row) for row in rows)


def test_generated_stories_come_with_their_settings_and_their_end(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["generate", "--model", "stories2M", "--prompt", "Tom", "--n", "2", "--max-new-tokens", "4", "--seed", "7"]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 2
    for one in found:
        assert one["text"].startswith("Tom") and (one["prompt"], one["seed"], one["model"]) == ("Tom", 7, "stories2M")
        assert one["ended"] == ("most new tokens" if one["tokens"] == 4 else "end of story")
