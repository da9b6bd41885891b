"""What a recipe costs: counted by hand, estimated near what a run then finds, and nothing written."""

import contextlib
import dataclasses
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tslens import runs
from tslens.models import Spec
from tslens.stories import stories
from tslens.train import recipe as recipes
from tslens.train.estimate import estimate
from tslens.train.objectives.language import LanguageModelling
from tslens.train.session import train

SMALL = {"data.vocabulary": "300", "model.n_ctx": "32", "train.batch": "4", "train.precision": '"float32"'}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """An estimate, made in a folder that stays empty."""
    home = tmp_path_factory.mktemp("empty")
    with contextlib.chdir(home):
        made = estimate(recipes.load("16x1x2", SMALL | {"train.steps": "10"}))
    assert not list(home.iterdir())
    return made


def test_steps_that_were_chosen_are_multiplied_out_and_nothing_is_written(found):
    spec = Spec(16, 1, 2, d_vocab=300, n_ctx=32)
    assert (found.steps, found.tokens) == (10, 10 * 4 * 32)
    assert (
        found.parameters == spec.n_parameters()
        and found.weights_bytes == found.gradient_bytes == 4 * spec.n_parameters()
    )
    assert found.flops_per_token == spec.flops_per_token(training=True)
    assert found.flops == found.flops_per_token * 10 * 4 * 32


def test_adamw_keeps_two_numbers_for_each_parameter_and_muon_one_for_each_of_its_matrices():
    adamw, muon = (
        estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1", "optimizer.method": method}))
        for method in ("adamw", "muon")
    )
    parameters, matrices, tensors = adamw.parameters, 16 * 16 * 4 + 2 * 16 * 64, 20
    assert adamw.optimizer_bytes == 4 * (2 * parameters + tensors)
    assert muon.optimizer_bytes == 4 * (2 * (parameters - matrices) + matrices + tensors - 6)


@pytest.mark.parametrize(
    "more",
    [
        {"objective": "compressor", "model.shape": "16x4x2", "optimizer.method": "adamw"},
        {"objective": "contrastive", "train.batch": "12", "train.batch_warmup": "5", "optimizer.method": "muon"},
    ],
)
def test_what_is_counted_is_what_a_run_then_has(in_tmp, more):
    short = {"data.limit": "300", "train.steps": "7", "train.validate_every": "3", "train.validation_stories": "3"}
    recipe = recipes.load("16x1x2", SMALL | short | more)
    found = estimate(recipe)
    run = train(recipe, "a").run
    records, newest = runs.read_metrics(run.folder), run.folder / "checkpoints/step-000007"
    assert (found.steps, found.tokens) == (run.steps, records[-1]["tokens"])
    assert found.validations == len(records) == 3
    for name, counted in (("optimizer", found.optimizer_bytes), ("model", found.weights_bytes)):
        assert counted == sum(t.nbytes for t in load_file(newest / f"{name}.safetensors").values())


def test_what_is_timed_is_what_a_run_does(monkeypatch):
    """Compiled where the recipe says so, with gradients clipped, and validated on stories."""
    compiled, norms, texts = [], [], []
    clip, validate = torch.nn.utils.clip_grad_norm_, LanguageModelling.validate
    monkeypatch.setattr(torch, "compile", lambda f: lambda *given: compiled.append(len(given[1].tokens)) or f(*given))
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda p, norm: norms.append(norm) or clip(p, norm))
    monkeypatch.setattr(
        LanguageModelling, "validate", lambda self, m, some, **how: texts.extend(some) or validate(self, m, some, **how)
    )
    estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1", "train.compile": "true", "optimizer.clip": "0.25"}))
    assert compiled and set(norms) == {0.25} and texts and set(texts) <= set(stories("made", limit=16))


def test_seconds_in_all_by_hand(found):
    moved = {"tokens": 1000, "tokens_per_second": 10.0, "steps": 20, "optimizer_seconds": 0.5}
    timed = dataclasses.replace(found, **moved, validations=3, validation_seconds=2.0)
    assert timed.seconds == 1000 / 10 + 20 * 0.5 + 3 * 2
    assert dataclasses.replace(timed, steps=None).seconds is None


def test_memory_grows_with_the_rows_that_are_computed_at_a_time():
    few, many = (
        estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1", "train.micro_batch": rows})) for rows in ("1", "4")
    )
    assert 3 * few.saved_bytes < many.saved_bytes + few.weights_bytes and many.saved_bytes <= 4 * few.saved_bytes
    assert (few.rows, many.rows) == (1, 4)


@pytest.mark.parametrize("objective", ["contrastive", "compressor", "instruct"])
def test_every_objective_is_probed(objective):
    source = "made:instruct" if objective == "instruct" else "made"
    more = {"train.steps": "1", "train.batch": "6", "optimizer.method": "muon", "model.n_ctx": "320"}
    found = estimate(recipes.load("16x4x2", SMALL | more | {"objective": objective, "data.source": source}))
    assert found.seconds is not None and found.seconds > 0 and found.saved_bytes > 0


def test_stories_without_instructions_are_refused_as_a_run_would(refused):
    with refused("comes behind instructions"):
        estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1", "objective": "instruct"}))


def test_a_context_longer_than_all_stories_is_refused_before_it_is_timed(in_tmp, refused, monkeypatch):
    Path("tales.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=40)), encoding="utf-8")
    monkeypatch.setattr("tslens.train.estimate._saved", lambda *_: pytest.fail("it was tried"))
    long = SMALL | {"data.source": "tales.txt", "train.steps": "2", "model.n_ctx": "100000"}
    with refused(r"tales.txt has [\d,]+ bytes, so fewer tokens than one row of 100,001. Give more stories or"):
        estimate(recipes.load("16x1x2", long))
    with refused("too many to be timed on a CPU .at most 2e.13.. Give a smaller shape or a shorter context"):
        estimate(recipes.load("16x1x2", long | {"data.source": "made", "model.n_ctx": "1000000"}))


def test_what_takes_long_is_timed_once(monkeypatch):
    calls, compute = [], LanguageModelling.__call__
    monkeypatch.setattr("tslens.train.estimate.PROBE", 0.0)
    monkeypatch.setattr(LanguageModelling, "__call__", lambda self, *given: calls.append(1) or compute(self, *given))
    found = estimate(recipes.load("16x1x2", SMALL | {"train.steps": "1"}))
    assert len(calls) == 2 and found.seconds is not None  # what is saved, and a step; before, eight


def test_threads_are_named(found):
    assert torch.cuda.is_available() or found.measured_on == f"{torch.get_num_threads()} threads"
