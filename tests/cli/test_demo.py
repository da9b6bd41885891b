"""`tslens demo`: which run it replaces. That it runs as a whole is in tests/test_packaging.py, from the wheel."""

import json
from pathlib import Path

import pytest

from tslens import demo, runs
from tslens.cli import main
from tslens.generate import ENDED, Written
from tslens.train import recipe as recipes


class ReachedError(BaseException):
    """Nothing stood in the way of the training. No `Exception`, which the command line reports as a defect."""


@pytest.fixture
def reached(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run called `demo`; the demo stops where it would begin to write."""

    def train(*_: object, **__: object) -> None:
        raise ReachedError

    monkeypatch.setattr(demo, "train", train)
    folder = runs.run_folder("demo")
    folder.mkdir(parents=True)
    return folder


def test_the_story_shown_is_the_first_that_the_model_ended() -> None:
    cut, whole, other = (Written("", text, 9, why) for text, why in (("a", "length"), ("b", ENDED), ("c", ENDED)))
    assert demo.first_whole([cut, whole, other]) is whole and demo.first_whole([cut, cut]) is cut


def test_only_a_run_by_the_same_recipe_is_replaced_unasked(reached: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 2
    assert "runs/demo is no run by a recipe. To replace it: --overwrite." in capsys.readouterr().err
    (reached / "recipe.json").write_text(json.dumps(recipes.load("demo", {"optimizer.lr": "0.5"}).to_dict()))
    assert main(["demo"]) == 2
    said = capsys.readouterr().err
    assert "optimizer.lr is 0.01 here and 0.5 there" in said and "--name for another" in said
    for again in (["--set", "optimizer.lr=0.5"], ["--overwrite"], ["--name", "another"]):
        with pytest.raises(ReachedError):
            main(["demo", *again])
    (reached / "recipe.json").write_text(json.dumps(recipes.load("demo").to_dict()))
    with pytest.raises(ReachedError):
        main(["demo"])
