"""A process that runs commands in processes of their own, kills some of them at random, and runs each again.

It reads a plan as JSON and prints a report as JSON. It imports once what commands import and then forks, so that a kill
hits the command and not its imports.
"""

import json
import os
import random
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGKILL")
"""What is sent to a command after some seconds, in turn."""
REMEDY = re.compile(r"tslens (train --resume \S+?)\.?(?:\s|$)")
"""A command that a refusal names to go on."""


def _die_at_write(number: int | None) -> Callable[[], int]:
    """End this process at the n-th time that a file is brought to the disk or a name changes, half of it written; what
    is returned tells how often that has happened."""
    seen = 0

    def doomed(real: Any, halves: bool) -> Any:
        def call(first: Any, *rest: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == number:
                if halves and stat.S_ISREG(os.fstat(first).st_mode):
                    os.ftruncate(first, os.fstat(first).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            return real(first, *rest, **options)

        return call

    for name in ("fsync", "replace", "rename", "rmdir"):
        setattr(os, name, doomed(getattr(os, name), name == "fsync"))
    return lambda: seen


def _child(folder: Path, words: list[str], said: Path, write: int | None) -> int:
    """Start a command in a folder; the process's id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.chdir(folder)
        os.environ["TSLENS_CACHE"] = str(folder / "cache")
        for number, kind in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{said}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        writes = _die_at_write(write)
        from tslens import interrupt
        from tslens.cli import main

        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupt.note_ctrl_c()
        code = main(words)
        Path(f"{said}.writes").write_text(str(writes()))
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:  # outside `main`, where Python itself would end
        code = 130
    finally:
        os._exit(code)


def _run(
    folder: Path,
    words: list[str],
    said: Path,
    after: float | None = None,
    write: int | None = None,
    by: str = "SIGKILL",
) -> int:
    """Run a command, sent a signal after so many seconds or killed at a write; its exit code, or minus the signal that
    ended it."""
    child = _child(folder, words, said, write)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.Signals[by])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _copied(plan: dict[str, Any], name: str, place: Path) -> Path:
    """A folder with what a command needs."""
    for one in plan["needs"][name]:
        source = Path(plan["valid"], one)
        (place / one).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, place / one) if source.is_dir() else shutil.copy(source, place / one)
    return place


def _undisturbed(plan: dict[str, Any], name: str, home: Path) -> tuple[float, int]:
    """Run a command twice, the first time so that it is warm; the seconds and the writes of the second."""
    for which in ("warm", "whole"):
        place = _copied(plan, name, home / name / which)
        began = time.perf_counter()
        code = _run(place, plan["commands"][name], home / name / f"{which}-said")
        assert code == 0, (name, Path(f"{home / name / which}-said.err").read_text())
    return time.perf_counter() - began, int(Path(f"{home / name / 'whole'}-said.writes").read_text())


def rehearse(plan: dict[str, Any], home: Path) -> list[dict[str, Any]]:
    """Run every command of the plan undisturbed, and then killed so many times and again; a report of each kill.

    A refusal is followed by the command that it names, if any.
    """
    drawn, found = random.Random(plan["seed"]), []
    for name, words in plan["commands"].items():
        took, writes = _undisturbed(plan, name, home)
        for number in range(plan["kills"]):
            place, said = _copied(plan, name, home / name / str(number)), home / name / f"{number}-said"
            how = {"write": drawn.randint(1, writes)}
            if number % 2:
                how = {"after": drawn.random() * took, "by": SIGNALS[number // 2 % len(SIGNALS)]}
            killed = _run(place, words, home / name / f"{number}-killed", **how)
            again = _run(place, words, said)
            named = REMEDY.search(Path(f"{said}.err").read_text()) if again == 2 else None
            resumed = _run(place, named[1].split(), home / name / f"{number}-then") if named else None
            found.append({"name": name, "place": str(place), "said": str(said), "how": how})
            found[-1] |= {"killed": killed, "again": again, "resumed": resumed}
    return found


if __name__ == "__main__":
    import datasets  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401
    import torch
    import transformer_lens  # noqa: F401
    import transformers  # noqa: F401

    torch.set_num_threads(1)
    print(json.dumps(rehearse(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))))
