"""The train command: a run goes on, says that it is finished, and takes any path."""

import json

import pytest

from tslens.cli.train import train
from tslens.models import Spec, n_parameters
from tslens.stories import stories

SMALL = ["data.vocabulary=300", "train.steps=2", "model.n_ctx=32", "train.batch=2", "train.validation_stories=2"]


def test_a_path_with_quotes_and_a_finished_run_that_is_resumed(in_tmp, capsys):
    path = 'my "best" \\tales.txt'
    (in_tmp / path).write_text("\n<|endoftext|>\n".join(stories("made", limit=120)), encoding="utf-8")
    train("16x1x2", data=path, name="a", set_=SMALL)
    train(resume="a")
    assert capsys.readouterr().out.count("finished 2 steps, saved runs/a") == 2


@pytest.mark.parametrize("more", [{"data": "made"}, {"name": "b"}, {"set_": ["seed=1"]}, {"overwrite": True}])
def test_a_run_goes_on_as_it_was_chosen(more):
    with pytest.raises(ValueError, match="leave out --data, --name, --set, --overwrite"):
        train(resume="a", **more)


def test_recipes_are_listed_in_one_table(capsys):
    train(list_=True)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "shape", "parameters", "objective", "data", "tokens"]
    assert any(row.split()[:2] == ["512x12", "512x12"] for row in rows) and not any(
        row.startswith("base") for row in rows
    )
    train(list_=True, json_=True)
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert found["512x12"]["parameters"] == n_parameters(Spec.parse("512x12", d_vocab=4096, n_ctx=512))


def test_a_dry_run_says_what_it_would_take_and_writes_nothing(in_tmp, capsys):
    train("16x1x2", set_=SMALL, dry_run=True)
    shown = capsys.readouterr().out
    assert [
        line.split()[0] for line in shown.splitlines()
    ] == "recipe parameters FLOPs memory tokens speed time".split()
    train("16x1x2", set_=SMALL, dry_run=True, json_=True)
    assert json.loads(capsys.readouterr().out)["tokens"] == 2 * 2 * 32
    assert not list(in_tmp.iterdir())


def test_json_is_of_a_list_or_a_dry_run():
    with pytest.raises(ValueError, match="--json goes with --list or --dry-run"):
        train("16x1x2", json_=True)
    with pytest.raises(ValueError, match="--dry-run"):
        train(resume="a", dry_run=True)
