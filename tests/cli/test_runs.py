"""The commands about runs: what is here and in which state, and how losses fell."""

import json
import os
import shutil

import pytest

from tslens import files, lock
from tslens.cli.models import list_models
from tslens.cli.runs import plot, runs
from tslens.interrupt import Interrupted
from tslens.runs import change_config, read_metrics
from tslens.train import recipe as recipes
from tslens.train import session

SMALL = {
    "data.limit": "200",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "2",
    "train.steps": "6",
    "train.validate_every": "2",
    "train.checkpoint_every": "3",
    "train.validation_stories": "2",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run, a stopped one, one that has only begun, and broken ones; the tests only read them."""
    home = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        _make(home)
    return home


@pytest.fixture
def some(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def _make(home):
    recipe = recipes.load("16x1x2", SMALL)
    session.train(recipe, "done")
    session.prepare(recipe, "begun")

    def stop(at):
        if at.step == 5:
            raise Interrupted

    with pytest.raises(Interrupted):
        session.train(recipe, "stopped", watch=stop)
    for name, text in (("broken", "{"), ("list", "[]"), ("odd", '{"name": "odd", "modle": {}}')):
        (home / "runs" / name).mkdir()
        (home / "runs" / name / "recipe.json").write_text(text)
    shutil.copytree(home / "runs/done", home / "runs/changed")
    change_config(home / "runs/changed", {"validation_loss": "abc"})


def test_runs_and_their_states(some, capsys):
    with lock.held(some / "runs/begun"):
        runs(json_=True)
    found = {run["name"]: run for run in json.loads(capsys.readouterr().out)}
    states = {name: run["state"] for name, run in found.items()}
    assert states == {
        "begun": "running", "broken": "broken", "changed": "broken", "done": "finished",
        "list": "broken", "odd": "broken",
        "stopped": "stopped",
    }  # fmt: skip
    config = files.read_json(some / "runs/done/config.json")
    done = found["done"]
    assert (done["shape"], done["objective"], done["step"], done["steps"]) == ("16x1x2", "language-modelling", 6, 6)
    assert done["tokens"] == 6 * 2 * 32
    assert (done["validation_loss"], done["bits_per_byte"]) == (config["validation_loss"], config["bits_per_byte"])
    records = read_metrics(some / "runs/stopped")
    stopped = found["stopped"]
    assert (stopped["step"], stopped["steps"]) == (4, 6)
    assert stopped["validation_loss"] == records[-1]["validation_loss"]
    assert "was altered: validation_loss is 'abc'; it must be a number. Restore it" in found["changed"]["why"]
    assert "its JSON is no object" in found["list"]["why"]
    assert "is not JSON" in found["broken"]["why"] and "unknown key 'modle'" in found["odd"]["why"]


def test_a_fault_of_ours_is_no_broken_run(some, monkeypatch):
    """What a damaged file raises makes a run broken; what our own code raises shows itself."""

    def at_fault(self, d_vocab):
        raise KeyError("ours")

    monkeypatch.setattr(recipes.Recipe, "shape", at_fault)
    with pytest.raises(KeyError, match="ours"):
        runs()


def test_runs_as_a_table(some, capsys):
    runs()
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "name",
        "state",
        "shape",
        "objective",
        "step",
        "tokens",
        "train",
        "validation",
        "bits/byte",
        "why",
    ]
    states = [["begun", "stopped"], ["broken", "broken"], ["changed", "broken"], ["done", "finished"]]
    assert [row.split()[:2] for row in rows[:4]] == states
    assert "6/6" in rows[3] and "0/6" in rows[0]


def test_no_runs(in_tmp, capsys):
    runs()
    assert capsys.readouterr().out == "no run yet. To train one: tslens train 256x8\n"


@pytest.mark.thorough
def test_losses_of_one_and_of_several_runs(some, capsys):
    plot("done", out=some / "one.svg")
    text = (some / "one.svg").read_text()
    assert all(word in text for word in ("Loss of done", "training", "validation", "tokens seen", "nats per token"))
    plot("done", "stopped", out=some / "two.svg")
    text = (some / "two.svg").read_text()
    assert all(word in text for word in ("Training loss", "Validation loss", ">done<", ">stopped<"))
    table = (some / "two.csv").read_text().splitlines()
    assert table[0] == "run,step,tokens,train_loss,validation_loss,bits_per_byte" and len(table) == 1 + 3 + 2
    assert capsys.readouterr().out.splitlines()[-1].endswith("two.svg, two.csv")
    plot("done", "stopped", out=some / "bits.svg", bits=True)
    assert "bits per byte" in (some / "bits.svg").read_text(encoding="utf-8")
    capsys.readouterr()
    plot("done", "stopped", out=some / "two.svg", json_=True)
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 3 + 2 and list(rows[0]) == table[0].split(",")


def test_a_run_without_a_validation_yet_has_its_training_loss_drawn(in_tmp, capsys):
    session.prepare(recipes.load("16x1x2", SMALL), "young")
    with pytest.raises(ValueError, match="no run is called 'young'"):
        plot("young")
    (in_tmp / "runs/young/metrics.jsonl").touch()
    with pytest.raises(ValueError, match="young has no record of its loss yet; it writes one of every tenth step"):
        plot("young")
    steps = [{"step": 10 * i, "tokens": 640 * i, "step_loss": 6.0 - i, "gradient_norm": 1.0} for i in (1, 2, 3)]
    (in_tmp / "runs/young/steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    plot("young", out=in_tmp / "a.svg")
    said = capsys.readouterr()
    assert "young has no validation yet; its training loss alone is drawn" in said.err
    assert (in_tmp / "a.csv").read_text().splitlines()[1:] == [f"young,{10 * i},{640 * i},{6 - i},," for i in (1, 2, 3)]
    drawn = (in_tmp / "a.svg").read_text(encoding="utf-8")
    assert ">validation<" not in drawn and "single steps" not in drawn
    with pytest.raises(ValueError, match="no validation yet, which bits per byte are of"):
        plot("young", bits=True)
    runs(json_=True)
    (young,) = json.loads(capsys.readouterr().out)
    assert (young["step"], young["tokens"], young["train_loss"], young["validation_loss"]) == (30, 1920, 3.0, None)


def test_runs_of_different_vocabularies_are_drawn_in_bits_per_byte(in_tmp, capsys):
    record = {"step": 5, "tokens": 320, "train_loss": 5.0, "validation_loss": 4.9, "bits_per_byte": 2.1}
    for name, vocabulary in (("one", "300"), ("other", "310"), ("young", "300")):
        session.prepare(recipes.load("16x1x2", SMALL | {"data.vocabulary": vocabulary}), name)
        (in_tmp / f"runs/{name}/metrics.jsonl").write_text("" if name == "young" else json.dumps(record) + "\n")
    (in_tmp / "runs/young/steps.jsonl").write_text('{"step": 10, "tokens": 640, "step_loss": 5.5}\n')
    for names, said in (
        (("one", "other"), ""),
        (("one", "young", "other"), "young has no validation yet; it is not drawn"),
    ):
        plot(*names, out=in_tmp / "a.svg")
        told, drawn = capsys.readouterr().err, (in_tmp / "a.svg").read_text(encoding="utf-8")
        assert "different vocabularies, so bits per byte are drawn" in told and said in told
        assert "bits per byte" in drawn and "nats per token" not in drawn and "young" not in drawn


@pytest.mark.parametrize("file", ["metrics.jsonl", "steps.jsonl"])
def test_a_run_none_of_whose_losses_is_finite(in_tmp, capsys, file):
    session.prepare(recipes.load("16x1x2", SMALL), "lost")
    record = {"step": 2, "tokens": 64, "train_loss": None, "step_loss": None, "validation_loss": None}
    (in_tmp / "runs/lost" / file).write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match="lost has records of its loss, and none is finite: it has diverged"):
        plot("lost", out=in_tmp / "a.svg")
    runs()
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "lost", "stopped", "16x1x2", "language-modelling", "2/6", "64", "-", "-", "-",
    ]  # fmt: skip


def test_what_cannot_be_drawn(some):
    with pytest.raises(ValueError, match=r"no run is called 'dine'\. Did you mean 'done'"):
        plot("dine")
    with pytest.raises(ValueError, match="name at least one run"):
        plot()
    with pytest.raises(ValueError, match=r"\.svg or \.png"):
        plot("done", out=some / "a.gif")


def test_what_stands_in_the_place_of_a_run_is_said(in_tmp, capsys):
    (in_tmp / "runs/file").mkdir(parents=True)
    os.mkfifo(in_tmp / "runs/pipe")
    os.mkfifo(in_tmp / "runs/file/config.json")
    (in_tmp / "runs/lost").symlink_to("nowhere")
    (in_tmp / "runs/notes.txt").write_text("my own")
    whys = {
        "file": "runs/file/config.json is a pipe, not a file",
        "lost": "runs/lost is a link to nowhere, which leads to no folder",
        "pipe": "runs/pipe is a pipe, not a folder",
    }
    runs(json_=True)
    assert {run["name"]: run["why"] for run in json.loads(capsys.readouterr().out)} == whys
    list_models(json_=True)
    found = {model["name"]: model["why"] for model in json.loads(capsys.readouterr().out)}
    assert {name: why for name, why in found.items() if name in whys} == {n: f"broken: {w}" for n, w in whys.items()}
    assert "notes.txt" not in found


@pytest.mark.parametrize(("kind", "said"), [("file", "runs is a file, not a"), ("loop", "runs is a link to runs")])
def test_what_stands_in_the_place_of_all_runs_is_said(in_tmp, refused, kind, said):
    (in_tmp / "runs").touch() if kind == "file" else (in_tmp / "runs").symlink_to("runs")
    for command in (runs, list_models, lambda: plot("a")):
        with refused(f"{said}.* folder: runs are kept in a folder of that name. Move it away, or name another"):
            command()
