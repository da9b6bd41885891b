"""Preparing a run: what was there is not lost, what was cut short goes on, and nothing half-made stays."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tslens import files
from tslens.cli import main
from tslens.stories import pack as packing
from tslens.stories import stories
from tslens.train import prepare as preparing
from tslens.train import recipe as recipes
from tslens.train import saving
from tslens.train.run import Run
from tslens.train.session import prepare, reopen

SMALL = {
    "data.limit": "120",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "4",
    "train.steps": "3",
    "train.validation_stories": "4",
}


def run_of(name: str, *, overwrite: bool = False, **more: str) -> Run:
    return prepare(recipes.load("16x1x2", SMALL | more), name, overwrite=overwrite)


def content(run: Run) -> dict[str, bytes]:
    return {str(p.relative_to(run.folder)): p.read_bytes() for p in sorted(run.folder.rglob("*")) if p.is_file()}


def test_a_folder_that_is_no_run_is_never_replaced(in_tmp):
    (in_tmp / "runs/studies/one").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"^runs/studies is no run and is not replaced\. Choose another --name"):
        run_of("studies", overwrite=True)
    assert (in_tmp / "runs/studies/one").is_dir()


@pytest.mark.parametrize(
    "wrong",
    [
        {"data.source": "missing.txt"},
        {"data.source": "empty.txt"},
        {"model.n_heads": "3"},
        {"data.tokenizer": "nowhere"},
        {"train.batch": "5000"},
    ],
)
def test_a_run_is_not_lost_to_one_that_cannot_begin(in_tmp, wrong):
    (in_tmp / "empty.txt").write_text("")
    before = content(run_of("kept"))
    with pytest.raises((ValueError, OSError)):
        run_of("kept", overwrite=True, **wrong)
    assert content(reopen("kept")) == before
    assert [p.name for p in (in_tmp / "runs").iterdir()] == ["kept"]


def test_a_run_is_replaced_by_one_that_can(in_tmp):
    (run_of("a").folder / "report.html").write_text("old")
    run = run_of("a", overwrite=True, seed="7")
    assert run.recipe.seed == reopen("a").recipe.seed == 7 and not (run.folder / "report.html").exists()
    assert [p.name for p in (in_tmp / "runs").iterdir()] == ["a"]


def test_a_full_disk_while_packing_leaves_what_can_be_gone_on_with(in_tmp, monkeypatch):
    whole = content(run_of("whole"))
    with monkeypatch.context() as patch:
        patch.setattr(packing, "sync", lambda *files: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="disk is full"):
            run_of("cut")
    with pytest.raises(ValueError, match="tslens train --resume cut"):
        run_of("cut")
    resumed = content(reopen("cut"))
    assert resumed["data/tokens.bin"] == whole["data/tokens.bin"]


def test_ctrl_c_while_packing_over_a_run_brings_it_back(in_tmp, monkeypatch):
    before = content(run_of("a"))

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(preparing, "pack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_of("a", overwrite=True, seed="7")
    assert content(reopen("a")) == before


def test_ctrl_c_before_the_first_step_says_how_to_go_on(in_tmp, monkeypatch, capsys):
    def stopped(*args, **options):
        signal.raise_signal(signal.SIGINT)

    command = ["train", "16x1x2", "--name", "a", *(f"--set={key}={value}" for key, value in SMALL.items())]
    with monkeypatch.context() as patch:
        patch.setattr("tslens.train.loop.step_function", stopped)
        assert main(command) == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tslens: stopped at once. To go on from what is saved: tslens train --resume a"
    )
    assert main(["train", "--resume", "a"]) == 0


def test_sigterm_while_packing_says_how_to_go_on(in_tmp, monkeypatch, capsys):
    def terminated(*args, **options):
        signal.raise_signal(signal.SIGTERM)

    command = ["train", "16x1x2", "--name", "a", *(f"--set={key}={value}" for key, value in SMALL.items())]
    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(preparing, "pack", terminated)
        assert main(command) == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tslens: stopped before training began. To go on: tslens train --resume a"
    )
    assert signal.getsignal(signal.SIGTERM) is before
    assert main(["train", "--resume", "a"]) == 0


@pytest.mark.parametrize(
    ("shape", "settings", "said"),
    [
        ("1000000x900", {}, r"^1000000x900 takes at least 129,\d+,\d+ GB for weights, .*this machine has \d+ GB"),
        ("32x2", {"model.n_ctx": "9999999999"}, "n_ctx is over 16,777,216, more than any model has"),
        ("32x2", {"data.vocabulary": "99999999999"}, "d_vocab is over 16,777,216, more than any model has"),
        ("32x2", {"data.vocabulary": "1000001"}, "a vocabulary of 1,000,001 is too large; give 1,000,000 or less"),
    ],
)
def test_what_no_machine_holds_is_refused_before_anything_is_written(in_tmp, refused, shape, settings, said):
    with refused(said):
        prepare(recipes.load(shape, {"data.limit": "40"} | settings), "a")
    assert not list(in_tmp.iterdir())


def test_instructions_that_leave_no_room_are_said_before_anything_is_packed(in_tmp):
    with pytest.raises(ValueError, match="No instructions leave room for their story in a context of 32"):
        run_of("a", **{"objective.name": "instruct", "data.source": "made:instruct"})
    assert not (in_tmp / "runs").exists()


KILLED = """
import os, signal, sys
from tslens.cli import main
from tslens.stories import pack as packing
from tslens.stories import stories
from tslens.train import recipe
from tslens.train.session import prepare
packing.BATCH, packing.NOTE_EVERY = 30, 0.0
write = packing.Record.write
def write_and_die(record, folder):
    write(record, folder)
    if record.stories >= 60:
        os.kill(os.getpid(), signal.SIGKILL)
packing.Record.write = write_and_die
prepare(recipe.load("16x1x2", eval(sys.argv[1])), "cut", overwrite=True)
"""


@pytest.mark.thorough
def test_a_killed_packing_goes_on_and_a_run_it_was_to_replace_goes(in_tmp):
    whole = content(run_of("whole"))
    run_of("cut", seed="7")
    done = subprocess.run([sys.executable, "-c", KILLED, repr(SMALL)], timeout=120, env=os.environ | {"CI": "1"})
    assert done.returncode == -signal.SIGKILL
    assert 0 < files.read_json(in_tmp / "runs/cut/data/pack.json")["stories"] < 120
    run = reopen("cut")
    assert run.recipe.seed == 0 and run.rows.packed.n_stories == 120
    assert content(run)["data/tokens.bin"] == whole["data/tokens.bin"]
    assert sorted(p.name for p in (in_tmp / "runs").iterdir()) == ["cut", "whole"]


def test_a_run_that_a_kill_left_aside_comes_back(in_tmp):
    run = run_of("a")
    before = content(run)
    run.folder.rename(run.folder.with_name(".a.old"))
    with pytest.raises(ValueError, match="exists"):
        run_of("a")
    assert content(reopen("a")) == before


def test_a_dataset_with_its_own_splits_is_validated_on_its_own(in_tmp):
    """In the same configuration and column: what is validated on must be none of what is trained on."""
    (in_tmp / "tales").mkdir()
    for split, count in (("train", 400), ("validation", 20)):
        rows = "".join(f"Tom ran {n} times in {split}.,other {n}.\n" for n in range(count))
        (in_tmp / f"tales/{split}.csv").write_text("story,text\n" + rows)
    (in_tmp / "tales/README.md").write_text(
        "---\nconfigs:\n- config_name: a\n  data_files: validation.csv\n- config_name: b\n  data_files:\n"
        "  - split: train\n    path: train.csv\n  - split: validation\n    path: validation.csv\n---\n"
    )
    run = run_of("own", **{"data.source": "tales@b/train:story"})
    assert run.validation == [f"Tom ran {n} times in validation." for n in range(4)]


@pytest.mark.parametrize("name", ["tokens.bin", "starts.bin"])
def test_packed_stories_that_were_altered_are_not_gone_on_with(in_tmp, refused, name):
    path = run_of("a", **{"data.limit": "400"}).folder / "data" / name
    whole = path.read_bytes()
    path.write_bytes(whole[::-1])
    with refused(rf"^runs/a/data/{name} was altered since it was packed: .* remove runs/a/data and pack .* again"):
        reopen("a")
    assert reopen("a", check=False).rows.packed.n_stories == 400
    shutil.rmtree(path.parent)
    reopen("a")
    assert path.read_bytes() == whole


@pytest.mark.parametrize("objective", ["language-modelling", "contrastive", "instruct"])
def test_a_run_goes_on_when_its_source_is_gone(in_tmp, objective):
    instructed = objective == "instruct"
    texts = stories("made:instruct" if instructed else "made", limit=400)
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    more = {"objective": objective, "data.source": "tales.txt", "train.batch": "6", "model.n_ctx": "200"}
    run = run_of("a", **more)
    before = content(run)
    (in_tmp / "tales.txt").unlink()
    again = reopen("a")
    assert again.validation == run.validation and again.facts == run.facts and content(again) == before
    assert (again.rows.batch(1).tokens == run.rows.batch(1).tokens).all()
    (run.folder / "data/validation.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no tales\.txt"):
        reopen("a")


def test_a_run_that_kept_no_validation_stories_keeps_them_when_it_goes_on(in_tmp):
    run = run_of("a")
    before = content(run)
    (run.folder / "data/validation.jsonl").unlink()
    assert reopen("a").validation == run.validation and content(run) == before


def test_what_a_kill_left_of_the_validation_stories_goes(in_tmp):
    run = run_of("a")
    before = content(run)
    (run.folder / "data/.validation.jsonl.7.tmp").touch()
    saving.remove_partial_files(run.folder)
    assert content(run) == before
