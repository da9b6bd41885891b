"""What a recipe costs: counted by hand, estimated near what a run then finds, and nothing written."""

import pytest
import torch

from tslens.models import Spec, flops_per_token, n_parameters
from tslens.stories import stories
from tslens.train import recipe as recipes
from tslens.train.estimate import content, estimate, length
from tslens.train.prepare import prepare

SMALL = {"data.vocabulary": "300", "model.n_ctx": "32", "train.batch": "4", "train.precision": '"float32"'}


def test_steps_that_were_chosen_are_multiplied_out_and_nothing_is_written(in_tmp):
    said: list[str] = []
    found = estimate(recipes.load("16x1x2", SMALL | {"train.steps": "10"}), said.append)
    spec = Spec(16, 1, 2, d_vocab=300, n_ctx=32)
    assert (found.steps, found.tokens) == (10, 10 * 4 * 32)
    assert found.parameters == n_parameters(spec) and found.weights_bytes == found.gradient_bytes == 4 * n_parameters(
        spec
    )
    assert found.flops_per_token == flops_per_token(spec, training=True)
    assert found.flops == found.flops_per_token * 10 * 4 * 32
    assert found.tokens_per_second > 0 and found.seconds is not None and found.seconds > 0
    assert said and not list(in_tmp.iterdir())


def test_adamw_keeps_two_numbers_for_each_parameter_and_muon_one_for_each_of_its_matrices():
    adamw, muon = (
        estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1", "optimizer.method": method}))
        for method in ("adamw", "muon")
    )
    parameters, matrices, tensors = adamw.parameters, 16 * 16 * 4 + 2 * 16 * 64, 20
    assert adamw.optimizer_bytes == 4 * (2 * parameters + tensors)
    assert muon.optimizer_bytes == 4 * (2 * (parameters - matrices) + matrices + tensors - 6)


def test_memory_grows_with_the_rows_that_are_computed_at_a_time():
    few, many = (
        estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1", "train.micro_batch": rows})) for rows in ("1", "4")
    )
    assert 3 * few.saved_bytes < many.saved_bytes + few.weights_bytes and many.saved_bytes <= 4 * few.saved_bytes
    assert (few.rows, many.rows) == (1, 4)


def test_tokens_are_about_what_a_run_then_finds(in_tmp):
    """The stories are made ones and the numbers behind the estimate are of real ones."""
    recipe = recipes.load("16x1x2", SMALL | {"data.limit": "300", "model.n_ctx": "256", "data.vocabulary": "2048"})
    steps, tokens, origin = length(recipe, 2048)
    run = prepare(recipe, "a", progress=False)
    assert steps is not None and steps == pytest.approx(run.steps, rel=0.35)
    assert tokens == steps * 4 * 256 and "about" in origin


def test_a_file_is_sized_by_its_bytes_and_its_first_stories(in_tmp):
    texts = list(stories("made", limit=60))
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    data = recipes.load("16x1x2", {"data.source": "tales.txt"}).data
    count, size = content(data) or (0, 0)
    assert count == pytest.approx(0.95 * 60, rel=0.2) and size == pytest.approx(0.95 * sum(map(len, texts)), rel=0.1)


def test_the_hub_is_not_asked():
    known = recipes.load("512x12")
    steps, tokens, _ = length(known, 4096)
    assert steps is not None and tokens is not None and 4e8 < tokens < 8e8
    unknown = recipes.load("16x1x2", {"data.source": "nobody/nothing"})
    assert length(unknown, 300)[:2] == (None, None) and "not known before it is read" in length(unknown, 300)[2]


@pytest.mark.parametrize("objective", ["contrastive", "compressor", "instruct"])
def test_every_objective_is_probed(objective):
    more = {"objective": objective, "train.steps": "1", "train.batch": "6", "optimizer.method": "muon"}
    found = estimate(recipes.load("16x4x2", SMALL | more))
    assert found.seconds is not None and found.seconds > 0 and found.saved_bytes > 0


def test_a_limit_is_kept():
    data = recipes.load("512x12", {"data.limit": "1000"}).data
    count, size = content(data) or (0, 0)
    assert count == pytest.approx(1000) and size == pytest.approx(1000 * 1_911_420_483 / 2_119_719)


def test_threads_are_named():
    found = estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1"}))
    assert torch.cuda.is_available() or found.measured_on == f"{torch.get_num_threads()} threads"
