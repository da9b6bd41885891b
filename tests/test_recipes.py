"""The recipes that come with tslens: every row of the published tables, at one rate for all widths."""

import math
import tomllib

import pytest

from tslens.models import build
from tslens.train import recipe as recipes
from tslens.train.optimizer import make, set_rate

REPLICATION = ["128x8", "128x12", "256x8x2", "256x8", "256x8x8", "256x12", "512x8", "512x12"]
PAPER = ["64x8", "64x12", "768x8", "1024x1x16", "1024x2x16"]


@pytest.mark.parametrize("name", REPLICATION + PAPER)
def test_a_recipe_is_called_by_its_shape_and_chooses_nothing_else(name, checkout):
    recipe = recipes.load(name)
    spec = recipe.spec(4096)
    assert spec.name == name and (spec.n_ctx, spec.d_vocab) == (512, recipe.data.vocabulary)
    assert recipe.data.source == "roneneldan/TinyStories" and recipe.train.epochs == 1
    chosen = tomllib.loads((checkout / "training" / f"{name}.toml").read_text(encoding="utf-8"))
    assert chosen == {"base": "published", "model": {"shape": name}}


VARIANTS = {
    **{f"contrastive-{width}x8": (f"{width}x8", "contrastive", 0.0) for width in (128, 256, 512)},
    "contrastive-published-128x8": ("128x8", "published-contrastive", 0.0),
    **{f"instruct-{width}x8": (f"{width}x8", "instruct", 0.0) for width in (128, 256, 512)},
    **{f"compressor-{width}x8": (f"{width}x8", "compressor", 0.0) for width in (128, 256, 512)},
    "compressor-published-128x8": ("128x8", "compressor", 0.0),
    **{f"dropout-{share:g}-256x8": ("256x8", "language-modelling", share) for share in (0.0, 0.1, 0.2, 0.4)},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_variants_are_all_there_and_are_what_they_are_called(name):
    recipe = recipes.load(name)
    objective = recipe.to_dict()["objective"]
    called = objective if isinstance(objective, str) else objective["name"]
    assert (recipe.spec(4096).name, called, recipe.train.dropout) == VARIANTS[name]
    assert recipe.data.source.startswith("roneneldan/TinyStories") and recipe.spec(4096).n_ctx == 512


def test_no_recipe_is_there_that_no_table_names():
    assert set(recipes.names()) == {*REPLICATION, *PAPER, *VARIANTS, "demo", "stories2M"}


def test_the_released_shallow_models_have_their_width_and_heads():
    assert [recipes.load(name).spec(4096).d_head for name in ("1024x1x16", "1024x2x16")] == [64, 64]


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_whole(name):
    recipe = recipes.load(name)
    assert recipe.name == name and recipe.spec(recipe.data.vocabulary).n_layers >= 1
    assert recipes.from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize("name", recipes.BASES)
def test_a_base_is_no_recipe(name):
    with pytest.raises(ValueError, match=f"^recipe {name}: there is no model.shape: it is for others to start from"):
        recipes.load(name)


def test_wider_matrices_move_by_the_root_less_and_the_rest_as_before():
    recipe = recipes.load("512x8", {"model.shape": '"512x1"', "model.n_ctx": "8"})
    optimizer = make(build(recipe.spec(16)), recipe.optimizer)
    set_rate(optimizer, recipe.optimizer.lr)
    muon, *others = (group["lr"] for group in optimizer.param_groups)
    assert recipe.optimizer.tuned_width == 128 and muon == pytest.approx(recipe.optimizer.lr / math.sqrt(512 / 128))
    assert others == pytest.approx([recipe.optimizer.lr * recipe.optimizer.adamw_lr_scale] * 2)
