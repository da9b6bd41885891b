"""`tslens models` and `tslens loss`: broken runs are listed, what is printed is JSON, foreign stories are named."""

import json
from pathlib import Path

import pytest

from tslens import files, models, runs
from tslens.cli import main
from tslens.cli.delivery import print_json
from tslens.models import Spec
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.train import validation_stories


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
    whole = {"bare": {}, "odd": {"spec": {"d_modle": 3}}, "new": {"kind": "x", "spec": {}}, "wrong": {"tokens": "x"}}
    texts = {name: json.dumps(runs._vouched({"format": 1, **config})) for name, config in whole.items()}
    texts |= {"half": "{", "list": "[1]", "old": '{"spec": {"d_model": 3}}', "binary": "\0"}
    for name, text in texts.items():
        folder = runs.run_folder(name)
        folder.mkdir()
        (folder / runs.CONFIG).write_text(text)
        (folder / runs.WEIGHTS).write_bytes(b"")
    (runs.run_folder("binary") / runs.CONFIG).write_bytes(b"\xff\xfe")
    assert main(["models"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert "8x1x2" in lines["tiny"] and "broken" not in lines["tiny"]
    assert "broken: config.json has no 'spec'" in lines["bare"]
    assert all("broken: " in lines[name] for name in texts)
    assert main(["models", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["bare"]["parameters"] is None and rows["tiny"]["parameters"] > 0


@pytest.mark.parametrize("command", ["models", "runs"])
def test_a_defect_while_listing_is_not_a_broken_run(
    command: str, tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(*_: object) -> None:
        raise TypeError("a defect of ours")

    (runs.run_folder("tiny") / "recipe.json").write_text("{}")
    assert main([command]) == 0
    assert ("broken" in capsys.readouterr().out) == (command == "runs")
    monkeypatch.setattr(*((runs, "read_config") if command == "models" else (files, "read_json")), defect)
    assert main([command]) == 1
    error = capsys.readouterr().err
    assert "TypeError: a defect of ours" in error and "this is a defect of tslens" in error


def test_a_run_in_front_of_a_bundled_model_is_said(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.run_folder("tiny").rename(runs.run_folder("stories2M"))
    assert main(["models"]) == 0
    assert "a run, in front of the bundled model" in capsys.readouterr().out
    assert main(["train", "16x1x2", "--name", "stories2M", "--overwrite"]) == 2
    assert "is a model of tslens" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["loss"], ["analyze", "lens"]])
def test_how_stories_relate_to_the_training_is_said(
    command: list[str], tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {
        "made@validation": "By its record it was trained on tales.txt, not on made (validation) by that name.",
        "tales.txt": "By its record it was trained on stories of tales.txt; those kept from training are "
        "tales.txt@validation.",
    }
    for source, sentence in said.items():
        assert main([*command, "--model", "tiny", "--stories", source, "--limit", "2"]) == 0
        first = capsys.readouterr().err.splitlines()[0]
        assert first.startswith("reading 2 stories: ") and first.endswith(sentence)


def test_loss_reads_what_the_run_kept_and_asks_where_it_kept_none(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["loss", "--model", "tiny"]) == 2
    err = capsys.readouterr().err
    assert "tiny keeps no validation stories" in err and "--stories" in err and "entropy" in err
    validation_stories.write(tiny / "runs/tiny/data/validation.jsonl", ["Once there was a cat.", "Tom saw a dog."])
    assert main(["loss", "--model", "tiny", "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["corpus"] == "2 stories: validation stories that tiny kept (of tales.txt)."
    assert main(["loss", "--model", "tiny", "--stories", "tales.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nats_per_token"] == own["nats_per_token"]
