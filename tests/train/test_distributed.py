"""Several processes train as one does, each its share; one of them writes."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tslens import runs
from tslens.stories import stories
from tslens.train import recipe as recipes
from tslens.train.data import TrainingBatch
from tslens.train.distributed import World, process_group
from tslens.train.session import prepare, train

CPU = torch.device("cpu")
KINDS = "dog cat fox hen cow".split()
SMALL = {
    "data.source": "stories.txt",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "8",
    "train.steps": "50",
    "train.validate_every": "5",
    "train.checkpoint_every": "20",
    "train.validation_stories": "4",
    "train.precision": "float32",
    "optimizer.method": "adamw",  # Muon orthogonalises in bfloat16, which makes much of a difference in rounding
    "optimizer.lr": "2e-3",
}
FREE = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]  # a port that is free
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", *FREE]

# Two forked processes, each told its rank as torchrun would; rank 1 says what it opens to write and renames. Every
# group meets at a port that was free when it started.
FORKED = """
import json, os, signal, socket, sys
import transformer_lens
from tslens.train import session

written = []

def watch_writes(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        written.append(str(arguments[0]))
    elif event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir") and os.path.exists(arguments[0]):
        written.append(f"{event} {arguments[0]}")

def until(step):
    def watch(at):
        if at.step == step:
            leave()  # as a kill would: an exception would wait for the other process while it is taken apart
    return watch

def leave():
    if os.environ.get("RANK") == "1":
        with open("written.json", "w") as file:
            json.dump([path for path in written if "runs" in path], file)
    os._exit(0)

def trained(name, rank, size, stop):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    if size == 1:
        del os.environ["RANK"]
    if rank == 1:
        sys.addaudithook(watch_writes)
    session.resume(name, watch=until(stop) if stop else None)
    leave()

for name, size, stop in json.loads(sys.argv[1]):
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(found.getsockname()[1])
    children = set()
    for rank in range(size):
        children.add(os.fork() or trained(name, rank, size, stop))
    while children:
        child, status = os.wait()
        children.remove(child)
        if status:
            for other in children:
                os.kill(other, signal.SIGKILL)  # it would wait for the one that failed, and hold the pipe open
            sys.exit(f"{name} with {size}: a process ended with {os.waitstatus_to_exitcode(status)}")
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder in which one process trained `alone`, and every other run has been prepared."""
    home, before = tmp_path_factory.mktemp("world"), Path.cwd()
    os.chdir(home)
    texts = (f"Once there was a {kind} with {n} spots. It ran to the {kind}." for n in range(99) for kind in KINDS)
    (home / "stories.txt").write_text("\n<|endoftext|>\n".join(texts))
    try:
        for name in ("grown", "shrunk"):
            prepare(recipes.load("16x1x2", SMALL), name)
        train(recipes.load("16x1x2", SMALL), "alone")
    finally:
        os.chdir(before)
    return home


@pytest.fixture(scope="module")
def environment():
    return os.environ | {"GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}


def losses(folder):
    return torch.tensor([r["train_loss"] for r in runs.read_metrics(folder)], dtype=torch.float64)


def weights(folder):
    return runs.read(folder)[1]


def assert_same_model(one, other):
    a, b = weights(one), weights(other)
    assert a.keys() == b.keys()
    assert max(float((a[name] - b[name]).abs().max()) for name in a) < 2e-4
    assert len(losses(one)) == len(losses(other)) == 10
    assert float((losses(one) - losses(other)).abs().max()) < 1e-5


@pytest.mark.thorough
def test_two_processes_under_torchrun_train_as_one_does(alone, environment):
    """By the command line, in pieces of two rows on each."""
    chosen = [f"--set={key}={value}" for key, value in (SMALL | {"train.micro_batch": "2"}).items()]
    command = [*TORCHRUN, "-m", "tslens", "train", "16x1x2", "--name", "both", *chosen]
    root = os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=alone, env=root, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("finished 50 steps") == done.stdout.count("50 steps\n") == 1
    assert "Traceback" not in done.stderr and "FutureWarning" not in done.stderr
    assert_same_model(alone / "runs/alone", alone / "runs/both")
    again = subprocess.run(command, cwd=alone, env=root, capture_output=True, text=True, timeout=400)
    said = [line for line in again.stderr.splitlines() if line.startswith(("tslens:", "[rank"))]
    assert again.returncode and len(said) == 1 and said[0].startswith("tslens: runs/both exists")


@pytest.mark.thorough
def test_a_run_goes_on_with_more_or_fewer_processes_and_one_writes(alone, environment):
    plan = [("grown", 1, 30), ("grown", 2, None), ("shrunk", 2, 30), ("shrunk", 1, None)]
    command = [sys.executable, "-c", FORKED, json.dumps(plan)]
    done = subprocess.run(command, cwd=alone, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("grown", "shrunk"):
        assert_same_model(alone / "runs/alone", alone / "runs" / name)
    assert json.loads((alone / "written.json").read_text()) == []


def test_shares_of_a_batch_are_the_batch():
    tokens = torch.arange(7 * 3).view(7, 3)
    shares = [World(rank, 3, CPU).share(TrainingBatch(tokens)).tokens[:, 0].tolist() for rank in range(3)]
    assert shares == [[0, 9, 18], [3, 12], [6, 15]]
    assert World().share(TrainingBatch(tokens)).tokens is tokens


def test_one_process_asks_nobody():
    with process_group() as world:
        assert (world.rank, world.size, world.first) == (0, 1, True)
        assert world.any(True) and not world.any(False) and world.same(3)
        assert world.sum(torch.tensor(2.0)) == 2
        assert world.once(lambda: "made", lambda: "opened") == "made"
        world.wait()
    error = ValueError("said")
    assert World(0, 2, CPU).error_here(error, 2) is error
    other = World(1, 2, CPU).error_here(error, 2)
    assert isinstance(other, SystemExit) and other.code == 2


def test_more_processes_than_rows_or_gpus(in_tmp, monkeypatch):
    few = recipes.load("16x1x2", SMALL | {"train.batch": "1", "data.source": "made", "data.limit": "300"})
    with monkeypatch.context() as patch:
        patch.setattr("tslens.train.session.process_group", lambda name: contextlib.nullcontext(World(0, 2, CPU)))
        with pytest.raises(ValueError, match="train.batch is 1 row, fewer than the 2 processes"):
            train(few, "few")
    assert not list(in_tmp.iterdir())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    for key, value in {"RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "5", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(ValueError, match="process 6 on a machine of 4 GPUs. Use --nproc-per-node 4"), process_group():
        pass


@pytest.mark.thorough
def test_by_muon_two_processes_train_as_one_does_but_for_its_rounding(in_tmp, environment):
    """Muon orthogonalises in bfloat16, so a gradient that is summed in another order may come out a rounding of that
    apart."""
    told = (f"Once there was a {kind} with {n} spots. It ran to the {kind}." for n in range(99) for kind in KINDS)
    (in_tmp / "stories.txt").write_text("\n<|endoftext|>\n".join(told))
    chosen = SMALL | {"optimizer.method": "muon", "optimizer.lr": "1e-2"}
    for name in ("muon-1", "muon-2"):
        prepare(recipes.load("16x1x2", chosen), name)
    command = [sys.executable, "-c", FORKED, json.dumps([("muon-1", 1, None), ("muon-2", 2, None)])]
    done = subprocess.run(command, cwd=in_tmp, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (losses(in_tmp / "runs" / name) for name in ("muon-1", "muon-2"))
    assert len(one) == len(two) == 10 and float(one[0] - one[-1]) > 1
    assert float((one - two).abs().max()) < 1e-3


UNEVEN = {
    "instruct": {"model.n_ctx": "200", "train.batch": "5", "train.micro_batch": "1"},
    "contrastive": {"train.batch": "15", "train.micro_batch": "3"},
}


@pytest.mark.thorough
def test_uneven_shares_weigh_as_much_as_they_predict(in_tmp, environment):
    """Of five groups one process computes three and the other two, each by itself; an instruct row predicts as many
    tokens as its story has."""
    told = stories("made:instruct", limit=120)
    (in_tmp / "stories.txt").write_text("\n<|endoftext|>\n".join(told), encoding="utf-8")
    for name, more in UNEVEN.items():
        chosen = {"objective.name": name, "train.steps": "10", "train.validate_every": "1"} | more
        run = prepare(recipes.load("16x1x2", SMALL | chosen), f"{name}-1")
        shutil.copytree(run.folder, run.folder.with_name(f"{name}-2"))
        pieces = run.rows.batch(0).split(run.recipe.group)
        assert len(pieces) == 5 and (len({piece.predictions for piece in pieces}) > 1) == (name == "instruct")
    plan = [(f"{name}-{size}", size, None) for name in UNEVEN for size in (1, 2)]
    command = [sys.executable, "-c", FORKED, json.dumps(plan)]
    done = subprocess.run(command, cwd=in_tmp, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in UNEVEN:
        assert_same_model(in_tmp / "runs" / f"{name}-1", in_tmp / "runs" / f"{name}-2")
