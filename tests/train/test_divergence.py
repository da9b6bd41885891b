"""A loss that leaves where it was: what counts, and that the run stops or goes back, never on."""

import math
import re

import pytest
import torch

from tslens import files, runs
from tslens.train import divergence, saving, session
from tslens.train import recipe as recipes
from tslens.train.meter import Meter
from tslens.train.objectives.language import LanguageModelling
from tslens.train.session import prepare, reopen

SMALL = {
    "data.limit": "300",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "2",
    "train.steps": "12",
    "train.validate_every": "2",
    "train.checkpoint_every": "4",
    "train.validation_stories": "2",
    "train.precision": '"float32"',
    "train.divergence_threshold": "2.5",
}


def run_of(name, **more):
    return prepare(recipes.load("16x1x2", SMALL | more), name)


def train_of(name, **more):
    return session.train(recipes.load("16x1x2", SMALL | more), name)


@pytest.mark.parametrize(
    ("loss", "norm", "before", "said"),
    [
        (3.0, 1.0, [], None),
        (9.0, 1.0, [], None),
        (math.nan, 1.0, [], "loss was nan"),
        (math.inf, 1.0, [3.0], "loss was inf"),
        (3.0, math.inf, [3.0], "gradient's norm was inf"),
        (5.9, 1.0, [9.0, 3.0, 3.0], None),
        (6.1, 1.0, [9.0, 3.0, 3.0], r"loss was 6\.100, .*divergence_threshold = 3 nats above the usual 3\.000"),
        (6.1, 1.0, [3.0] * 30 + [6.0] * 20, None),  # only the last twenty say what is usual
    ],
)
def test_what_counts_as_divergence(loss, norm, before, said):
    found = divergence.reason(loss, norm, before, 3.0)
    assert divergence.reason(loss, norm, before, 3.0, chance=20.0) == found
    if "divergence_threshold" in str(said):
        assert divergence.reason(loss, norm, before, 0.0) is None
    assert found is None if said is None else re.search(said, str(found))


def test_a_first_record_worse_than_chance_is_divergence():
    assert divergence.reason(8.0, 1.0, [], 3.0, chance=5.7) is None
    assert "3 nats above the 5.700 of chance" in str(divergence.reason(8.8, 1.0, [], 3.0, chance=5.7))
    assert "of chance" in str(divergence.reason(54.2, 1.0, [66.6], 3.0, chance=5.7))


@pytest.fixture
def bomb(monkeypatch):
    """An objective that goes wrong at its call of some number, and at so many."""
    real, calls = LanguageModelling.__call__, []

    def set_up(at, how, *, times=1):
        def call(self, model, batch, dtype, dropout=0.0):
            total, parts = real(self, model, batch, dtype, dropout)
            calls.append(1)
            return (how(model, total) if at <= len(calls) < at + times else total), parts

        monkeypatch.setattr(LanguageModelling, "__call__", call)

    return set_up


def nan(model, total):
    return total * float("nan")


def explode(model, total):
    return total + 1000 * total.detach()


def poison(model, total):
    """A good loss over weights that have just gone bad."""
    with torch.no_grad():
        model.blocks[0].mlp.b_out[0] = float("inf")
    return total


@pytest.mark.parametrize(
    ("how", "said"),
    [(nan, "loss was nan"), (explode, "more than train.divergence_threshold"), (poison, r"loss was|not finite")],
)
def test_a_run_that_diverges_stops_and_keeps_its_last_good_checkpoint(in_tmp, bomb, how, said):
    bomb(6, how)
    with pytest.raises(ValueError, match=rf"{said}.*at step 6\..*--resume bad --set train\.on_divergence=roll"):
        train_of("bad")
    assert not (in_tmp / "runs/bad/config.json").exists()
    (kept,) = runs.steps(in_tmp / "runs/bad/checkpoints")
    assert all(t.isfinite().all() for t in runs.read(kept)[1].values()) and kept.name == "step-000004"
    assert [r["step"] for r in runs.read_metrics(in_tmp / "runs/bad")] == [2, 4]


def test_weights_that_are_not_finite_are_never_written(in_tmp):
    run = run_of("bad")
    model = run.recipe.objective.build(run.recipe.spec(run.tokenizer.size), seed=0, tokenizer=run.tokenizer)
    state = saving.TrainingState(model, torch.optim.AdamW(model.parameters()), Meter())
    assert saving.is_finite(state)
    with torch.no_grad():
        model.blocks[0].mlp.W_in[0, 0] = float("nan")
    assert not saving.is_finite(state)


@pytest.mark.thorough
def test_a_run_that_rolls_back_goes_on_at_a_lower_rate(in_tmp, bomb):
    bomb(7, nan)  # seen at the record of step 8: back to step 4
    train_of("back", **{"train.on_divergence": "rollback"})
    records = runs.read_metrics(in_tmp / "runs/back")
    told = [r for r in records if "rollbacks" in r]
    assert [(r["step"], r["from_step"], r["rollbacks"], r["rate_factor"]) for r in told] == [(4, 8, 1, 0.5)]
    assert told[0]["why"] == "The loss was nan"
    assert [r["step"] for r in records] == [2, 4, 4, 6, 8, 10, 12]
    train_of("plain")
    plain = runs.read_metrics(in_tmp / "runs/plain")
    rate = {r["step"]: r["learning_rate"] for r in records if "learning_rate" in r}
    assert [rate[r["step"]] / r["learning_rate"] for r in plain] == [1, 1, 0.5, 0.5, 0.5, 0.5]
    assert files.read_json(in_tmp / "runs/back/checkpoints/step-000012/config.json")["rollbacks"] == 1


def test_a_run_that_stopped_goes_on_at_a_lower_rate_as_it_says(in_tmp, bomb):
    bomb(7, nan)
    with pytest.raises(ValueError, match="--resume back --set train.on_divergence=rollback"):
        train_of("back")
    bomb(10, nan)  # eight calls so far; from step 4, where it is kept: the same fault once more
    session.resume("back", {"train.on_divergence": "rollback"})
    told = [r for r in runs.read_metrics(in_tmp / "runs/back") if "rollbacks" in r]
    assert [(r["step"], r["from_step"], r["rate_factor"]) for r in told] == [(4, 6, 0.5)]
    assert (in_tmp / "runs/back/config.json").is_file()
    assert reopen("back").recipe.train.on_divergence == "rollback"  # kept for the next time


def test_nothing_else_of_a_run_can_be_changed(in_tmp):
    train_of("a")
    before = (in_tmp / "runs/a/recipe.json").read_bytes()
    with pytest.raises(ValueError, match=r"^optimizer\.lr cannot be changed in a run that is resumed, only train\.on"):
        reopen("a", {"train.rollback_lr_factor": "0.1", "optimizer.lr": "1"})
    with pytest.raises(ValueError, match=r"train\.rollback_lr_factor is 2"):
        reopen("a", {"train.rollback_lr_factor": "2"})
    assert (in_tmp / "runs/a/recipe.json").read_bytes() == before


@pytest.mark.thorough
def test_a_run_that_rolled_back_resumes_bit_for_bit(in_tmp, bomb, monkeypatch):
    bomb(7, nan)
    train_of("whole", **{"train.on_divergence": "rollback"})
    monkeypatch.undo()
    monkeypatch.chdir(in_tmp)
    real = LanguageModelling.__call__
    calls = []

    def call(self, model, batch, dtype, dropout=0.0):
        calls.append(1)
        if len(calls) == 10:  # two steps after going back from 8 to 4, before any checkpoint
            raise RuntimeError("as a kill would")
        total, parts = real(self, model, batch, dtype, dropout)
        return (nan(model, total) if len(calls) == 7 else total), parts

    monkeypatch.setattr(LanguageModelling, "__call__", call)
    with pytest.raises(RuntimeError):
        train_of("cut", **{"train.on_divergence": "rollback"})
    session.resume("cut")
    cut, whole = ((in_tmp / f"runs/{name}/model.safetensors").read_bytes() for name in ("cut", "whole"))
    assert cut == whole


def test_a_run_goes_back_to_its_beginning_and_not_forever(in_tmp, bomb):
    bomb(1, nan, times=1000)
    more = {"train.on_divergence": "rollback", "train.max_rollbacks": "2"}
    with pytest.raises(ValueError, match=r"loss was nan at step 1, after 2 rollbacks"):
        train_of("lost", **more)
    told = [r for r in runs.read_metrics(in_tmp / "runs/lost") if "rollbacks" in r]
    assert [(r["step"], r["rate_factor"]) for r in told] == [(0, 0.5), (0, 0.25)]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("on_divergence", '"pray"', "must be one of stop, rollback"),
        ("divergence_threshold", "-1", "number of nats"),
        ("divergence_threshold", "nan", "0 for never"),
        ("rollback_lr_factor", "1.5", "above 0 and below 1"),
        ("max_rollbacks", "-1", "0 or more"),
        ("log", '"tensorbored"', "there is no 'tensorbored'. Known: tensorboard, wandb"),
    ],
)
def test_settings_that_cannot_be(key, value, said):
    with pytest.raises(ValueError, match=said):
        recipes.load("16x1x2", {f"train.{key}": value})
