"""The train command: a run goes on, says that it is finished, and takes any path."""

import json
import re
import subprocess
import sys

import pytest

from tslens.cli import main
from tslens.cli.train import train
from tslens.models import Spec
from tslens.stories import stories

SMALL = ["data.vocabulary=300", "train.steps=2", "model.n_ctx=32", "train.batch=2", "train.validation_stories=2"]


def test_a_path_with_quotes_and_a_finished_run_that_is_resumed(in_tmp, capsys):
    path = 'my "best" \\tales.txt'
    (in_tmp / path).write_text("\n<|endoftext|>\n".join(stories("made", limit=120)), encoding="utf-8")
    train("16x1x2", data=path, name="a", set_=SMALL)
    train(resume="a")
    assert capsys.readouterr().out.count("finished 2 steps, saved runs/a") == 2


@pytest.mark.parametrize("more", [{"data": "made"}, {"name": "b"}, {"overwrite": True}])
def test_a_run_goes_on_as_it_was_chosen(more):
    with pytest.raises(ValueError, match=r"a setting of a recipe|leave out --name, --overwrite"):
        train(resume="a", **more)


def test_a_run_is_not_gone_on_with_by_another_recipe(in_tmp, capsys):
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=120)), encoding="utf-8")
    train("16x1x2", data="tales.txt", name="a", set_=SMALL)
    train("16x1x2", data="tales.txt", resume="a", set_=SMALL)
    (in_tmp / "tales.txt").unlink()  # what the run needs of it is in its folder
    train(
        "16x1x2",
        data="tales.txt",
        resume="a",
        set_=[*SMALL, "train.on_divergence=rollback", "train.rollback_lr_factor=0.1"],
    )
    kept = json.loads((in_tmp / "runs/a/recipe.json").read_text())["train"]
    assert (kept["on_divergence"], kept["rollback_lr_factor"]) == ("rollback", 0.1)
    train(resume="a")
    assert capsys.readouterr().out.count("finished 2 steps, saved runs/a") == 4
    with pytest.raises(ValueError, match=r'another recipe: data\.source is "made" here and "tales\.txt" in the run'):
        train("16x1x2", data="made", resume="a", set_=SMALL)
    with pytest.raises(ValueError) as said:
        train("16x1x4", data="made", resume="a", set_=[*SMALL, "optimizer.lr=0.5", "seed=3", "train.batch=4"])
    text = str(said.value)
    assert text.startswith("runs/a was started with another recipe: ")
    assert 'model.shape is "16x1x4" here and "16x1x2" in the run' in text and "and 2 more" in text
    assert text.endswith("or train again under another --name.") and "\n" not in text


def test_two_processes_do_not_write_one_run(in_tmp, capsys, monkeypatch):
    """The second is refused before it reads anything, whether it begins, replaces or goes on."""
    holder = "import sys; from pathlib import Path; from tslens import lock\nwith lock.held(Path('runs/a')): "
    command = [sys.executable, "-c", holder + "print('held', flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        for arguments in (["16x1x2", "--name", "a"], ["16x1x2", "--name", "a", "--overwrite"], ["--resume", "a"]):
            assert main(["train", *arguments]) == 2
            assert f"tslens: runs/a is being written by process {other.pid} on" in capsys.readouterr().err
        other.communicate()
    assert list(in_tmp.iterdir()) == []


def test_a_logger_that_is_not_there_is_said_first(in_tmp):
    with pytest.raises(ValueError, match="there is no 'mlflow'"):
        train("16x1x2", set_=SMALL, log="mlflow")
    assert not list(in_tmp.iterdir())


def test_recipes_are_listed_in_one_table(capsys):
    train(list_=True)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "shape", "parameters", "objective", "data", "tokens"]
    assert any(row.split()[:2] == ["512x12", "512x12"] for row in rows) and not any(
        row.startswith("base") for row in rows
    )
    train(list_=True, json_=True)
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert found["512x12"]["parameters"] == Spec.parse("512x12", d_vocab=4096, n_ctx=512).n_parameters()


def test_a_dry_run_says_what_it_would_take_and_writes_nothing(in_tmp, capsys, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    train("16x1x2", set_=SMALL, dry_run=True)
    shown = capsys.readouterr().out
    assert [
        line.split()[0] for line in shown.splitlines()
    ] == "recipe parameters FLOPs memory tokens speed time".split()
    assert "128 in 2 steps" in shown and "of it for 1 validation;" in shown
    assert re.search(r"\nspeed +[\d,]+ to [\d,]+ tokens/s, and ", shown)
    train("16x1x2", set_=SMALL, dry_run=True, json_=True)
    found = json.loads(capsys.readouterr().out)
    assert found["tokens"] == 2 * 2 * 32 and 0 < found["seconds"] <= found["slowest_seconds"]
    monkeypatch.setattr("os.getloadavg", lambda: (999.0, 0.0, 0.0))
    train("16x1x2", set_=SMALL, dry_run=True)
    assert "busy         load average" in capsys.readouterr().out
    assert not list(in_tmp.iterdir())


def test_the_stories_are_named_before_they_are_packed(in_tmp, capsys):
    train("16x1x2", set_=SMALL, name="named")
    assert capsys.readouterr().err.startswith("stories: made\n")


def test_json_is_of_a_list_or_a_dry_run():
    with pytest.raises(ValueError, match="--json goes with --list or --dry-run"):
        train("16x1x2", json_=True)
    with pytest.raises(ValueError, match="--dry-run"):
        train(resume="a", dry_run=True)
