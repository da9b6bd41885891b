"""Recipes: inheritance, overrides, and what is refused with its nearest name."""

import pytest

from tslens.models import Spec
from tslens.train import recipe as recipes


def test_a_recipe_takes_the_base_and_changes_what_it_names():
    demo, base = recipes.load("demo"), recipes.load("base", {"model.shape": '"64x2"'})
    assert demo.name == "demo" and demo.optimizer == base.optimizer
    assert demo.data.vocabulary != base.data.vocabulary
    assert demo.spec(2048).d_vocab == 2048


def test_a_shape_is_a_recipe():
    recipe = recipes.load("256x8x8")
    assert recipe.spec(512) == Spec.parse("256x8x8", d_vocab=512, n_ctx=recipe.model["n_ctx"])


def test_overrides_are_typed_as_in_toml():
    recipe = recipes.load("64x2", {"optimizer.lr": "1e-3", "data.source": "tales.txt", "train.steps": "7", "seed": "5"})
    assert recipe.optimizer.lr == 1e-3 and recipe.data.source == "tales.txt"
    assert recipe.train.steps == 7 and recipe.seed == 5


def test_a_recipe_survives_its_own_json():
    recipe = recipes.load("demo")
    assert recipes.from_dict(recipe.to_dict()) == recipe


def test_a_file_inherits_from_a_recipe(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "demo"\n[optimizer]\nlr = 1\n')
    mine = recipes.load(str(file))
    assert mine.name == "mine" and mine.optimizer.lr == 1.0
    assert mine.model == recipes.load("demo").model


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("demoo", {}, "No recipe is called 'demoo'. Did you mean 'demo'"),
        ("missing.toml", {}, "No recipe file"),
        ("64x2", {"optimizer.lrr": "1"}, "unknown key 'optimizer.lrr'. Did you mean 'lr'"),
        ("64x2", {"optimiser.lr": "1"}, "unknown key 'optimiser'. Did you mean 'optimizer'"),
        ("64x2", {"model.d_modle": "1"}, "Did you mean 'd_model'"),
        ("64x2", {"train.steps": '"many"'}, "train.steps is 'many'; it must be int or nothing"),
        ("64x2", {"train.batch": "0"}, "train.batch is 0"),
        ("64x2", {"train.micro_batch": "5"}, "must divide the batch"),
        ("64x2", {"optimizer.lr": "-1"}, "above 0"),
        ("64x2", {"optimizer.schedule": '"cosin"'}, "must be one of cosine, linear, constant"),
        ("base", {}, "no .model.|shape"),
    ],
)
def test_refusals_name_what_was_given_and_what_is_allowed(name, overrides, message):
    with pytest.raises(ValueError, match=message):
        recipes.load(name, overrides).spec(64)


def test_broken_toml_is_named(tmp_path):
    (tmp_path / "x.toml").write_text("[model\n")
    with pytest.raises(ValueError, match="is not TOML"):
        recipes.load(str(tmp_path / "x.toml"))
