"""A process that runs command lines, one after the other, as `tslens` does, and says what became of each.

It reads a case as one line of JSON from stdin and writes a report as one line to the file descriptor that it is given.
It imports once what commands import; the commands themselves run in this process. A case that never ends, or that ends
the process, is seen by the process that started this one.
"""

import contextlib
import faulthandler
import importlib
import io
import json
import os
import pkgutil
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOM = 3 * 2**30  # bytes that a case may take beyond what is taken before; more is refused by the system
STATUS, MAIN = Path("/proc/self/status"), Path(f"/proc/self/task/{os.getpid()}/stat")


def _memory(name: str) -> int:
    """Bytes of this process by the kernel's name, such as VmHWM, the peak."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def _limited() -> None:
    """Let the system refuse what is far more than a case may take, before the machine has no memory left."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_memory("VmData") + ROOM, most))


def _press(after: float, ended: threading.Event) -> None:
    """Press Ctrl-C once so many seconds of the processor are used, or the case has slept for as long: on a busy machine
    too, where commands are longer at their imports."""
    began, woke = time.process_time(), time.monotonic()
    while not ended.wait(0.05):
        if MAIN.read_text().rpartition(")")[2].split()[0] != "S":
            woke = time.monotonic()
        if max(time.process_time() - began, time.monotonic() - woke) > after:
            os.kill(os.getpid(), signal.SIGINT)
            return


def _import_all() -> None:
    """Import every module of ours, and what they import: a stopped case leaves no half of one."""
    import tslens

    for module in pkgutil.walk_packages(tslens.__path__, "tslens."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _run(case: dict[str, Any]) -> dict[str, Any]:
    """Run one case in its folder; the report holds the exit code, what was written, the seconds and the peak."""
    from tslens.cli import main

    os.chdir(case["folder"])
    os.environ.update(case["environment"])
    _limited()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, said = _memory("VmRSS"), {}
    for number, name in ((1, "out"), (2, "err")):
        said[name] = os.open(case[name], os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(said[name], number)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
    ended = threading.Event()
    stopper = threading.Thread(target=_press, args=(case["stop"], ended)) if case["stop"] else None
    began = time.process_time()
    try:
        if stopper is not None:
            stopper.start()
        code: object = main(case["arguments"])
    except BaseException as error:  # whatever comes out of `main` is a finding
        code = f"{type(error).__name__}: {error}"[:1_000]
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            ended.set()
            if stopper is not None:
                stopper.join()
            time.sleep(0)
    return {"code": code, "seconds": time.process_time() - began, "more": max(0, _memory("VmHWM") - before)}


def serve(reports: int, hangs: str) -> None:
    """Run the cases of stdin until it ends."""
    import anthropic  # noqa: F401
    import datasets  # noqa: F401
    import matplotlib.pyplot
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import sae_lens  # noqa: F401
    import torch
    import transformer_lens  # noqa: F401
    import transformers  # noqa: F401

    from tslens import interrupt

    _import_all()
    torch.set_num_threads(1)
    home = Path.cwd()
    with os.fdopen(reports, "w") as out, Path(hangs).open("w") as hung:
        faulthandler.register(signal.SIGUSR1, file=hung, all_threads=False)
        print(json.dumps("ready"), file=out, flush=True)
        for line in sys.stdin:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            interrupt._pressed.clear()
            interrupt.note_ctrl_c()
            torch.set_grad_enabled(True)  # a stopped case may have left `no_grad` half entered
            report = _run(json.loads(line))
            os.chdir(home)
            matplotlib.pyplot.close("all")
            print(json.dumps(report), file=out, flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
