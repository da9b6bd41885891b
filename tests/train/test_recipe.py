"""Recipes: inheritance, overrides, and what is refused with its nearest name."""

from dataclasses import FrozenInstanceError, replace

import pytest

from tslens.errors import InputError
from tslens.models import Spec
from tslens.train import old_keys
from tslens.train import recipe as recipes
from tslens.train.objectives.contrastive import PublishedContrastive
from tslens.train.optimizer import RATES
from tslens.train.settings import TrainSettings


def test_a_recipe_takes_the_base_and_changes_what_it_names():
    demo, base = recipes.load("demo"), recipes.load("base", {"model.shape": '"64x2"'})
    assert demo.name == "demo" and demo.train.steps != base.train.steps
    assert demo.optimizer == replace(base.optimizer, schedule="cosine") != base.optimizer
    assert demo.data.vocabulary != base.data.vocabulary
    assert demo.spec(2048).d_vocab == 2048


def test_a_shape_is_a_recipe():
    recipe = recipes.load("256x8x8")
    assert recipe.spec(512) == Spec.parse("256x8x8", d_vocab=512, n_ctx=recipe.model["n_ctx"])


def test_overrides_are_typed_as_in_toml():
    recipe = recipes.load("64x2", {"optimizer.lr": "1e-3", "data.source": "tales.txt", "train.steps": "7", "seed": "5"})
    assert recipe.optimizer.lr == 1e-3 and recipe.data.source == "tales.txt"
    assert recipe.train.steps == 7 and recipe.seed == 5


def test_each_method_has_a_rate_of_its_own():
    assert recipes.load("64x2").optimizer.lr == RATES["muon"]
    assert recipes.load("64x2", {"optimizer.method": "adamw"}).optimizer.lr == RATES["adamw"]
    assert recipes.load("64x2", {"optimizer.method": "adamw", "optimizer.lr": "0.5"}).optimizer.lr == 0.5


def test_a_recipe_survives_its_own_json():
    recipe = recipes.load("demo")
    assert recipes.from_dict(recipe.to_dict()) == recipe


def test_a_file_inherits_from_a_recipe(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "demo"\n[optimizer]\nlr = 1\n')
    mine = recipes.load(str(file))
    assert mine.name == "mine" and mine.optimizer.lr == 1.0
    assert mine.model == recipes.load("demo").model


def test_a_file_finds_its_base_beside_it_and_hides_no_recipe(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/parent.toml").write_text('base = "demo"\n[optimizer]\nlr = 2\n')
    (tmp_path / "mine/child.toml").write_text('base = "parent.toml"\n[train]\nbatch = 3\n')
    (tmp_path / "256x8").write_text("no recipe")
    monkeypatch.chdir(tmp_path)
    child = recipes.load("mine/child.toml")
    assert (child.name, child.optimizer.lr, child.train.batch) == ("child", 2.0, 3)
    assert recipes.load("256x8").model["shape"] == "256x8"


def test_files_that_cannot_be_read_are_refused_by_name(tmp_path):
    (tmp_path / "a.toml").write_text('base = "b.toml"\n')
    (tmp_path / "b.toml").write_text('base = "a.toml"\n')
    (tmp_path / "latin.toml").write_bytes('base = "demo" # caf\u00e9\n'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"^Recipe a inherits from itself\. Give it another base\.$"):
        recipes.load(str(tmp_path / "a.toml"))
    with pytest.raises(ValueError, match=r"^Recipe latin is not UTF-8 \(byte 19\)\. Save it as UTF-8\.$"):
        recipes.load(str(tmp_path / "latin.toml"))


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("demoo", {}, "No recipe is called 'demoo'. Did you mean 'demo'"),
        ("missing.toml", {}, "No recipe file"),
        ("64x2", {"optimizer.lrr": "1"}, "unknown key 'optimizer.lrr'. Did you mean 'lr'"),
        ("64x2", {"optimiser.lr": "1"}, "unknown key 'optimiser'. Did you mean 'optimizer'"),
        ("64x2", {"model.d_modle": "1"}, "Did you mean 'd_model'"),
        ("64x2", {"train.steps": '"many"'}, "train.steps is 'many'; it must be a whole number"),
        ("64x2", {"train.batch": "0"}, "train.batch is 0"),
        ("64x2", {"train.micro_batch": "5"}, "must divide the batch"),
        ("64x2", {"optimizer.lr": "-1"}, "above 0"),
        ("64x2", {"train.lr": "1e-3"}, "unknown key 'train.lr'. Did you mean 'optimizer.lr'"),
        ("64x2", {"lr": "1e-3"}, "unknown key 'lr'. Did you mean 'optimizer.lr'"),
        ("64x2", {"seed": "1" + "0" * 26}, "it must be 0 or more, and below 2"),
        ("64x2", {"optimizer.schedule": '"cosin"'}, "must be one of cosine, linear, constant"),
        ("64x2", {"optimizer.method": "adam"}, "must be one of adamw, muon"),
        ("64x2", {"objective": "foo"}, "objective is 'foo'. Known: language-modelling"),
        ("64x2", {"objective": "3"}, "objective is 3; it must be a name"),
        ("64x2", {"name.x": "3"}, "name.x cannot be set: name is '64x2', not a table"),
        ("64x2", {"train": "3"}, "train must be a table of settings, not 3"),
        ("64x2", {"seed": "abc"}, "seed is 'abc'; it must be a whole number"),
        ("64x2", {"seed": "-1"}, "seed is -1; it must be 0 or more"),
        ("64x2", {"model.shape": "5"}, "model.shape is 5; it must be text"),
        ("64x2", {"model.n_ctx": "abc"}, "model.n_ctx is 'abc'; it must be a whole number"),
        ("64x2", {"model.style": "bert"}, "model.style is 'bert'; it must be one of gpt2, llama"),
        ("64x2", {"model.local_layers": "1"}, "local_layers is 1; it must be a list of whole numbers"),
        ("64x2", {"train.steps": "0"}, "train.steps is 0; it must be at least 1"),
        ("64x2", {"train.steps": "-5"}, "train.steps is -5; it must be at least 1"),
        ("64x2", {"train.steps": "9" * 20}, "train.steps is 9+; it must be at least 1 and at most 1,000,000,000"),
        ("64x2", {"train.epochs": "0"}, "train.epochs is 0; it must be above 0 and at most 1,000,000"),
        ("64x2", {"train.epochs": "inf"}, "train.epochs is inf; it must be above 0 and at most"),
        ("64x2", {"train.epochs": "1e308"}, "train.epochs is 1e.308; it must be above 0 and at most"),
        ("64x2", {"model.KIND": "hooked"}, "unknown key 'model.KIND'"),
        ("64x2", {"train.micro_batch": "0"}, "train.micro_batch is 0"),
        ("64x2", {"train.dropout": "1"}, "train.dropout is 1; it must be 0 or more and below 1"),
        ("64x2", {"train.dropout": "nan"}, "train.dropout is nan"),
        ("64x2", {"train.precision": "float16"}, "precision is 'float16'; it must be auto, float32 or bfloat16"),
        ("64x2", {"optimizer.lr": "nan"}, "lr is nan; it must be a finite number above 0"),
        ("64x2", {"optimizer.clip": "0"}, "clip is 0; it must be a finite number above 0"),
        ("64x2", {"optimizer.clip": "nan"}, "clip is nan"),
        ("64x2", {"optimizer.weight_decay": "-1"}, "weight_decay is -1; it must be a finite number, 0 or more"),
        ("64x2", {"optimizer.beta1": "1"}, "beta1 is 1; it must be 0 or more and below 1"),
        ("64x2", {"optimizer.warmup": "nan"}, "warmup is nan; it must be between 0 and 1"),
        ("64x1001", {}, "^n_layers is over 1,000, more than any model has"),
        ("64x2x7", {}, "^7 heads do not divide a width of 64"),
        ("base", {}, "recipe base: there is no model.shape: it is for others to start from"),
        ("64x2", {"model": "64x2"}, "model is '64x2'; it must be a table: .model., and in it shape"),
    ],
)
def test_refusals_name_what_was_given_and_what_is_allowed(name, overrides, message):
    with pytest.raises(ValueError, match=message):
        recipes.load(name, overrides).spec(64)


def test_broken_toml_is_named(tmp_path):
    (tmp_path / "x.toml").write_text("[model\n")
    with pytest.raises(ValueError, match="is not TOML"):
        recipes.load(str(tmp_path / "x.toml"))


def test_a_table_over_a_number_and_a_base_that_is_no_name_are_refused(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text("base = 3\n")
    with pytest.raises(ValueError, match="base is 3; it must be the name of a recipe"):
        recipes.load(str(file))
    file.write_text('model = 5\nbase = "base"\n')
    with pytest.raises(ValueError, match=r"x.toml: model is 5; it must be a table"):
        recipes.load(str(file))


def test_local_layers_are_a_list():
    spec = recipes.load("64x2", {"model.local_layers": "[1]", "model.window": "8"}).spec(64)
    assert spec.local_layers == (1,) and spec.window == 8


OLD = {
    "name": "a",
    "model": {"n_ctx": 32, "shape": "16x1x2"},
    "objective": {"name": "published contrastive", "alpha": 4.0, "every": 2},
    "data": {"source": "made", "limit": 400, "vocabulary": 300, "tokenizer": None, "filter": "none", "seed": 0},
    "optimizer": {
        "method": "muon",
        "lr": 0.002,
        "rest": 0.5,
        "tuned_width": 128,
        "weight_decay": 0.1,
        "beta1": 0.9,
        "beta2": 0.95,
        "momentum": 0.95,
        "clip": 1.0,
        "warmup": 0.05,
        "schedule": "cosine",
        "decay": 0.3,
        "final": 0.07,
    },
    "train": {
        "epochs": 1.0,
        "steps": 12,
        "batch": 4,
        "batch_warmup": 0,
        "micro_batch": None,
        "dropout": 0.0,
        "precision": "float32",
        "compile": False,
        "validate_every": 6,
        "validation_stories": 4,
        "checkpoint_every": 5,
        "keep": 3,
        "keep_log_spaced": True,
        "on_divergence": "rollback",
        "explode": 2.5,
        "cut": 0.25,
        "rollbacks": 7,
        "log": "",
    },
    "seed": 3,
}
"""A stored recipe, as it was written before its keys were renamed."""


def test_a_stored_recipe_of_an_older_version_says_the_same_by_the_keys_of_today():
    found = recipes.from_dict(OLD)
    assert found.objective == PublishedContrastive(alpha=4.0, group=2)
    assert (found.optimizer.adamw_lr_scale, found.optimizer.min_lr_ratio, found.optimizer.lr) == (0.5, 0.07, 0.002)
    train = found.train
    assert (train.keep_checkpoints, train.divergence_threshold) == (3, 2.5)
    assert (train.rollback_lr_factor, train.max_rollbacks, train.on_divergence) == (0.25, 7, "rollback")
    now = found.to_dict()
    renamed = {old.partition(".")[2]: new.partition(".")[2] for old, new in old_keys.RENAMED.items()}
    for section in ("data", "optimizer", "train"):
        expected = {renamed.get(key, key): value for key, value in OLD[section].items()}
        added = {"fewest_steps": 0} if section == "train" else {}
        kept = {key: value for key, value in expected.items() if (section, key) != ("data", "filter")}
        assert now[section] == kept | added
    assert now["objective"] == {"name": "published-contrastive", "alpha": 4.0, "group": 2}
    assert recipes.from_dict(now) == found


@pytest.mark.parametrize("old", old_keys.RENAMED)
def test_an_old_key_in_a_recipe_is_refused_with_the_new_one(tmp_path, old):
    section, _, key = old.partition(".")
    said = rf"^recipe \S+: {old} is called {old_keys.RENAMED[old]} now\. Write that instead\.$"
    with pytest.raises(InputError, match=said):
        recipes.load("64x2", {old: "1"})
    with pytest.raises(InputError, match=said):
        recipes.changed(recipes.load("64x2"), {old: "1"})
    (tmp_path / "x.toml").write_text(f'base = "contrastive-128x8"\n[{section}]\n{key} = 1\n')
    with pytest.raises(InputError, match=said):
        recipes.load(str(tmp_path / "x.toml"))


def test_settings_refuse_in_one_line_when_they_are_made_or_replaced():
    with pytest.raises(InputError, match=r"^train\.batch is 0; it must be at least 1 and at most"):
        TrainSettings(batch=0)
    with pytest.raises(InputError, match=r"^train\.log is 'paper': there is no 'paper'\."):
        replace(TrainSettings(), log="paper")
    with pytest.raises(InputError, match=r"^seed is True; it must be a whole number\.$"):
        replace(recipes.load("64x2"), seed=True)
    with pytest.raises(FrozenInstanceError):
        TrainSettings().batch = 3
