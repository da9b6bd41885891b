"""The recipes that come with tslens: every row of the published tables, at one rate for all widths."""

import math
import tomllib

import pytest

from tslens import models, runs
from tslens.models import build
from tslens.stories import stories
from tslens.stories.pack import pack
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes
from tslens.train.optimizer import learning_rate, make, set_rate
from tslens.train.validation_stories import digest

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
    "instruct-ood-128x8": ("128x8", "instruct", 0.0),
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
def test_every_recipe_comes_back_from_its_record(name):
    recipe = recipes.load(name)
    assert recipes.from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize("name", recipes.BASES)
def test_a_base_is_no_recipe(name):
    with pytest.raises(ValueError, match=f"^recipe {name}: there is no model.shape: it is for others to start from"):
        recipes.load(name)


@pytest.mark.thorough
def test_wider_matrices_move_by_the_root_less_and_the_rest_as_before():
    recipe = recipes.load("512x8", {"model.shape": '"512x1"', "model.n_ctx": "8"})
    optimizer = make(build(recipe.spec(16)), recipe.optimizer)
    set_rate(optimizer, recipe.optimizer.lr)
    muon, *others = (group["lr"] for group in optimizer.param_groups)
    assert recipe.optimizer.tuned_width == 128 and muon == pytest.approx(recipe.optimizer.lr / math.sqrt(512 / 128))
    assert others == pytest.approx([recipe.optimizer.lr * recipe.optimizer.adamw_lr_scale] * 2)


def test_the_bundled_models_recipe_config_and_card_say_the_same(checkout):
    """Every setting of the recipe is that of the record, but for what names the stories and for epochs, which `steps`
    replaces; every number of the card's training is that of recipe and record."""
    home = models.bundled()["stories2M"]
    config, recipe = runs.read_config(home), recipes.load("stories2M")
    was, now = recipes.from_dict(config["recipe"]).to_dict(), recipe.to_dict()
    assert was["data"].pop("source") != now["data"].pop("source") == "roneneldan/TinyStories"
    assert (was["train"].pop("epochs"), now["train"].pop("epochs")) == (8.0, 1.0)
    assert was == now
    assert config["spec"] == recipe.spec(config["spec"]["d_vocab"]).to_dict()
    train, data = recipe.train, config["data"]
    assert (config["step"], config["steps"]) == (train.steps, train.steps)
    assert config["tokens"] == train.steps * train.batch * config["spec"]["n_ctx"]

    records = runs.read_metrics(home)
    for record in records:
        assert record["learning_rate"] == learning_rate(recipe.optimizer, record["step"] - 1, train.steps)
        assert record["tokens"] == record["step"] * train.batch * config["spec"]["n_ctx"]
    assert [record["step"] for record in records] == [*range(515, 5151, 515), 5151]

    card = " ".join((home / "README.md").read_text(encoding="utf-8").split())
    stated = [
        f"{data['training_stories']:,} TinyStories",
        f"{data['training_tokens'] / 1e6:.2f} million tokens, {data['training_bytes'] / 1e6:.1f} MB",
        f"{data['validation_stories']} further stories",
        f"{data['training_stories'] + data['validation_stories']:,} in all",
        f"{data['longer_than_context']:,} stories are longer than the context",
        f"{train.steps:,} steps of {train.batch} rows of {config['spec']['n_ctx']} tokens",
        f"{config['tokens'] / 1e6:.1f} million tokens, {config['tokens'] / data['tokens_per_epoch']:.1f} epochs",
        f"Muon, peak rate {recipe.optimizer.lr:.0e}, cosine to {recipe.optimizer.min_lr_ratio:.0%}".replace(
            "e-0", "e-"
        ),
        f"the first {train.validation_stories} held-out stories",
        f"vocabulary {recipe.data.vocabulary:,}, context {config['spec']['n_ctx']}",
        f"{config['validation_loss']:.3f} nats per token",
        f"{config['bits_per_byte']:.3f} bits per byte",
        f"The loss in training, {records[-1]['train_loss']:.2f}".lower(),
    ]
    assert [words for words in stated if words not in card] == []
    assert (recipe.optimizer.method, recipe.optimizer.schedule) == ("muon", "cosine")


@pytest.mark.thorough
def test_the_bundled_models_stories_and_tokenizer_are_made_anew_by_its_recipe(shared, tmp_path):
    """The hash of the tokenizer and the digests of what is packed and validated on are those of the record."""
    config = runs.read_config(models.bundled()["stories2M"])
    files = ("tinystories-v1.txt", "tinystories-v2.jsonl", "tinystories-more.csv")
    source = ",".join(str(shared / "data/stories" / file) for file in files)
    training, held_out = list(stories(source, split="train")), list(stories(source, split="validation"))
    tokenizer = Tokenizer.train(training, config["spec"]["d_vocab"])
    assert tokenizer.hash == config["tokenizer"]
    packed, data = pack(training, tokenizer, tmp_path / "packed", source=source), config["data"]
    assert packed.record.digest == data["digests"]["."]
    assert (packed.n_stories, packed.n_tokens, packed.n_bytes) == (
        data["training_stories"],
        data["training_tokens"],
        data["training_bytes"],
    )
    assert len(held_out) == data["validation_stories"]
    first = recipes.load("stories2M").train.validation_stories
    assert digest(held_out[:first]) == data["digests"]["validation"]
