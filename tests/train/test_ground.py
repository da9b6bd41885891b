"""When the ground goes: a run's folder, its packed data, a process beside it, or its `torchrun`."""

import errno
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest

from tslens import cli, interrupt, models, runs
from tslens.errors import InputError
from tslens.train import ground, session
from tslens.train.distributed import World

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
LONG = {"train.steps": "100000", "train.batch": "4", "train.checkpoint_every": "5"}


@pytest.mark.parametrize("at", range(1, 12))
def test_a_run_whose_folder_is_removed_ends_in_one_line_and_writes_nothing(run_of, refused, at):
    run = run_of("gone")

    def remove(position):
        if position.step == at:
            shutil.rmtree(run.folder)

    with refused("runs/gone was removed or moved while it was trained.* tslens train --resume gone"):
        session.resume("gone", watch=remove)
    assert not run.folder.exists()


def test_what_was_written_while_the_folder_was_removed_is_removed_too(run_of, refused):
    """A removal takes what it saw, and leaves the folder where a checkpoint was written since."""
    run = run_of("gone")

    def remove(position):
        if position.step == 6:
            for place in run.folder.iterdir():
                if place.name != "checkpoints":
                    shutil.rmtree(place) if place.is_dir() else place.unlink()

    with refused("runs/gone was removed or moved while it was trained: nothing more is kept"):
        session.resume("gone", watch=remove)
    assert not run.folder.exists()


def test_an_older_checkpoint_is_kept_whatever_else_is_gone(run_of, refused, monkeypatch):
    run = run_of("gone")
    monkeypatch.setattr(ground, "PATIENCE", 0.1)

    def remove(position):
        if position.step == 6:
            for place in (run.folder / runs.RECIPE, run.folder / runs.TOKENIZER):
                place.unlink()
            shutil.rmtree(run.folder / "data")
            old = time.time() - 2 * ground.RECENT
            os.utime(run.folder / "checkpoints/step-000005" / runs.WEIGHTS, (old, old))

    with refused("runs/gone lost its recipe.json while it was trained"):
        session.resume("gone", watch=remove)
    assert (run.folder / "checkpoints/step-000005" / runs.WEIGHTS).is_file()


def test_a_run_that_lost_its_recipe_alone_is_left_as_it_is(run_of, refused, monkeypatch):
    run, recipe = run_of("lost"), []
    monkeypatch.setattr(ground, "PATIENCE", 0.1)

    def remove(position):
        if position.step == 6:
            recipe.append((run.folder / runs.RECIPE).read_bytes())
            (run.folder / runs.RECIPE).unlink()

    with refused("runs/lost lost its recipe.json while it was trained.* Put that back and go on with: tslens train"):
        session.resume("lost", watch=remove)
    (run.folder / runs.RECIPE).write_bytes(recipe[0])
    session.resume("lost")
    assert (run.folder / runs.CONFIG).is_file()


@pytest.mark.thorough
def test_a_removal_at_any_moment_leaves_nothing(run_of):
    """`rm` misses what is written after it listed the folder, and says so itself if training ended meanwhile."""
    drawn, began = Random(3), time.monotonic()
    run_of("usual", **{"train.checkpoint_every": "1"})
    session.resume("usual")
    took = time.monotonic() - began
    for number in range(40):
        run = run_of(f"gone{number}", **{"train.checkpoint_every": "1"})
        remove = ["rm", "-rf", str(run.folder.absolute())]
        failed: list[int] = []
        removal = threading.Timer(drawn.random() * took, lambda r=remove, f=failed: f.append(subprocess.call(r)))
        removal.start()
        ended = True
        try:
            session.resume(run.folder.name)
        except InputError as error:
            ended = False
            assert "was removed or moved while it was trained" in str(error)
        removal.join()
        assert not run.folder.exists() or (ended and failed != [0]), sorted(run.folder.rglob("*"))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_may_no_longer_be_written_is_said(run_of, monkeypatch, number):
    run, write = run_of("denied"), runs.write_tensors

    def denied(path, tensors):
        if "step-000010" in str(path):
            raise OSError(number, os.strerror(number))
        return write(path, tensors)

    monkeypatch.setattr(runs, "write_tensors", denied)
    said = "its last good checkpoint is kept. Make it writable and resume with: tslens train --resume denied"
    with pytest.raises(OSError, match=said):
        session.resume("denied")
    monkeypatch.setattr(runs, "write_tensors", write)
    session.resume("denied")
    assert (run.folder / runs.CONFIG).is_file()


def test_a_clock_that_is_set_back_changes_nothing(run_of, monkeypatch):
    run_of("usual")
    session.resume("usual")
    run_of("back")
    years = itertools.count(2e9, -1e7)
    monkeypatch.setattr(time, "time", lambda: next(years))
    session.resume("back")
    usual, back = ((Path("runs") / name / runs.WEIGHTS).read_bytes() for name in ("usual", "back"))
    assert usual == back


def test_a_run_that_has_not_ended_is_no_model_yet(run_of, refused):
    run = run_of("begun")

    class Stop(BaseException):
        pass

    with refused("runs/begun is a run that has not ended.* finish it with: tslens train --resume begun."):
        models.load("begun")

    def stop(position):
        if position.step == 7:
            raise Stop

    with pytest.raises(Stop):
        session.resume("begun", watch=stop)
    for name in ("begun", run.folder):
        with refused("As it is now: begun@5"):
            models.load(name)
    assert models.load("begun@5")


@pytest.mark.parametrize("name", ["tokens.bin", "starts.bin", "pack.json"])
def test_cut_off_data_of_a_run_is_packed_again_once_it_is_removed(run_of, refused, name):
    run = run_of("cut")
    whole = (run.folder / "data/tokens.bin").read_bytes()
    with (run.folder / "data" / name).open("r+b") as file:
        file.truncate(50)
    with refused(f"data.{name} .* remove runs/cut/data and pack its stories again .resuming a run does so by itself"):
        session.resume("cut")
    shutil.rmtree(run.folder / "data")
    session.resume("cut")
    assert (run.folder / "data/tokens.bin").read_bytes() == whole and (run.folder / runs.CONFIG).is_file()


def test_a_process_is_an_orphan_when_its_parent_changes():
    assert not World().orphaned and not World(0, 2).orphaned
    assert World(0, 2, parent=os.getppid() + 1).orphaned and not World(parent=os.getppid() + 1).orphaned


def test_sigterm_is_deferred_to_the_end_of_a_block_and_dropped_if_the_block_raises(refused):
    before, done = signal.getsignal(signal.SIGTERM), False
    with pytest.raises(KeyboardInterrupt), interrupt.sigterm_deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        done = True
    assert done
    with refused("of its own"), interrupt.sigterm_deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        raise InputError("of its own")
    assert signal.getsignal(signal.SIGTERM) is before


def begun(folder: Path, said: Path, small: dict[str, str]) -> tuple["subprocess.Popen[bytes]", list[int]]:
    """A `torchrun` of two processes that train, and these."""
    chosen = [f"--set={key}={value}" for key, value in (small | LONG).items()]
    environment = os.environ | {
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with said.open("wb") as err:
        command = [*TORCHRUN, "-m", "tslens", "train", "16x1x2", "--name", "two", *chosen]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=err)
    end = time.monotonic() + 300
    while not list((folder / "runs/two/checkpoints").glob("step-*")):
        assert process.poll() is None and time.monotonic() < end, said.read_text()[-2000:]
        time.sleep(0.1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return process, [int(child) for child in children]


@pytest.mark.thorough
@pytest.mark.parametrize("number", [0, 1])
def test_a_killed_process_ends_the_others_with_one_line(in_tmp, small, number):
    said = in_tmp / "said.txt"
    process, children = begun(in_tmp, said, small)
    os.kill(children[number], signal.SIGKILL)
    assert process.wait(120) != 0
    lines = [line for line in said.read_text().splitlines() if line.startswith("tslens: ")]
    assert len(lines) == 1 and lines[0].endswith("tslens train --resume two"), said.read_text()[-2000:]
    ended = (f"so number {1 - number} does too", "stopped at once")  # the latter by torchrun's SIGTERM
    assert any(words in lines[0] for words in ended)
    assert "this is a defect" not in said.read_text()


@pytest.mark.thorough
def test_a_killed_torchrun_leaves_no_process_and_a_checkpoint(in_tmp, small):
    said = in_tmp / "said.txt"
    process, children = begun(in_tmp, said, small)
    process.kill()
    process.wait()
    end = time.monotonic() + 120
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "saved. To go on: tslens train --resume two" in said.read_text()
    assert "Traceback" not in said.read_text() and runs.steps(in_tmp / "runs/two/checkpoints")


def test_a_finished_run_without_checkpoints_is_not_trained_anew(train_of, refused):
    folder = train_of("r").run.folder
    before = (folder / runs.WEIGHTS).read_bytes()
    shutil.rmtree(folder / "checkpoints")
    with refused("r is finished, and its checkpoints are gone: it stays the model that it is"):
        session.resume("r")
    assert (folder / runs.WEIGHTS).read_bytes() == before
    (folder / "checkpoints").write_text("")
    with refused("checkpoints is no folder, and the checkpoints of the run are written there: move it away"):
        session.resume("r")


def test_a_run_that_lost_its_checkpoints_says_that_it_begins_anew(train_of, capsys):
    folder = train_of("r").run.folder
    shutil.rmtree(folder / "checkpoints")
    for name in (runs.CONFIG, runs.WEIGHTS):
        (folder / name).unlink()
    capsys.readouterr()
    session.resume("r")
    assert "r has no checkpoint: training begins at step 0." in capsys.readouterr().err


@pytest.mark.parametrize("makes", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("lost")])
def test_what_is_no_file_of_a_run_has_the_right_sentence(train_of, capsys, makes):
    folder = train_of("r").run.folder
    loss, plot = ["loss", "--model", "r"], ["plot", "r"]
    for name, words in {
        runs.CONFIG: loss,
        runs.WEIGHTS: loss,
        runs.TOKENIZER: loss,
        "data/validation.jsonl": loss,
        runs.METRICS: plot,
        runs.RECIPE: ["train", "--resume", "r"],
    }.items():
        kept = (folder / name).rename(folder / "kept")
        makes(folder / name)
        capsys.readouterr()
        assert cli.main(words) == 2, name
        said = capsys.readouterr().err
        kinds = ("is a pipe, not a file", "is a folder, not a file", "is a link to lost, which leads to no file")
        assert any(f"{name} {kind}" in said for kind in kinds), said
        (folder / name).rmdir() if (folder / name).is_dir() else (folder / name).unlink()
        kept.rename(folder / name)
