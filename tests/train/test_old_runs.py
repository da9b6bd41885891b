"""A run that was stored under the keys of an older version goes on as it was chosen, bit for bit."""

import json
import shutil
from pathlib import Path
from typing import Any

from tslens import demo, files, models, runs
from tslens.cli import main
from tslens.train import old_keys
from tslens.train import recipe as recipes

SMALL = (
    *("data.limit=200", "data.vocabulary=300", "data.source=made", "model.n_ctx=32", "train.batch=4", "train.steps=6"),
    *("train.validate_every=3", "train.checkpoint_every=4", "train.validation_stories=3", "train.precision=float32"),
    *("optimizer.adamw_lr_scale=0.5", "optimizer.min_lr_ratio=0.2", "train.keep_checkpoints=2"),
    *("train.on_divergence=rollback", "train.rollback_lr_factor=0.25", "train.divergence_threshold=9"),
)


def as_once(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe as older versions wrote it."""
    old = {new: key.partition(".")[2] for key, new in old_keys.RENAMED.items()}
    named = {"objective": {"name": recipe["objective"]["name"].replace("-", " ")}}
    return {
        section: {old.get(f"{section}.{key}", key): value for key, value in table.items()}
        | ({"filter": "none"} if section == "data" else {})
        if isinstance(table, dict)
        else table
        for section, table in (recipe | named).items()
    }


def test_an_old_run_goes_on_as_it_was_chosen(in_tmp: Path) -> None:
    assert main(["train", "16x1x2", "--name", "whole", *(f"--set={setting}" for setting in SMALL)]) == 0
    whole, cut = runs.run_folder("whole"), runs.run_folder("cut")
    shutil.copytree(whole, cut)
    for file in (runs.CONFIG, runs.WEIGHTS):
        (cut / file).unlink()
    newest, older = runs.steps(cut / "checkpoints")
    assert (runs.step_of(newest), runs.step_of(older)) == (6, 4)
    shutil.rmtree(newest)
    recipe = as_once(json.loads((cut / "recipe.json").read_text()))
    assert {"cut", "explode", "keep", "rollbacks"} <= recipe["train"].keys() and "rest" in recipe["optimizer"]
    files.write_json(cut / "recipe.json", recipe)
    runs.change_config(older, {"recipe": recipe})
    assert main(["train", "--resume", "cut"]) == 0
    assert (whole / runs.WEIGHTS).read_bytes() == (cut / runs.WEIGHTS).read_bytes()
    ours, theirs = (runs.read_config(folder)["recipe"] for folder in (whole, cut))
    assert theirs == ours


def test_a_demo_by_the_same_recipe_under_old_keys_is_replaced(in_tmp: Path, refused: Any) -> None:
    recipe = recipes.load("demo")
    folder = runs.run_folder("demo")
    folder.mkdir(parents=True)
    files.write_json(folder / "recipe.json", as_once(recipe.to_dict()))
    demo._check_replaceable(recipe, folder, overwrite=False)
    files.write_json(folder / "recipe.json", as_once(recipe.to_dict()) | {"seed": 7})
    with refused("a run by another recipe: seed is"):
        demo._check_replaceable(recipe, folder, overwrite=False)


def test_the_bundled_model_keeps_its_config_and_is_read_by_todays_keys() -> None:
    config = runs.read_config(models.bundled()["stories2M"])  # refuses another hash
    assert {"rest", "final"} <= config["recipe"]["optimizer"].keys() and "keep" in config["recipe"]["train"]
    found = recipes.from_dict(config["recipe"])
    assert (found.optimizer.min_lr_ratio, found.train.keep_checkpoints, found.train.max_rollbacks) == (0.05, 1, 3)
    assert found.to_dict()["objective"] == {"name": "language-modelling"}
