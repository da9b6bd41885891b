"""Command lines on hostile input: run each in a process that is watched, and say what is wrong with its end.

A command must do its work (exit code 0) or refuse it in one clear line (exit code 2): no traceback, no silence, no
death of the process, no hang, no memory without bound, no `nan` for a number, and nothing half-written. After Ctrl-C it
must end within `LONGEST` too.
"""

import contextlib
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from tests.fuzz.answers import no_number, no_number_written

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 10.0
"""Seconds of a case: of the processor, as a busy machine makes no command hang; or of the clock in one sleep. On a
machine that takes longer to import everything, as long as that takes."""
MOST = 1_500 * 2**20  # bytes that a case may take at most
LINE = 1_000  # characters of a clear line
NO_NETWORK = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")
NO_MODEL = {
    "ANTHROPIC_API_KEY": "a-key",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "TSLENS_OFFLINE": "1",
    "NO_PROXY": "127.0.0.1",
}
"""What lets a command ask a large model, at an address that refuses every connection."""
BEGAN = 900.0  # seconds that the process may take to import everything, on a machine that others use

DRAWN = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
"""How cases are drawn: all anew, by a seed, without shrinking those that fail."""


@dataclass(frozen=True)
class Case:
    """A command line in a folder."""

    folder: Path
    arguments: Sequence[str]
    stop: float = 0.0
    """After so many seconds it is stopped by Ctrl-C, as what was asked for is long; 0 for never."""
    environment: dict[str, str] = field(default_factory=dict)
    names: str = ""
    """What the command was given that holds names alone, which it prints as they are."""
    beyond: bool = False
    """Whether a value is beyond the bound of its option: then it is refused, not stopped."""

    def __str__(self) -> str:
        return f"cd {self.folder} && tslens {shlex.join(self.arguments)}"[:4_000]


@dataclass(frozen=True)
class Report:
    """What became of a case."""

    code: object
    """The exit code, or in words how the process ended."""
    out: str
    err: str
    seconds: float = 0.0
    more: int = 0
    """Bytes of memory that it took at most, beyond what was taken before."""
    began: float = 0.0
    """The clock at its beginning: what is younger was written by it, and what was changed for it is older."""


def _processor(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _sleeps(pid: int) -> bool:
    """Whether a process waits for something other than a processor."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return False


class Runner:
    """A process that runs cases; one that died or hung is started anew."""

    def __init__(self, home: Path, longest: float = LONGEST) -> None:
        self.home = home
        self.ran = self.stopped = 0
        """Cases that were run, and those of them that still worked when Ctrl-C came."""
        self.longest = longest
        self._process: subprocess.Popen[str] | None = None

    def _start(self) -> None:
        reads, writes = os.pipe()
        self._reports = os.fdopen(reads)
        self._hung = self.home / "hung.txt"
        environment = os.environ | dict.fromkeys(NO_NETWORK, "1") | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
        environment |= {"TOKENIZERS_PARALLELISM": "false", "HF_HOME": str(self.home / "hub"), "PYTHONPATH": str(ROOT)}
        environment |= {"XDG_CONFIG_HOME": str(self.home / "config"), "COLUMNS": "80"}
        environment |= NO_MODEL
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("worker.py")), str(writes), str(self._hung)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            text=True, pass_fds=[writes], cwd=self.home, env=environment,
        )  # fmt: skip
        os.close(writes)
        if self._line(BEGAN) != "ready":
            self.close()  # its late line would be taken for a report
            raise RuntimeError(f"the process that runs cases did not begin in {BEGAN:.0f} s")
        self.longest = max(self.longest, _processor(self._process.pid))

    def _line(self, seconds: float) -> Any:
        """The next report; None if none comes in time, or the process has ended."""
        ready, _, _ = select.select([self._reports], [], [], seconds)
        line = self._reports.readline() if ready else ""
        return json.loads(line) if line.endswith("\n") else None

    def _watched(self, pid: int, limit: float) -> Any:
        """The report on the case under way; None if it hangs, or its process has ended."""
        began, used, awake = time.monotonic(), _processor(pid), _processor(pid)
        while (found := self._line(0.5)) is None:
            now = _processor(pid)
            if now != awake or not _sleeps(pid):
                began, awake = time.monotonic(), now
            if self._process is None or self._process.poll() is not None:
                return None
            if time.monotonic() - began > limit or now - used > limit:
                return self._dumped(pid)
        return found

    def _dumped(self, pid: int) -> None:
        """Let a hanging process write where it is."""
        assert self._process is not None
        if self._process.poll() is None:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(2)

    def run(self, case: Case) -> Report:
        """Run a case and report on it."""
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None
        out, err = self.home / "out", self.home / "err"
        order = {"folder": str(case.folder), "arguments": list(case.arguments), "stop": case.stop}
        print(
            json.dumps(order | {"out": str(out), "err": str(err), "environment": case.environment}),
            file=process.stdin,
            flush=True,
        )
        began = time.time()
        found = self._watched(process.pid, self.longest + case.stop)
        self.ran += 1
        texts = {
            name: path.read_text("utf-8", "replace") if path.exists() else ""
            for name, path in (("out", out), ("err", err))
        }
        if found is not None:
            return Report(**texts, **found, began=began)
        ended = process.poll()
        code = f"hanging\n{self._hung.read_text()}" if ended is None else f"the end of its process, by {ended}"
        self.close()
        return Report(code, **texts, began=began)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._reports.close()
            self._process = None


def leftovers(folder: Path) -> list[str]:
    """What is half-written in a folder."""
    found = []
    for home, folders, names in os.walk(folder):
        found += [
            str(Path(home, name).relative_to(folder)) for name in (*folders, *names) if name.endswith((".tmp", ".lock"))
        ]
    return found


def fault(report: Report, folder: Path, *, stop: float = 0.0, longest: float = LONGEST, names: str = "") -> str:
    """What is wrong with the end of a case, in words; empty if nothing is. It may have been stopped by Ctrl-C after
    `stop` seconds. `names` is of a `Case`."""
    said = report.out + report.err
    if any(word in said for word in ("Traceback", "this is a defect", "panicked")):
        return "a traceback"
    if report.code not in ((0, 2, 130) if stop else (0, 2)):
        return f"it ended with {report.code}"
    if report.seconds > longest + stop:
        return f"it took {report.seconds:.0f} s"
    if report.more > MOST:
        return f"it took {report.more / 2**20:,.0f} MB"
    if "not enough memory" in report.err:
        return "it asked for more memory than there is"
    if left := leftovers(folder):
        return f"left behind: {', '.join(left)}"
    return _refusal_fault(report) if report.code == 2 else _answer_fault(report, folder, names)


def _answer_fault(report: Report, folder: Path, names: str) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if report.code != 0:
        return ""
    if not (report.out + report.err).strip():
        return "it said nothing"
    if found := no_number(report.out, names):
        return f"a number that is none: {found!r}"
    if found := no_number_written(folder, report.began):
        return f"a number that is none was written: {found}"
    return ""


def _refusal_fault(report: Report) -> str:
    """What is wrong with the line of a refusal; empty if nothing is."""
    said = report.err.split("\n")
    lines = [line for line in said if line.startswith("tslens: ") and not line.startswith("tslens: warning:")]
    if len(lines) != 1 or said[-2:] != [lines[0], ""]:
        return "not one line at the end"
    if len(lines[0]) > LINE:
        return f"a line of {len(lines[0]):,} characters"
    if not lines[0].isprintable():
        return "a line that is not plain text"
    return "" if len(lines[0].split()) > 3 else "a line that says nothing"


def check(runner: Runner, case: Case, about: object = "") -> str:
    """Run a case. What is wrong with its end, with the command and the folder, which is kept; empty, and the folder
    removed, if nothing is."""
    report = runner.run(case)
    wrong = fault(report, case.folder, stop=case.stop, longest=runner.longest, names=case.names)
    if case.beyond and report.code != 2:
        wrong = wrong or "a value beyond its bound is not refused"
    runner.stopped += report.code == 130
    if not wrong:
        shutil.rmtree(case.folder, ignore_errors=True)
        return ""
    told = f"{wrong}\n{case}\n{about}\nexit code: {report.code}\nstderr: {report.err[-6_000:]}\nstdout: {report.out[-500:]}"
    return told.encode("utf-8", "backslashreplace").decode()  # what is no text could not be reported


def report_all(wrong: Sequence[str]) -> None:
    """AssertionError with what is wrong with cases, if anything is."""
    found = [one for one in wrong if one]
    assert not found, f"{len(found)} of {len(wrong)} cases:\n\n" + "\n\n".join(found)
