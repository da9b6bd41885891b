"""The library from a shell: one command line in, an exit code out.

A command is a function in a module of this folder; its parameters are its flags and its docstring is its help. It is
named in `commands.COMMANDS` by its import path, so that `tslens --help` imports none of them. Options that several
commands share have their help in `options`.

Exit codes: 0 done; 1 a defect of tslens (its traceback is shown, and how to report it); 2 the input must be fixed (one
line on stderr says what was given, what is allowed and what to do); 3 a large model did not answer all that it was
asked; 130 interrupted. `TSLENS_DEBUG=1` shows the traceback always.

The network is used for two things, a Hugging Face id that the user names and a large model that the user asks;
`TSLENS_OFFLINE=1` forbids these too.
"""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from cyclopts import App, CycloptsError, Parameter

from tslens import __version__, interrupt
from tslens.cli import commands
from tslens.cli.bounds import largest
from tslens.cli.failures import complain, explain, is_out_of_memory, of_the_user, report_defect
from tslens.cli.options import bounded, refuse_unmeant
from tslens.errors import InputError
from tslens.tables import wide

WIDE = "--wide"
"""The flag of every command that prints all columns of its tables."""


def build_app(arguments: Sequence[str] = ()) -> App:
    """The cyclopts app with every command of `COMMANDS`, none of them imported, but for a command that is a group too
    (`tslens eval SUITE` beside `tslens eval all`), if the arguments name it."""
    app = App(
        name="tslens",
        help="Train small story models and say, with evidence, what their heads, neurons and layers do.\n\n"
        f"Tables fit the terminal; {WIDE}, with any command, prints all their columns.",
        version=f"tslens {__version__}",
        help_format="plaintext",
        suppress_keyboard_interrupt=False,  # main() reports it
        default_parameter=Parameter(validator=bounded),
        config=refuse_unmeant,  # cyclopts would round numbers
    )
    groups: dict[str, App] = {}
    for place, (words, path, help_line) in enumerate(commands.COMMANDS):
        *parents, name = words.split()
        parent = app
        for group in parents or [name] * (name in commands.GROUPS):
            if group not in groups:
                groups[group] = App(name=group, help=commands.GROUPS[group], sort_key=place)
                app.command(groups[group])
            parent = groups[group]
        if words not in commands.GROUPS:
            parent.command(path, name=name, help=help_line, sort_key=place)
        elif list(arguments[:1]) == [words]:
            module, _, function = path.partition(":")
            parent.default(getattr(import_module(module), function))
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    is_wide = WIDE in arguments
    arguments = [word for word in arguments if word != WIDE]
    _set_environment()
    _escape_what_cannot_be_printed()
    debug = os.environ.get("TSLENS_DEBUG", "") not in ("", "0")
    try:
        app = build_app(arguments)
        _use_docstring(app, arguments)
        with _warnings_in_one_line(), wide(is_wide):
            result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        # The reader left (`tslens ... | head`). Python flushes stdout once more on exit: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt as error:
        if debug:
            raise
        return complain(str(error) or "interrupted", 130)
    except (CycloptsError, InputError, OSError) as error:
        if debug:
            raise
        if isinstance(error, OSError) and not isinstance(error, InputError) and not of_the_user(error):
            return report_defect(error, arguments)
        return complain(explain(error, arguments), 2)
    except Exception as error:
        if interrupt.was_pressed() and not debug:
            return complain("interrupted", 130)
        if is_out_of_memory(error) and not debug:
            said = f": {error}" if str(error) else ""  # Python's own MemoryError says nothing
            return complain(f"not enough memory{said}. Give a smaller shape, batch or context.", 2)
        return report_defect(error, arguments)


def _set_environment() -> None:
    """Turn TSLENS_OFFLINE into the switches of the underlying libraries, which read them on first import."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    if os.environ.get("TSLENS_OFFLINE", "") not in ("", "0"):
        for switch in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
            os.environ[switch] = "1"


def _escape_what_cannot_be_printed() -> None:
    """Print a file's name that is no text, and a sign that the terminal does not know, as an escape, as errors are."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _use_docstring(app: App, arguments: Sequence[str]) -> None:
    """Give the command about to run its whole docstring as help, instead of the line in the list."""
    for chain in sorted((command.words.split() for command in commands.COMMANDS), key=len, reverse=True):
        if list(arguments[: len(chain)]) == chain:
            for word in chain:
                app = app[word]
            app.help = _described(app.default_command)
            if {"--help", "-h"} & set(arguments):
                app.help += _bounds(app, " ".join(chain))
            return


def _bounds(app: App, words: str) -> str:
    """The largest values of a command's options, as a paragraph of its help; empty where it has none."""
    names = [argument.name for argument in app.assemble_argument_collection(parse_docstring=False)]
    found = [f"{name} {most:,}" for name in names if (most := largest(words, name)) is not None]
    return f"\n\nLargest values: {', '.join(found)}." if found else ""


def _described(command: Callable[..., object] | None) -> str:
    """A command's docstring without its parameters, each paragraph on one line: the terminal breaks it anew."""
    text, *_ = (inspect.getdoc(command) or "").partition("\nParameters\n---")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print warnings of tslens in one line; leave those of other libraries unchanged."""
    usual = warnings.showwarning
    own = Path(__file__).resolve().parents[1]

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if Path(filename).resolve().is_relative_to(own):
            complain(f"warning: {message}", 0)
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual
