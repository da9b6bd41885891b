"""Where records go: always to metrics.jsonl, elsewhere when asked and installed."""

import importlib.util
import json
import math
import sys
import time
import types

import pytest

from tslens import files, runs
from tslens.train import curves, loggers, saving

RECIPE = {"name": "a", "optimizer": {"lr": 1e-3}}
RECORDS = [
    {"step": 2, "tokens": 20, "train_loss": 3.5},
    {"step": 4, "tokens": 40, "train_loss": 9.5},
    {"step": 3, "rollbacks": 1, "why": "The loss was nan"},  # the run went back to step 3
    {"step": 4, "tokens": 40, "train_loss": 3.25},
]


class FakeRun:
    def __init__(self, **options):
        self.options, self.logged, self.axes, self.finished = options, [], {}, False

    def define_metric(self, name, step_metric):
        self.axes[name] = step_metric

    def log(self, values):
        self.logged.append(values)

    def finish(self):
        self.finished = True


@pytest.fixture
def wandb(monkeypatch):
    """A wandb that keeps what it is told."""
    module = types.ModuleType("wandb")
    module.__spec__ = importlib.util.spec_from_loader("wandb", None)
    module.runs = []
    module.init = lambda **options: module.runs.append(FakeRun(**options)) or module.runs[-1]
    monkeypatch.setitem(sys.modules, "wandb", module)
    for name in ("WANDB_MODE", "WANDB_PROJECT", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return module


def write(text, folder):
    with loggers.opened(text, folder, RECIPE, 0) as log:
        for record in RECORDS:
            log(record, runs.METRICS)


def test_metrics_are_always_written_and_appended_to(tmp_path):
    write("", tmp_path)
    write("", tmp_path)
    assert runs.read_metrics(tmp_path) == RECORDS * 2
    assert [p.name for p in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_rewritten_file_is_gone_on_with(tmp_path):
    with loggers.opened("", tmp_path, RECIPE, 0) as log:
        log(RECORDS[0], runs.METRICS)
        with files.atomic(tmp_path / "metrics.jsonl"):
            pass
        log(RECORDS[1], runs.METRICS)
    assert runs.read_metrics(tmp_path) == [RECORDS[1]]


def test_weights_and_biases_offline_unless_its_environment_says_otherwise(tmp_path, wandb, monkeypatch):
    (tmp_path / "mine").mkdir()
    write("wandb", tmp_path / "mine")
    (run,) = wandb.runs
    known = run.options.pop("id")
    assert run.options == {
        "project": "tslens", "name": "mine", "config": RECIPE, "dir": str(tmp_path / "mine"), "mode": "offline",
        "resume": "allow",
    }  # fmt: skip
    assert run.logged == RECORDS and run.axes == {"*": "step"}  # those after the rollback too
    assert run.finished
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    write("wandb", tmp_path / "mine")
    assert (wandb.runs[1].options["mode"], wandb.runs[1].options["project"]) == ("online", "theirs")
    assert wandb.runs[1].options["id"] == known  # what is gone on with is one run there
    (tmp_path / "other").mkdir()
    write("wandb", tmp_path / "other")
    assert wandb.runs[2].options["id"] != known


def test_tensorboard_is_given_every_number(tmp_path, monkeypatch):
    seen, closed = [], []

    class Writer:
        def __init__(self, folder, purge_step):
            seen.append((folder, purge_step))

        def add_scalar(self, *arguments):
            seen.append(arguments)

        def flush(self):
            pass

        def close(self):
            closed.append(True)

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer
    top = types.ModuleType("tensorboard")
    top.__spec__ = importlib.util.spec_from_loader("tensorboard", None)
    monkeypatch.setitem(sys.modules, "tensorboard", top)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    write("tensorboard", tmp_path)
    home = str(tmp_path / "tensorboard")
    assert seen == [
        (home, 1), ("tokens", 20, 2), ("train_loss", 3.5, 2), ("tokens", 40, 4), ("train_loss", 9.5, 4),
        (home, 4), ("rollbacks", 1, 3), ("tokens", 40, 4), ("train_loss", 3.25, 4),
    ]  # fmt: skip
    assert closed == [True, True]


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_itself_shows_what_was_not_undone(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def shown():
        events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
        return [(e.step, e.value) for e in events.Scalars("train_loss")]

    write("tensorboard", tmp_path)
    assert shown() == [(2, 3.5), (4, 3.25)]
    with loggers.opened("tensorboard", tmp_path, RECIPE, 3) as log:  # gone on with after a kill
        log({"step": 4, "train_loss": 3.0}, runs.METRICS)
    assert shown() == [(2, 3.5), (4, 3.0)]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_itself(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for _ in range(2):
        write("wandb", tmp_path)
    known = (tmp_path / "wandb/id").read_text()
    kept = list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert {place.name for place in kept} == {f"run-{known}.wandb"}
    until = time.monotonic() + 60  # its own process may still be writing
    while not all(b"train_loss" in place.read_bytes() for place in kept) and time.monotonic() < until:
        time.sleep(0.1)
    assert all(b"train_loss" in place.read_bytes() for place in kept)


def test_what_is_not_installed_or_unknown_is_said_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"tensorboard is not installed.*pip install tensorboard.*--log"):
        write("tensorboard", tmp_path)
    with pytest.raises(ValueError, match="there is no 'mlflow'. Known: tensorboard, wandb"):
        write("wandb, mlflow", tmp_path)
    assert not list(tmp_path.iterdir())
    assert loggers.parse(" wandb,tensorboard ,") == ("wandb", "tensorboard")


def test_records_are_json(tmp_path):
    write("", tmp_path)
    assert [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()] == RECORDS


def test_numbers_that_are_not_finite_are_null_and_read_as_nan(tmp_path):
    """JSON has none (RFC 8259); other loggers get the number, and a rollback writes the records anew."""
    diverged = [{"step": 10, "tokens": 20, "step_loss": bad, "gradient_norm": 1.0} for bad in (math.nan, math.inf)]
    with loggers.opened("", tmp_path, RECIPE, 0) as log:
        for record in diverged:
            log(record, runs.STEPS)
            log(record | {"validation_loss": math.nan, "train_loss": 2.0}, runs.METRICS)
    for _ in range(2):
        for name in (runs.STEPS, runs.METRICS):
            text = (tmp_path / name).read_text(encoding="utf-8")
            assert text.count("null") == (2 if name == runs.STEPS else 4) and "NaN" not in text and "Inf" not in text
            found = runs.read_metrics(tmp_path, name)
            assert [math.isnan(record["step_loss"]) for record in found] == [True, True]
            assert [record["gradient_norm"] for record in found] == [1.0, 1.0]
        saving.delete_later_records(tmp_path, 10)


def test_a_loss_that_is_not_finite_is_a_gap_of_the_curve(in_tmp):
    folder = in_tmp / "runs" / "gone"
    folder.mkdir(parents=True)
    with loggers.opened("", folder, RECIPE, 0) as log:
        for step, loss in ((10, 5.0), (20, math.nan), (30, 4.0)):
            log({"step": step, "tokens": step, "step_loss": loss}, runs.STEPS)
            log({"step": step, "tokens": step, "train_loss": 4.5, "validation_loss": loss, "bits_per_byte": loss},
                runs.METRICS)  # fmt: skip
    records = curves.table(["gone"])
    assert records["validation_loss"].isna().tolist() == [False, True, False]
    assert curves.single_steps("gone")["step_loss"].isna().tolist() == [False, True, False]
    assert len(curves.draw(records).axes) == 1
