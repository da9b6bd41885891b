"""One process writes a run; what a killed one leaves blocks nobody."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tslens.train import lock

HOLD = """
import sys, time
from pathlib import Path
from tslens.train import lock
with lock.held(Path("runs/a")):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def other(in_tmp):
    """Another process that holds the lock of runs/a."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_another_process_is_refused_until_it_dies(in_tmp, other):
    said = rf"runs/a is being written by process {other.pid} on .*Wait for it or stop it; or .* --name"
    with pytest.raises(ValueError, match=said), lock.held(Path("runs/a")):
        pass
    assert f"process {other.pid} on" in str(lock.holder(Path("runs/a")))
    assert lock.holder(Path("runs/b")) is None
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert Path("runs/.a.lock").exists() and lock.holder(Path("runs/a")) is None
    with lock.held(Path("runs/a")):
        assert lock.holder(Path("runs/a")) is not None
    assert not Path("runs/.a.lock").exists()


def test_who_holds_it_holds_it_on(in_tmp):
    with lock.held(Path("runs/a")):
        with lock.held(Path("runs/a")):
            pass
        assert lock.holder(Path("runs/a")) is not None
        with lock.held(Path("runs/b")):
            pass
    assert lock.holder(Path("runs/a")) is None
    assert list(in_tmp.iterdir()) == []


def test_what_was_there_stays(in_tmp):
    (in_tmp / "runs").mkdir()
    with pytest.raises(RuntimeError), lock.held(Path("runs/a")):
        raise RuntimeError
    assert list(in_tmp.iterdir()) == [in_tmp / "runs"] and not list((in_tmp / "runs").iterdir())


def test_a_lock_that_went_while_it_was_waited_for_is_taken_anew(in_tmp, monkeypatch):
    """Its holder removes the file in the moment between our opening and locking it."""
    real, calls = lock.fcntl.flock, []

    def flock(file, how):
        calls.append(how)
        if len(calls) == 1:
            Path("runs/.a.lock").unlink()
        real(file, how)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with lock.held(Path("runs/a")):
        assert len(calls) == 2 and Path("runs/.a.lock").exists()


def test_a_lock_that_comes_and_goes_while_it_is_looked_at_is_taken_anew(in_tmp, monkeypatch):
    """Its holder removes the file, a third process makes one and removes that in the moment in which we look."""
    flock, exists, calls = lock.fcntl.flock, Path.exists, []

    def other_file(file, how):
        calls.append(how)
        if len(calls) == 1:
            Path("runs/.a.lock").rename("third")
            Path("runs/.a.lock").touch()
        flock(file, how)

    def gone_since(path):
        found = exists(path)
        if path.name == ".a.lock":
            path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(lock.fcntl, "flock", other_file)
    monkeypatch.setattr(Path, "exists", gone_since)
    with lock.held(Path("runs/a")):
        assert len(calls) == 2
