"""A run that is killed, whenever and however often, goes on to the very weights and records of one never killed."""

import json
import random
import subprocess
import sys

import pytest

from tslens import files, runs

# Forks a process for each training, having imported everything once; a killed one is killed by the kernel (SIGKILL).
KILLS = """
import json, os, shutil, signal, stat, sys, time
import transformer_lens
from tslens import files, runs
from tslens.train import recipe, session

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def at_step(n):
    def watch(at):
        if at.step == n:
            die()
    return watch

def at_write(n):
    "Die at the n-th time that a file is brought to the disk or a name changed, half of the file written."
    seen = [0]
    def doomed(real, half):
        def call(first, *rest, **options):
            seen[0] += 1
            if seen[0] == n:
                if half and stat.S_ISREG(os.fstat(first).st_mode):
                    os.ftruncate(first, os.fstat(first).st_size // 2)
                die()
            return real(first, *rest, **options)
        return call
    for name in ("fsync", "replace", "rename", "rmdir"):
        setattr(os, name, doomed(getattr(os, name), name == "fsync"))

def forked(name, *, step=None, write=None, after=None):
    "How a process that trains the run ended: its exit code, or minus the signal that killed it."
    child = os.fork()
    if child == 0:
        try:
            if write is not None:
                at_write(write)
            session.resume(name, watch=None if step is None else at_step(step))
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

ends = {}
for whole, overrides, plans in json.loads(sys.argv[1]):
    session.prepare(recipe.load("16x1x2", overrides), whole)
    shutil.copytree(f"runs/{whole}", "runs/.begun")
    began = time.perf_counter()
    ends[whole] = [forked(whole)]
    took = time.perf_counter() - began
    for name, plan in plans.items():
        shutil.copytree("runs/.begun", f"runs/{name}")
        kills = [{"after": share * took} if kind == "after" else {kind: share} for kind, share in plan]
        ends[name] = [forked(name, **kill) for kill in kills] + [forked(name)]
    shutil.rmtree("runs/.begun")
print(json.dumps(ends))
"""

SMALL = {
    "data.limit": "300",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "4",
    "train.steps": "14",
    "train.validate_every": "6",
    "train.checkpoint_every": "4",
    "train.validation_stories": "4",
    "train.precision": '"float32"',
    "train.dropout": "0.1",
}
DRAWN = sorted(random.sample(range(1, 14), 3))  # others every time
# A training makes some 60 writes and renames: the numbers fall into checkpoints, snapshots and the last model.
KILLS_OF = {
    "steps": [("step", step) for step in DRAWN],
    "writing": [("write", 2), ("write", 17), ("write", 23), ("write", 8)],
    "written": [("write", 29), ("write", 12), ("write", 5)],
    "anytime": [("after", 0.3), ("after", 0.6), ("after", 0.8)],
}
ADAMW = {"optimizer.method": "adamw", "optimizer.lr": "2e-3"}
# By the run that is never killed: what all have chosen, and how each of the others is killed.
PLANS = {
    "whole": (SMALL, KILLS_OF),
    "bf16": (SMALL | {"train.precision": "bfloat16"}, {f"bf16-{k}": KILLS_OF[k] for k in ("steps", "writing")}),
    "adamw": (SMALL | ADAMW, {"adamw-steps": KILLS_OF["steps"]}),
}
KILLED = [(name, whole) for whole, (_, kills) in PLANS.items() for name in kills]


def kill(folder, plans, timeout=400):
    """How the processes of every run ended, by run, and what they wrote to stderr."""
    command = [sys.executable, "-c", KILLS, json.dumps([(whole, *plan) for whole, plan in plans.items()])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def check_same(home, name, whole, records):
    """A killed run ended in the weights, the config and the records of one never killed."""
    assert (home / name / "model.safetensors").read_bytes() == (home / whole / "model.safetensors").read_bytes(), name
    mine, never = (files.read_json(home / run / "config.json") for run in (name, whole))
    own = {"name", "config_sha256"}  # which is also of the name
    assert {k: mine[k] for k in mine.keys() - own} == {k: never[k] for k in never.keys() - own}
    assert records(home / name) == records(home / whole)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    ends, said = kill(folder, PLANS)
    return folder / "runs", ends, f"killed at the steps {DRAWN}: {said}"


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "whole"), KILLED)
def test_a_killed_run_ends_as_one_never_killed(killed, records, name, whole):
    home, ends, said = killed
    assert ends[whole] == [0] and ends[name][-1] == 0, said
    by_kernel = [end == -9 for end in ends[name][:-1]]
    assert all(by_kernel) if name != "anytime" else any(by_kernel)
    check_same(home, name, whole, records)


@pytest.mark.stress
@pytest.mark.parametrize("chosen", [{}, ADAMW, {"train.precision": "bfloat16"}], ids=["muon", "adamw", "bfloat16"])
def test_killed_at_every_write_and_every_step_it_ends_as_one_never_killed(in_tmp, records, chosen):
    """One kill at each of the first 70 writes, renames and removals, one at each step, and 40 at any time."""
    plans = {f"write-{n}": [("write", n)] for n in range(1, 71)} | {f"step-{n}": [("step", n)] for n in range(1, 14)}
    plans |= {f"after-{n}": [("after", (n + 0.5) / 40)] for n in range(40)}
    ends, said = kill(in_tmp, {"whole": (SMALL | chosen, plans)}, timeout=7200)
    assert sum(-9 in found for found in ends.values()) > 80
    for name in plans:
        assert ends[name][-1] == 0, said
        check_same(in_tmp / "runs", name, "whole", records)


@pytest.mark.thorough
def test_nothing_half_written_stays_and_no_lock_blocks(killed):
    home, _, said = killed
    for name, _ in KILLED:
        left = sorted(str(p.relative_to(home / name)) for p in (home / name).rglob("*") if ".tmp" in p.name)
        assert not left
        for kept, steps in (("checkpoints", [14, 12]), ("snapshots", [8, 4, 2, 1])):
            found = runs.steps(home / name / kept)
            assert [runs.step_of(place) for place in found] == steps
            for place in found:
                runs.read(place)
    assert not list(home.glob(".*.lock"))
    assert "warning" not in said  # nothing that a kill leaves looks like a damaged checkpoint
