"""`tslens models` and `tslens loss`: broken runs are listed, what is printed is JSON, foreign stories are named."""

import json
from pathlib import Path

import pytest

from tslens import models, runs
from tslens.cli import main
from tslens.cli.delivery import print_json
from tslens.models import Spec
from tslens.stories import stories
from tslens.tokenizer import Tokenizer


@pytest.fixture
def tiny(in_tmp: Path) -> Path:
    """The folder with a small model, `runs/tiny`, that says it was trained on tales.txt."""
    tokenizer = Tokenizer.train(stories("made", limit=20), 300)
    model = models.build(Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=32), tokenizer=tokenizer)
    models.save(model, runs.run_folder("tiny"), {"data": {"source": "tales.txt"}})
    (in_tmp / "tales.txt").write_text("Once there was a cat.\n<|endoftext|>\nTom saw a dog.", encoding="utf-8")
    (in_tmp / "one.txt").write_text("Once there was a cat.\n<|endoftext|>\n", encoding="utf-8")
    return in_tmp


def test_the_loss_of_one_story_is_json_without_an_interval(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loss", "--model", "tiny", "--stories", "one.txt", "--json"]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["intervals"] == {"tokens": [None, None], "text_bytes": [None, None]}
    assert found["nats_per_token"] > 0


def test_no_number_is_null_wherever_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1.5, float("nan"), (float("inf"),)], "b": {"c": -float("inf")}, "d": "NaN é"})
    assert capsys.readouterr().out == '{"a": [1.5, null, [null]], "b": {"c": null}, "d": "NaN é"}\n'


def test_a_run_that_cannot_be_read_is_listed_as_broken(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"bare": "{}", "half": "{", "odd": '{"spec": {"d_modle": 3}}', "new": '{"kind": "x"}'}.items():
        folder = runs.run_folder(name)
        folder.mkdir()
        (folder / runs.CONFIG).write_text(text)
        (folder / runs.WEIGHTS).write_bytes(b"")
    assert main(["models"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert "8x1x2" in lines["tiny"] and "broken" not in lines["tiny"]
    assert "broken: config.json has no 'spec'" in lines["bare"]
    assert all("broken: " in lines[name] for name in ("half", "odd", "new"))
    assert main(["models", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["bare"]["parameters"] is None and rows["tiny"]["parameters"] > 0


def test_a_run_in_front_of_a_bundled_model_is_said(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.run_folder("tiny").rename(runs.run_folder("stories2M"))
    assert main(["models"]) == 0
    assert "a run, in front of the bundled model" in capsys.readouterr().out
    assert main(["train", "16x1x2", "--name", "stories2M", "--overwrite"]) == 2
    assert "comes with tslens" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["loss"], ["analyze", "lens"]])
def test_foreign_stories_are_said(command: list[str], tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--model", "tiny", "--stories", "validation", "--limit", "2"]) == 0
    said = "By its record it was trained on tales.txt, not on made (validation) by that name."
    assert said in capsys.readouterr().err
    assert main([*command, "--model", "tiny", "--stories", "tales.txt"]) == 0
    assert "trained on" not in capsys.readouterr().err
