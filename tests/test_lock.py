"""One process writes a run; what a killed one leaves blocks nobody."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Timer

import pytest

from tslens import lock
from tslens.errors import InputError

HOLD = """
import sys, time
from pathlib import Path
from tslens import lock
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


def test_the_lock_of_a_killed_process_is_swept_and_that_of_a_living_one_is_not(in_tmp):
    Path(".x.lock").write_text("process 1 on host")
    lock.sweep(Path("x"))
    assert not Path(".x.lock").exists()
    lock.sweep(Path("x"))
    with lock.held(Path("x")):
        lock.sweep(Path("x"))
        assert Path(".x.lock").exists()


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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps an open file")
@pytest.mark.parametrize("another_comes", [False, True])
def test_a_lock_that_went_while_it_was_waited_for_is_taken_anew(in_tmp, monkeypatch, another_comes):
    """Its holder removes the file in the moment between our opening and locking it, and a third process makes one."""
    import fcntl

    real, calls = fcntl.flock, []

    def flock(file, how):
        calls.append(how)
        if len(calls) == 1:
            Path("runs/.a.lock").unlink()
            if another_comes:
                Path("runs/.a.lock").touch()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with lock.held(Path("runs/a")):
        assert calls.count(fcntl.LOCK_EX | fcntl.LOCK_NB) == 2 and "process" in str(lock.holder(Path("runs/a")))
    assert not Path("runs/.a.lock").exists()


def test_another_thread_is_refused(in_tmp):
    """A lock is re-entrant in its thread alone."""
    with lock.held(Path("runs/a")), ThreadPoolExecutor(1) as pool:

        def take():
            with lock.held(Path("runs/a"), otherwise="wait"):
                pass

        with pytest.raises(InputError, match=rf"runs/a is being written by process {os.getpid()} on .*; or wait\.$"):
            pool.submit(take).result()


def test_a_lock_may_be_waited_for(in_tmp):
    """A short write is waited for; the wait ends when the lock is free, not when the time is up."""
    taken, free = Event(), Event()

    def take():
        with lock.held(Path("runs/a")):
            taken.set()
            free.wait(60)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(take)
        assert taken.wait(60)
        with pytest.raises(InputError, match="is being written by"), lock.held(Path("runs/a"), wait=0.2):
            pass
        Timer(0.5, free.set).start()
        began = time.monotonic()
        with lock.held(Path("runs/a"), wait=60):
            assert time.monotonic() - began < 30
        first.result()


def test_folders_made_for_a_lock_go_where_nothing_was_written(in_tmp):
    with lock.held(Path("x/y/a")):
        pass
    assert list(in_tmp.iterdir()) == []
    with lock.held(Path("x/y/a")):
        Path("x/b").touch()
    assert [p.as_posix() for p in Path("x").rglob("*")] == ["x/b"]
