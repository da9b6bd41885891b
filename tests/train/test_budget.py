"""Steps and tokens of a recipe: as a run then finds them, and what they are reckoned from."""

import pytest

from tslens.models.fast_tokenizer import to_transformers
from tslens.stories import stories
from tslens.train import recipe as recipes
from tslens.train import session
from tslens.train.budget import FEWEST_ROWS, corpus_size, fitted, named_tokenizer, token_budget, validation_stories
from tslens.train.session import prepare, reopen

SMALL = {"data.vocabulary": "300", "model.n_ctx": "32", "train.batch": "4", "train.precision": '"float32"'}


@pytest.mark.thorough
def test_tokens_are_about_what_a_run_then_finds(in_tmp):
    """The stories are made ones and the numbers behind the estimate are of real ones."""
    recipe = recipes.load("16x1x2", SMALL | {"data.limit": "300", "model.n_ctx": "256", "data.vocabulary": "2048"})
    steps, tokens, origin = token_budget(recipe, 2048)
    run = prepare(recipe, "a")
    assert steps is not None and steps == pytest.approx(run.steps, rel=0.35)
    assert tokens == steps * 4 * 256 and "about" in origin


def test_a_file_is_sized_by_its_bytes_and_its_first_stories(in_tmp):
    texts = list(stories("made", limit=60))
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    data = recipes.load("16x1x2", {"data.source": "tales.txt"}).data
    count, size = corpus_size(data) or (0, 0)
    assert count == pytest.approx(0.95 * 60, rel=0.2) and size == pytest.approx(0.95 * sum(map(len, texts)), rel=0.1)


def test_a_file_holds_no_more_validation_stories_than_its_share(in_tmp):
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=60)), encoding="utf-8")
    wanted = {"data.source": "tales.txt", "train.validation_stories": "100000000"}
    assert 1 <= validation_stories(recipes.load("16x1x2", wanted)) <= 5
    assert validation_stories(recipes.load("16x1x2", wanted | {"train.validation_stories": "1"})) == 1
    assert validation_stories(recipes.load("16x1x2", wanted | {"data.source": "made"})) == 100_000_000


def test_the_tokenizer_of_a_folder_needs_no_model(in_tmp, tokenizer, capsys):
    """Of `save_pretrained`; weights beside it, here broken ones, are not read."""
    to_transformers(tokenizer).save_pretrained("theirs")
    for broken in ("config.json", "model.safetensors"):
        named = named_tokenizer(recipes.load("16x1x2", {"data.tokenizer": "hf:theirs"}).data)
        assert named is not None and named.hash == tokenizer.hash and named.ends == (tokenizer.bos,)
        (in_tmp / "theirs" / broken).write_text("{")
    assert not capsys.readouterr().err


def test_the_hub_is_not_asked():
    known = recipes.load("512x12")
    steps, tokens, _ = token_budget(known, 4096)
    assert steps is not None and tokens is not None and 4e8 < tokens < 8e8
    unknown = recipes.load("16x1x2", {"data.source": "nobody/nothing"})
    steps, tokens, origin = token_budget(unknown, 300)
    assert (steps, tokens) == (None, None) and "not known before it is read" in origin


def test_a_limit_is_kept():
    data = recipes.load("512x12", {"data.limit": "1000"}).data
    count, size = corpus_size(data) or (0, 0)
    assert count == pytest.approx(1000) and size == pytest.approx(1000 * 1_911_420_483 / 2_119_719)


def test_growing_batches_hold_fewer_tokens_by_hand():
    grows = SMALL | {"train.batch": "8", "train.batch_warmup": "6"}
    for steps, quarters in ((1, 1), (5, 1 + 1 + 2 + 2 + 3), (8, 1 + 1 + 2 + 2 + 3 + 3 + 4 + 4)):
        chosen = recipes.load("16x1x2", grows | {"train.steps": str(steps)})
        assert token_budget(chosen, 300)[:2] == (steps, quarters * 2 * 32)
    even, grown = (recipes.load("16x1x2", {**grows, "train.batch_warmup": n}) for n in ("0", "6"))
    (fewer, tokens, _), (more, about, _) = token_budget(even, 300), token_budget(grown, 300)
    assert (more, about) == (fewer + 3, tokens)  # six steps see twelve quarters, as three whole batches do


@pytest.fixture
def tales(in_tmp):
    """A file of 200 stories: of which a context of 32 tokens makes 3 steps of 64 rows."""
    texts = stories("made", limit=200)
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    return {"data.source": "tales.txt", "data.vocabulary": "300", "model.n_ctx": "32", "train.validation_stories": "4"}


def test_a_batch_is_halved_until_there_are_steps_enough(tales):
    wide = recipes.load("64x8", tales)
    assert (wide.train.batch, wide.train.micro_batch) == (64, 16)
    steps, _, _ = token_budget(wide, 300)
    assert steps is not None and steps < 100
    found = fitted(wide).train
    assert found.batch in (8, 16, 32) and found.micro_batch == min(16, found.batch)
    chosen = token_budget(fitted(wide), 300)[0]
    assert chosen is not None and (chosen >= wide.train.fewest_steps or found.batch == FEWEST_ROWS)
    assert fitted(fitted(wide)) == fitted(wide)


def test_a_batch_that_was_chosen_that_suffices_or_that_counts_steps_is_kept(tales):
    for kept in (
        recipes.load("64x8", tales | {"train.batch": "64"}),
        recipes.load("64x8", tales | {"train.fewest_steps": "2"}),
        recipes.load("64x8", tales | {"train.steps": "5"}),
        recipes.load("64x8", tales | {"data.source": "nobody/nothing"}),
        recipes.load("512x12"),
        recipes.load("16x1x2", tales),
    ):
        assert fitted(kept) == kept
    grows = recipes.load("64x8", tales | {"train.batch_warmup": "4", "train.fewest_steps": "100000"})
    assert fitted(grows).train.batch % 4 == 0


def test_a_run_keeps_the_batch_that_it_began_with(tales, in_tmp, capsys):
    recipe = recipes.load("64x8", tales | {"model.shape": "16x1x2"})
    run = prepare(recipe, "few")
    assert run.recipe.train.batch == fitted(recipe).train.batch < 64 == recipe.train.batch
    assert f"train.batch is {run.recipe.train.batch} here, not 64" in capsys.readouterr().err
    (in_tmp / "tales.txt").unlink()
    assert reopen("few").recipe == run.recipe
    assert session.reopen_run(run.folder, recipe=recipe).recipe == run.recipe
