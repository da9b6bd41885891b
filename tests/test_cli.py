"""The frame of the command line: what a person sees when a command cannot do its work, and how fast help answers."""

import errno
import inspect
import os
import subprocess
import sys
import warnings
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from tslens import __version__, cli
from tslens.cli import commands as table_of_commands
from tslens.cli.commands import COMMANDS, Command
from tslens.errors import InputError

TROUBLES = {
    "value": InputError("no model is called '512x21'.\n  Did you mean '512x12'?"),
    "missing": FileNotFoundError(errno.ENOENT, "No such file or directory", "stories.txt"),
    "full": OSError(errno.ENOSPC, "No space left on device"),
    "ours": OSError(errno.ENOSPC, "cannot write runs/a; make room"),
    "denied": PermissionError(errno.EACCES, "cannot write: the folder is read-only", "runs/a"),
    "stopped": KeyboardInterrupt(),
    "saved": KeyboardInterrupt("stopped at step 40; to go on: tslens train --resume runs/a"),
    "no memory": MemoryError(),
    "memory": MemoryError("of 3 GB"),
}
DEFECTS = {
    "type": TypeError("a defect of ours"),
    "value": ValueError("zip() argument 2 is longer than argument 1"),
    "runtime": RuntimeError("shapes do not match"),
    "lookup": KeyError("spec"),
    "descriptor": OSError(errno.EBADF, "Bad file descriptor"),
    "timeout": TimeoutError("of a library"),
    "library": FileNotFoundError(2, "No such file or directory", str(Path(pytest.__file__).with_name("gone.json"))),
    "package": FileNotFoundError(2, "No such file or directory", str(Path(cli.__file__).with_name("gone.toml"))),
}


def fail(trouble: str = "value") -> None:
    """Fail in one of several ways.

    Second paragraph.
    """
    raise TROUBLES[trouble]


def err(defect: str) -> None:
    """Err as only a defect of tslens does."""
    raise DEFECTS[defect]


def mismatch() -> None:
    """Pair three with two."""
    list(zip([1, 2, 3], [1, 2], strict=True))


def show(path: Path, *, n: int = 1, how: Literal["plain", "fancy"] = "plain") -> None:
    """Print the path n times."""
    print(*[path] * n, how)


def deep() -> int:
    """Return a number of its own as exit code."""
    return 3


def warn(place: str) -> None:
    """Warn as if from a line of that file."""
    warnings.warn_explicit("tales.txt has no mark;\nput it there", UserWarning, place, 1)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few commands of this module in place of the library's own."""
    table = {"fail": fail, "err": err, "mismatch": mismatch, "show": show, "warn": warn}
    table |= {"analyze deep": deep, "analyze deeper": deep}
    rows = [Command(words, f"{__name__}:{f.__name__}", f"{words}, in short.") for words, f in table.items()]
    monkeypatch.setattr(table_of_commands, "COMMANDS", tuple(rows))
    monkeypatch.delenv("TSLENS_DEBUG", raising=False)


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """What stands on stderr, which must be one line that begins with the program's name; stdout must be empty."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tslens: ") and err.count("\n") == 1 and err.endswith("\n")
    return err


@pytest.mark.usefixtures("commands")
class TestFrame:
    def test_a_command_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["show", "a.txt", "--n", "2"]) == 0
        assert capsys.readouterr() == ("a.txt a.txt plain\n", "")

    def test_exit_code_of_a_command(self) -> None:
        assert cli.main(["analyze", "deep"]) == 3

    def test_a_group_with_a_command_of_its_own_name(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rows = [("eval", "show", "Print the path n times."), ("eval deep", "deep", "Return a number.")]
        table = tuple(Command(words, f"{__name__}:{function}", text) for words, function, text in rows)
        monkeypatch.setattr(table_of_commands, "COMMANDS", table)
        assert cli.main(["eval", "deep"]) == 3
        assert cli.main(["eval", "a.txt"]) == 0
        assert capsys.readouterr().out == "a.txt plain\n"
        assert cli.main(["eval", "--help"]) == 0
        shown = capsys.readouterr().out
        assert "Print the path" in shown and "deep" in shown
        assert cli.main(["eval", "deep", "--help"]) == 0
        assert "Return a number of its own" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("trouble", "line"),
        [
            ("value", "tslens: no model is called '512x21'. Did you mean '512x12'?\n"),
            ("missing", "tslens: no such file or directory: stories.txt. Check its path.\n"),
            ("full", "tslens: no space left on device. Make room, or give another place.\n"),
            ("ours", "tslens: cannot write runs/a; make room\n"),
            ("memory", "tslens: not enough memory: of 3 GB. Give a smaller shape, batch or context.\n"),
            ("no memory", "tslens: not enough memory. Give a smaller shape, batch or context.\n"),
            ("denied", "tslens: cannot write: the folder is read-only: runs/a\n"),
        ],
    )
    def test_what_a_user_can_mend_is_one_line(
        self, trouble: str, line: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["fail", trouble]) == 2
        assert complaint(capsys) == line

    @pytest.mark.parametrize(
        ("trouble", "line"),
        [
            ("stopped", "tslens: interrupted\n"),
            ("saved", "tslens: stopped at step 40; to go on: tslens train --resume runs/a\n"),
        ],
    )
    def test_interrupt(self, trouble: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["fail", trouble]) == 130
        assert complaint(capsys) == line

    @pytest.mark.filterwarnings("default")
    def test_a_warning_of_ours_is_one_line_and_others_stay_as_they_are(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        theirs: list[str] = []
        monkeypatch.setattr(warnings, "showwarning", lambda message, *_: theirs.append(str(message)))
        assert cli.main(["warn", inspect.getfile(cli)]) == 0
        assert capsys.readouterr().err == "tslens: warning: tales.txt has no mark; put it there\n" and not theirs
        assert cli.main(["warn", __file__]) == 0
        assert capsys.readouterr().err == "" and theirs == ["tales.txt has no mark;\nput it there"]

    @pytest.mark.parametrize("defect", DEFECTS)
    def test_a_defect_shows_its_traceback_and_how_to_report_it(
        self, defect: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["err", defect]) == 1
        out, error = capsys.readouterr()
        *trace, last = error.splitlines()
        assert out == "" and trace[0] == "Traceback (most recent call last):"
        assert trace[-1] == f"{type(DEFECTS[defect]).__name__}: {DEFECTS[defect]}"
        assert last.startswith("tslens: this is a defect of tslens")
        assert f"(tslens err {defect})" in last and f"tslens {__version__}, Python 3" in last

    def test_a_mismatched_zip_is_no_bad_input(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["mismatch"]) == 1
        error = capsys.readouterr().err
        assert "list(zip([1, 2, 3], [1, 2], strict=True))" in error and "ValueError: zip()" in error

    def test_debug_shows_the_traceback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TSLENS_DEBUG", "1")
        with pytest.raises(ValueError, match="512x21"):
            cli.main(["fail"])

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (
                ["shwo"],
                ["'shwo'", "Did you mean 'show'?", "Known: analyze, err, fail, mismatch, show, warn", "tslens --help"],
            ),
            (["zzz"], ["'zzz'", "Known: analyze, err, fail, mismatch, show, warn"]),
            (["analyze", "depe"], ["'depe'", "'deep'", "Known: deep, deeper", "tslens analyze --help"]),
            (["show", "a", "--m", "2"], ["--m", "tslens show --help"]),
            (["show", "a", "--hwo", "fancy"], ["--hwo", "Did you mean --how?"]),
            (["show", "a", "--how", "fanciest"], ["fanciest", "plain", "fancy"]),
            (["show", "a", "--n", "two"], ["--n", "two", "int"]),
            (["show"], ["--path", "tslens show --help"]),
            (["show", "a", "b", "c", "d", "e"], ["tslens show --help"]),
        ],
    )
    def test_a_slip_of_typing_is_one_line(
        self, arguments: list[str], told: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(arguments) == 2
        line = complaint(capsys)
        for part in told:
            assert part in line

    def test_help_lists_commands_and_imports_none(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(table_of_commands, "COMMANDS", (Command("ghost", "tslens.no_such_module:ghost", "Haunt."),))
        assert cli.main(["--help"]) == 0
        assert "Haunt." in capsys.readouterr().out
        assert cli.main(["gost"]) == 2
        assert "Did you mean 'ghost'?" in complaint(capsys)

    def test_help_of_a_command_is_its_docstring(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["fail", "--help"]) == 0
        assert "Second paragraph." in capsys.readouterr().out

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["--version"]) == 0
        assert capsys.readouterr().out == f"tslens {__version__}\n"

    def test_offline_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        switches = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
        for switch in switches:
            monkeypatch.delenv(switch, raising=False)
        cli.main(["analyze", "deep"])
        assert not any(switch in os.environ for switch in switches)
        monkeypatch.setenv("TSLENS_OFFLINE", "1")
        try:
            cli.main(["analyze", "deep"])
            assert all(os.environ[switch] == "1" for switch in switches)
        finally:
            for switch in switches:
                os.environ.pop(switch, None)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_every_command_exists_and_says_in_the_list_what_it_says_itself(command: Command) -> None:
    module, function = command.path.split(":")
    documentation = inspect.getdoc(getattr(import_module(module), function))
    assert documentation is not None
    assert documentation.split("\n\n")[0].replace("\n", " ") == command.help


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_every_command_has_help(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([*command.words.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert f"tslens {command.words}" in said
    about = said.partition("╭")[0].partition("\n\n")[2].strip().split("\n\n")
    for paragraph in about:  # no line ends where the first word of the next one still fits
        lines = [line.rstrip() for line in paragraph.splitlines()]
        assert all(len(a) + 1 + len(b.split()[0]) > 80 for a, b in pairwise(lines))


def test_every_module_of_the_folder_has_a_command(checkout: Path) -> None:
    """A command that `COMMANDS` forgets could not be called."""
    without = {
        "bounds",
        "commands",
        "delivery",
        "failures",
        "graders",
        "large_model",
        "options",
        "recipes",
        "suites",
        "usual",
    }
    stems = {path.stem for path in (checkout / "tslens" / "cli").glob("[!_]*.py")}
    assert {f"tslens.cli.{stem}" for stem in stems - without} == {command.path.split(":")[0] for command in COMMANDS}


def test_a_reader_that_leaves_is_no_trouble() -> None:
    code = (
        "import os, sys; from tslens import cli\n"
        "def flood():\n    'Flood.'\n    [print('x' * 100) for _ in range(10_000)]\n"
        "sys.modules['flooding'] = type(sys)('flooding'); sys.modules['flooding'].flood = flood\n"
        "cli.commands.COMMANDS = (cli.commands.Command('flood', 'flooding:flood', 'Flood.'),)\n"
        "sys.exit(cli.main(['flood']))"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert writer.stdout is not None and writer.stderr is not None
    with writer.stdout, writer.stderr:
        writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.wait() == 141


def test_python_dash_m() -> None:
    done = subprocess.run([sys.executable, "-m", "tslens", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tslens {__version__}\n"
