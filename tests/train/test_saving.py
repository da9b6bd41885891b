"""Checkpoints: whole, few, hashed, never unpickled; a damaged one is told of; a full disk leaves the last."""

import ast
import contextlib
import itertools
import os
import pickle
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import tslens
from tslens import files, models, runs
from tslens.tokenizer import Tokenizer
from tslens.train import loop, optimizer, saving, session
from tslens.train import recipe as recipes
from tslens.train.meter import Meter
from tslens.train.session import prepare, reopen

SMALL = {
    "data.limit": "300",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "2",
    "train.steps": "9",
    "train.validate_every": "5",
    "train.checkpoint_every": "3",
    "train.validation_stories": "2",
    "train.precision": '"float32"',
}


def run_of(name, **more):
    return prepare(recipes.load("16x1x2", SMALL | more), name)


def train_of(name, **more):
    return session.train(recipes.load("16x1x2", SMALL | more), name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the finished run `runs/a`."""
    place = tmp_path_factory.mktemp("finished")
    with contextlib.chdir(place):
        train_of("a")
    return place


@pytest.fixture
def trained(in_tmp, finished):
    """That run, in a folder of its own."""
    shutil.copytree(finished / "runs", in_tmp / "runs")
    return in_tmp / "runs/a"


def kept(folder, home="checkpoints"):
    return [runs.step_of(place) for place in runs.steps(folder / home)]


@pytest.mark.parametrize(("writes", "steps"), [(0, [9, 6, 3]), (20, [9, 3])])
def test_a_minute_of_training_is_saved_too(in_tmp, monkeypatch, writes, steps):
    """The clock goes on by 25 s whenever it is read: so long does a step take, and writing a checkpoint."""
    clock = itertools.count(0, 25)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    monkeypatch.setattr(loop, "WRITES", writes)
    train_of("slow", **{"train.checkpoint_every": "500", "train.keep_checkpoints": "9"})
    assert kept(in_tmp / "runs/slow") == steps


def test_the_last_few_and_the_log_spaced_are_kept_and_load_by_name(trained):
    assert kept(trained) == [9, 6] and kept(trained, "snapshots") == [8, 4, 2, 1]
    assert sorted(p.name for p in (trained / "snapshots/step-000004").iterdir()) == ["config.json", "model.safetensors"]
    early, late = models.load("a@1"), models.load("a@8")
    assert models.name_of(early) == "a@1" and not early.W_E.equal(late.W_E)
    assert models.load("a@9").W_E.equal(models.load("a").W_E)
    with pytest.raises(ValueError, match=r"runs/a has no weights of step 7\. It has those of steps: 1, 2, 4, 6, 8, 9"):
        models.load("a@7")


def test_settings_of_what_is_kept(in_tmp):
    train_of("a", **{"train.keep_checkpoints": "1", "train.keep_log_spaced": "false"})
    assert kept(in_tmp / "runs/a") == [9] and not (in_tmp / "runs/a/snapshots").exists()


def test_a_checkpoint_that_a_kill_kept_goes_when_the_run_is_resumed(trained):
    """The process died after the last checkpoint was written, and before an older one was deleted."""
    shutil.copytree(trained / "checkpoints/step-000006", trained / "checkpoints/step-000003")
    assert kept(trained) == [9, 6, 3]
    session.resume("a")
    assert kept(trained) == [9, 6]


def test_gradients_are_taken_where_the_caller_has_switched_them_off(in_tmp):
    whole = train_of("a").model
    with torch.no_grad():
        off = train_of("b").model
    with torch.inference_mode():
        inside = train_of("c").model
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, off.state_dict()[name]) and torch.equal(weight, inside.state_dict()[name])


def test_a_damaged_newest_checkpoint_is_told_of_and_set_aside(trained, capsys):
    weights = (trained / "model.safetensors").read_bytes()
    newest = trained / "checkpoints/step-000009/optimizer.safetensors"
    newest.write_bytes(newest.read_bytes()[:-7])
    session.resume("a")
    said = capsys.readouterr().err
    assert said.startswith(
        "tslens: warning: runs/a/checkpoints/step-000009/optimizer.safetensors was truncated or altered"
    )
    assert said.splitlines()[0].endswith("Going on from runs/a/checkpoints/step-000006.")
    assert said.count("tslens: ") == 1
    assert (trained / "checkpoints/step-000009.damaged").is_dir() and kept(trained) == [9, 6]
    assert (trained / "model.safetensors").read_bytes() == weights


def missing(place):
    (place / "config.json").unlink()


def empty(place):
    for file in place.iterdir():
        file.unlink()


def altered(place):
    config = (place / "config.json").read_text(encoding="utf-8")
    (place / "config.json").write_text(config.replace('"step": 9', '"step": 7'), encoding="utf-8")


def bare(place):
    config = files.read_json(place / "config.json")
    kept = {key: config[key] for key in ("format", "sha256", "optimizer_sha256")}
    files.write_json(place / "config.json", runs._vouched(kept))


def unvouched(place):
    config = files.read_json(place / "config.json") | {"since_record": 3}
    del config["config_sha256"]
    files.write_json(place / "config.json", config)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (missing, "config.json is missing"),
        (empty, "config.json is missing"),
        (altered, "config.json was altered"),
        (bare, "has no 'recipe': it is no checkpoint's"),
        (unvouched, "config.json was altered: it has no 'config_sha256'. Restore it"),
    ],
)
def test_a_newest_checkpoint_whose_config_is_wrong_is_passed_over(trained, capsys, damage, said):
    weights = (trained / "model.safetensors").read_bytes()
    damage(trained / "checkpoints/step-000009")
    (trained / "checkpoints/step-000099").touch()  # a file is no checkpoint
    session.resume("a")
    warning = capsys.readouterr().err.splitlines()[0]
    assert said in warning and warning.endswith("Going on from runs/a/checkpoints/step-000006.")
    assert (trained / "model.safetensors").read_bytes() == weights


@pytest.mark.parametrize(
    "record", ["{}", '{"step": "x"}', '{"step": 1, "train_loss": "abc"}', '{"step": 1, "tokens": null}']
)
def test_a_record_that_was_altered_is_named(trained, record):
    path = trained / "metrics.jsonl"
    path.write_text(record + "\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^runs/a/metrics\.jsonl, line 1 is no record of a run\. It was altered;"):
        session.resume("a")


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "config.json"])
def test_a_planted_pickle_is_refused_and_not_run(trained, capsys, file):
    class Planted:
        def __reduce__(self):
            return Path.touch, (trained / "ran",)

    place = trained / "checkpoints/step-000009"
    (place / file).write_bytes(pickle.dumps(Planted()))
    if file != "config.json":  # even where the config vouches for it
        key = {"model.safetensors": "sha256", "optimizer.safetensors": "optimizer_sha256"}[file]
        runs.change_config(place, {key: files.sha256(place / file)})
    session.resume("a")
    assert ("is not safetensors" in (said := capsys.readouterr().err)) or "is not JSON" in said
    assert not (trained / "ran").exists()


def test_a_planted_pickle_is_no_model(trained):
    (trained / "model.safetensors").write_bytes(pickle.dumps({}))
    with pytest.raises(ValueError, match="truncated or altered"):
        models.load("a")


def test_no_module_of_ours_unpickles():
    """Imports of what can, calls of torch.load, and numpy's `allow_pickle`. HanTa's own model file, which comes with
    its code, is the one exception."""
    found = set()
    for path in Path(tslens.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            named = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
            loads = isinstance(node, ast.Attribute) and ast.unparse(node) in ("torch.load", "torch.serialization.load")
            allows = isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
            sends = (
                isinstance(node, ast.Attribute) and "object" in node.attr and ast.unparse(node).startswith("torch.dist")
            )
            if named & set(names) or loads or allows or sends:
                found.add(path.relative_to(Path(tslens.__file__).parent).as_posix())
    assert found <= {"pos/trigrams.py"}


@pytest.fixture
def small_disk(in_tmp):
    """A disk of one megabyte as `runs`; skips where none can be mounted."""
    place = in_tmp / "runs"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_said_and_the_last_good_checkpoint_goes_on(small_disk, tmp_path):
    run = run_of("a", **{"train.steps": "200", "train.keep_checkpoints": "1000", "data.vocabulary": "280"})
    with pytest.raises(OSError, match=r"cannot write runs/a \(No space left on device\); its last good .*Make room"):
        session.resume(run.folder.name)
    newest = runs.steps(small_disk / "a/checkpoints")
    for place in newest:
        runs.read(place)
    assert newest and not list((small_disk / "a").rglob("*.tmp"))
    for place in newest[1:]:
        files.remove_folder(place)
    again = reopen("a")
    model = again.recipe.objective.build(again.recipe.spec(again.tokenizer.size), seed=0, tokenizer=again.tokenizer)
    state = saving.TrainingState(model, optimizer.make(model, again.recipe.optimizer), Meter())
    saving.restore(again, state)
    assert state.step == runs.step_of(newest[0])


def test_a_full_disk_ends_the_command_with_one_line(small_disk, capsys):
    from tslens.cli import main

    chosen = [
        f"--set={key}={value}"
        for key, value in (SMALL | {"train.steps": "200", "train.keep_checkpoints": "1000"}).items()
    ]
    assert main(["train", "16x1x2", "--name", "a", *chosen]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert (
        line.startswith("tslens: cannot write runs/a (No space left")
        and "its last good checkpoint is kept" in line
        and "--resume a" in line
    )


def test_a_checkpoint_under_a_name_that_is_taken_replaces_it_whole(trained, monkeypatch):
    """Killed between removing the old and naming the new, there is neither half of one."""
    run = reopen("a")
    model = run.recipe.objective.build(run.recipe.spec(run.tokenizer.size), seed=0, tokenizer=run.tokenizer)
    state = saving.TrainingState(model, optimizer.make(model, run.recipe.optimizer), Meter())
    saving.restore(run, state)
    real = os.rename

    def rename(source, target):
        if Path(source).suffix == ".tmp":
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            saving.save(run, state, {})
    assert kept(trained) == [6]
    saving.save(run, state, {})
    assert kept(trained) == [9, 6]


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        (
            "recipe.json",
            lambda c: c["optimizer"].update(lr=0.5),
            r"another recipe.*optimizer\.lr is 0\.5 now and .* then",
        ),
        ("data/pack.json", lambda c: c.update(digest="other"), r"another data.*digests\.\. is \"other\" now and"),
    ],
)
def test_a_run_whose_recipe_or_data_changed_is_not_gone_on_with(trained, file, change, said):
    content = files.read_json(trained / file)
    change(content)
    files.write_json(trained / file, content)
    with pytest.raises(ValueError, match=said) as caught:
        session.resume("a")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_a_run_was_computed_in_is_recorded(in_tmp, precision):
    train_of("a", **{"train.precision": precision})
    folder = in_tmp / "runs/a"
    said = [files.read_json(p / "config.json") for p in (folder, folder / "checkpoints/step-000009")]
    for facts in (*said, *runs.read_metrics(folder)):
        assert (facts["precision"], facts["device"]) == (precision, "cpu")
        assert facts["threads"] == torch.get_num_threads()


def test_a_run_that_is_computed_otherwise_from_now_on_is_told_of_in_one_line(trained, capsys):
    from tslens.cli import main

    def resumed():
        assert main(["train", "--resume", "a"]) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
        return said, files.read_json(trained / "config.json")["precision"]

    files.remove_folder(trained / "checkpoints/step-000009")
    assert resumed() == ([], "float32")
    for step in (6, 9):  # as from another machine
        change = {"precision": "bfloat16", "device": "cuda"}
        runs.change_config(trained / f"checkpoints/step-{step:06d}", change)
    assert resumed() == ([], "bfloat16")  # it had all its steps
    files.remove_folder(trained / "checkpoints/step-000009")
    runs.change_config(trained / "checkpoints/step-000006", {"threads": None})
    said, now = resumed()
    n = torch.get_num_threads()
    here = f"in float32 on cpu, {n} thread{'s' * (n > 1)}"
    assert now == "float32" and said == [
        f"tslens: warning: runs/a was computed in bfloat16 on cuda until step 6, and goes on {here}: it will not end "
        "in the bits it would have had there."
    ]
    files.remove_folder(trained / "checkpoints/step-000009")
    runs.change_config(trained / "checkpoints/step-000006", {"precision": "float32", "device": "cpu", "threads": n + 1})
    said, _ = resumed()
    assert said == [
        f"tslens: warning: runs/a was computed in float32 on cpu, {n + 1} threads until step 6, and goes on {here}: it "
        "will not end in the bits it would have had there."
    ]


def test_a_run_with_another_file_of_its_tokenizer_is_not_resumed(trained, refused, monkeypatch):
    """By the hash of the file, before it is parsed; a run of before it was recorded is resumed."""
    path = trained / "tokenizer.json"
    path.write_text(path.read_text() + " ")
    with monkeypatch.context() as patch, refused("a was trained with another tokenizer until its last checkpoint: tok"):
        patch.setattr(Tokenizer, "load", None)
        session.resume("a")
    for place in [trained, *runs.steps(trained / "checkpoints")]:
        config = runs.read_config(place)
        del config["tokenizer_sha256"]
        files.write_json(place / "config.json", runs._vouched(config))
    session.resume("a")
