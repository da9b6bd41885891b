"""Training: it learns, it resumes bit for bit, it stops when asked, and it refuses what cannot go on."""

import json
import signal

import pytest
import torch

from tslens import files, models, runs
from tslens.train import saving, session
from tslens.train.objectives.language import LanguageModelling
from tslens.train.position import Position
from tslens.train.session import reopen


def test_a_run_learns_and_is_a_model_that_loads(in_tmp, train_of):
    seen: list[Position] = []
    model = train_of("a", **{"train.steps": "40", "optimizer.lr": "1e-2"}, watch=seen.append).model
    loaded = models.load("a")
    tokens = torch.tensor([[0, 5, 6]])
    assert torch.equal(model(tokens), loaded(tokens))
    records = [json.loads(line) for line in (in_tmp / "runs/a/metrics.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records] == [6, 12, 18, 24, 30, 36, 40]
    assert records[-1]["validation_loss"] < records[0]["validation_loss"] - 0.5
    steps = runs.read_metrics(in_tmp / "runs/a", runs.STEPS)
    assert [s["step"] for s in steps] == [10, 20, 30, 40] and [s["tokens"] for s in steps] == [1280, 2560, 3840, 5120]
    assert steps[-1]["gradient_norm"] == records[-1]["gradient_norm"]
    assert (
        abs(steps[-1]["step_loss"] - records[-1]["train_loss"]) < 0.2 < steps[0]["step_loss"] - steps[-1]["step_loss"]
    )
    assert seen[-1].step == seen[-1].steps == 40 and seen[-1].tokens == 40 * 4 * 32
    config = files.read_json(in_tmp / "runs/a/config.json")
    assert config["validation_loss"] == records[-1]["validation_loss"]
    assert {"source", "training_stories", "longer_than_context"} <= config["data"].keys()
    assert not list((in_tmp / "runs/a").rglob("*.tmp")) and not list((in_tmp / "runs/a").rglob("*.p*kl*"))


@pytest.mark.parametrize("by", [None, signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_a_stopped_run_goes_on_bit_for_bit(in_tmp, goes_on, by):
    goes_on(after=7, by=by)
    steps = [json.loads(line)["step"] for line in (in_tmp / "runs/cut/metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps)) and steps[-1] == 12


@pytest.mark.thorough
def test_a_damaged_newest_checkpoint_is_passed_over(in_tmp, train_of, largest_difference):
    train_of("whole")
    train_of("hurt")
    newest = in_tmp / "runs/hurt/checkpoints/step-000012/model.safetensors"
    newest.write_bytes(newest.read_bytes()[:-7])
    session.resume("hurt")
    assert largest_difference("whole", "hurt") == 0


@pytest.mark.thorough
def test_a_run_whose_checkpoints_are_all_damaged_is_refused(in_tmp, train_of):
    train_of("hurt")
    for place in (in_tmp / "runs/hurt/checkpoints").iterdir():
        (place / "model.safetensors").write_bytes(b"gone")
    with pytest.raises(ValueError, match=r"runs/hurt cannot be resumed.*truncated or altered"):
        session.resume("hurt")


@pytest.mark.thorough
def test_a_run_without_a_checkpoint_begins_when_resumed(in_tmp, run_of, train_of, largest_difference):
    train_of("whole")
    run_of("early")
    session.resume("early")
    assert largest_difference("whole", "early") == 0


def test_a_run_with_all_its_steps_is_written_again(in_tmp, train_of):
    train_of("done")
    config = files.read_json(in_tmp / "runs/done/config.json")
    weights = (in_tmp / "runs/done/model.safetensors").read_bytes()
    for name in ("config.json", "model.safetensors"):  # as after a kill between the last checkpoint and the end
        (in_tmp / "runs/done" / name).unlink()
    session.resume("done")
    assert files.read_json(in_tmp / "runs/done/config.json") == config
    assert (in_tmp / "runs/done/model.safetensors").read_bytes() == weights


def test_what_a_kill_left_half_written_is_swept_and_steps_sort_as_numbers(in_tmp, run_of):
    run = run_of("a")
    home = run.folder / "checkpoints"
    for name in ("step-999999", "step-1000000", ".step-000005.77.tmp", "step-000007.bak"):
        (home / name).mkdir(parents=True)
    (run.folder / ".config.json.77.tmp").write_text("{")
    assert [place.name for place in runs.steps(home)] == ["step-1000000", "step-999999"]
    saving.remove_partial_files(run.folder)
    assert sorted(place.name for place in home.iterdir()) == ["step-000007.bak", "step-1000000", "step-999999"]
    assert not list(run.folder.glob(".*"))


def test_a_loss_that_is_not_finite_stops_the_run(in_tmp, monkeypatch, train_of):
    def broken(self, model, batch, dtype, dropout):
        return model.embed.W_E.sum() * float("nan"), {}

    monkeypatch.setattr(LanguageModelling, "__call__", broken)
    with pytest.raises(ValueError, match=r"loss was nan.*with a lower optimizer\.lr"):
        train_of("nan")
    assert not (in_tmp / "runs/nan/config.json").exists()


@pytest.mark.parametrize(
    ("first", "said", "kept"),
    [
        ("step-000005", "it has no checkpoint yet. Make room and start again with: tslens train --resume full", []),
        ("step-000010", "its last good checkpoint is kept", ["step-000005"]),
    ],
)
def test_a_full_disk_is_said_and_the_checkpoint_before_is_kept(in_tmp, monkeypatch, run_of, first, said, kept):
    run = run_of("full")
    write = runs.write_tensors

    def full(path, tensors):
        if first in str(path):
            raise OSError(28, "No space left on device")
        return write(path, tensors)

    monkeypatch.setattr(runs, "write_tensors", full)
    with pytest.raises(OSError, match=said):
        session.resume(run.folder.name)
    assert [p.name for p in (in_tmp / "runs/full/checkpoints").iterdir()] == kept


def test_runs_are_not_overwritten_nor_led_astray(in_tmp, run_of):
    run_of("here")
    with pytest.raises(ValueError, match=r"exists.*--overwrite"):
        run_of("here")
    with pytest.raises(ValueError, match="cannot be a run's name"):
        run_of("../there")
    with pytest.raises(ValueError, match=r"no run is called 'her'. Did you mean 'here'"):
        reopen("her")


def test_nothing_is_left_of_a_run_that_cannot_begin(in_tmp, run_of):
    with pytest.raises(ValueError, match="fewer than the"):
        run_of("none", **{"data.limit": "3", "train.batch": "64"})
    assert not (in_tmp / "runs/none").exists()
    with pytest.raises(ValueError, match="do not divide"):
        run_of("shape", "16x1", **{"model.n_heads": "3"})
    assert not (in_tmp / "runs/shape").exists()
