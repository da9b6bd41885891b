"""The library from a shell: which commands there are, and what a person sees when one cannot do its work.

A command is a function in a module of this folder; its parameters are its flags and its docstring is its help. It is
named in `COMMANDS` by its import path, so that `tslens --help` imports none of them.

Exit codes: 0 done; 2 the input must be mended (one line on stderr says what was given, what is allowed and what to
do); 130 interrupted. Anything else is a defect of tslens and shows its traceback. `TSLENS_DEBUG=1` shows the
traceback always.

The network is used for one thing, a Hugging Face id that the user names; `TSLENS_OFFLINE=1` forbids that too.
"""

import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from cyclopts import App, CycloptsError, UnknownCommandError

from tslens import __version__
from tslens.nearest import did_you_mean


class Command(NamedTuple):
    """A command: the words a person types, where its function lives, and its line in the help."""

    words: str
    path: str
    help: str


# In the order in which the help shows them. The last column is the first paragraph of the function's docstring.
COMMANDS: tuple[Command, ...] = (
    Command(
        "demo",
        "tslens.cli.demo:demo",
        "Make stories, train a small model on them, analyse it and write one offline page. Takes a few minutes.",
    ),
    Command(
        "report",
        "tslens.cli.report:report",
        "Write one HTML file that shows what a model's heads, neurons and layers do; it opens with no network.",
    ),
    Command(
        "analyze heads",
        "tslens.cli.analyze:heads",
        "Say what every attention head does: its role, how strongly, how surely.",
    ),
    Command(
        "analyze neurons",
        "tslens.cli.analyze:neurons",
        "Say what every MLP neuron fires on: top tokens beside samples, part of speech, effect on the logits.",
    ),
    Command(
        "analyze lens",
        "tslens.cli.analyze:lens",
        "Say what the model would predict after each layer (logit lens): over one prompt, or by depth over stories.",
    ),
    Command(
        "stories make",
        "tslens.cli.data:make",
        "Make stories with the embedded generator, to a file or to the terminal.",
    ),
    Command("stories check", "tslens.cli.data:check", "Read stories and say what cleaning would mend and drop."),
    Command(
        "stories pack",
        "tslens.cli.data:pack",
        "Turn stories into tokens on disk, ready for training. A packing that was stopped is resumed.",
    ),
    Command(
        "train",
        "tslens.cli.train:train",
        "Train a model by a recipe, a shape such as 256x8, or a TOML file; or go on with a run.",
    ),
    Command(
        "runs",
        "tslens.cli.runs:runs",
        "List the training runs of this folder: shape, objective, how far, loss, bits per byte, and state.",
    ),
    Command(
        "plot",
        "tslens.cli.runs:plot",
        "Draw the training and validation loss of runs, together in one figure over the tokens seen.",
    ),
    Command("generate", "tslens.cli.models:generate", "Print stories that a model writes."),
    Command(
        "models",
        "tslens.cli.models:list_models",
        "List the models that can be loaded by name: the runs of this folder and those that come with tslens.",
    ),
    Command(
        "loss",
        "tslens.cli.models:loss",
        "Print a model's loss on stories: nats per token, and bits per byte of the original text, with 95% intervals.",
    ),
    Command(
        "eval",
        "tslens.cli.evaluate:evaluate",
        "Say how often a model prefers a right ending of a prompt to a wrong one, over a suite of prompts in pairs.",
    ),
    Command(
        "bench",
        "tslens.cli.bench:bench",
        "Measure speed, memory and quality against other libraries, on this machine. Takes about eight minutes.",
    ),
)

# What to do where the system itself refuses a file.
REMEDIES = {
    errno.ENOENT: "Check its path.",
    errno.EEXIST: "Something of that name is there: give another path.",
    errno.ENOTDIR: "A file cannot hold another: give a path whose folders are folders.",
    errno.EISDIR: "It is a folder: give a file.",
    errno.EACCES: "Give a place that you may read and write.",
    errno.EPERM: "Give a place that you may read and write.",
    errno.EROFS: "The disk is read-only: give another place.",
    errno.ENOSPC: "Make room, or give another place.",
    errno.EDQUOT: "Make room, or give another place.",
    errno.ENAMETOOLONG: "Give a shorter name.",
}

GROUPS = {
    "analyze": "Say what heads, neurons and layers do, with evidence.",
    "stories": "Make, clean and pack stories.",
}


def build_app() -> App:
    """The cyclopts app with every command of `COMMANDS`, none of them imported."""
    app = App(
        name="tslens",
        help="Train small story models and say, with evidence, what their heads, neurons and layers do.",
        version=f"tslens {__version__}",
        help_format="plaintext",
        suppress_keyboard_interrupt=False,  # main() reports it
    )
    groups: dict[str, App] = {}
    for place, (words, path, help_line) in enumerate(COMMANDS):
        *parents, name = words.split()
        parent = app
        for group in parents:
            if group not in groups:
                groups[group] = App(name=group, help=GROUPS[group], sort_key=place)
                app.command(groups[group])
            parent = groups[group]
        parent.command(path, name=name, help=help_line, sort_key=place)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _settle_environment()
    debug = os.environ.get("TSLENS_DEBUG", "") not in ("", "0")
    try:
        app = build_app()
        _use_docstring(app, arguments)
        with _warnings_in_one_line():
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
        return _complain(str(error) or "interrupted", 130)
    except (CycloptsError, ValueError, OSError) as error:
        if debug:
            raise
        return _complain(_explain(error), 2)
    except (MemoryError, RuntimeError) as error:
        if debug or not _is_out_of_memory(error):
            raise
        return _complain(f"not enough memory: {error}. Give a smaller shape, batch or context.", 2)


def _is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    """Whether there was no room, in the words of PyTorch on a CPU and its type on a GPU."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return bool(kinds & {"MemoryError", "OutOfMemoryError"}) or "can't allocate memory" in str(error)


def _settle_environment() -> None:
    """Turn TSLENS_OFFLINE into the switches of the libraries underneath, which read them when first imported."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    if os.environ.get("TSLENS_OFFLINE", "") not in ("", "0"):
        for switch in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
            os.environ[switch] = "1"


def _use_docstring(app: App, arguments: Sequence[str]) -> None:
    """Give the command about to run its whole docstring as help, in place of the one line that the list shows."""
    for words, _, _ in COMMANDS:
        chain = words.split()
        if list(arguments[: len(chain)]) == chain:
            for word in chain:
                app = app[word]
            app.help = None
            return


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """What tslens warns of is one line for people; what other libraries warn of looks as they wish."""
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
            _complain(f"warning: {message}", 0)
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual


def _complain(message: str, code: int) -> int:
    """Print one line on stderr, whatever line breaks the message had, and return the exit code."""
    print("tslens:", " ".join(message.split()), file=sys.stderr)
    return code


def _explain(error: CycloptsError | ValueError | OSError) -> str:
    """What was wrong, in a sentence."""
    if isinstance(error, UnknownCommandError):
        return _explain_unknown_command(error)
    if isinstance(error, CycloptsError):
        error.verbose = False
        asked = " ".join(["tslens", *(error.command_chain or ())])
        return f"{error} See {asked} --help"
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        bare = error.strerror == os.strerror(error.errno or 0)  # the system's words; ours say what to do
        remedy = f". {REMEDIES[error.errno]}" if bare and error.errno in REMEDIES else ""
        return f"{error.strerror[:1].lower()}{error.strerror[1:]}{where}{remedy}"
    return str(error) or type(error).__name__


def _explain_unknown_command(error: UnknownCommandError) -> str:
    """Name the nearest commands. cyclopts's own text would import every command to find out."""
    assert error.unused_tokens
    given = error.unused_tokens[0]
    chain = list(error.command_chain or ())
    known = sorted(
        {command.words.split()[len(chain)] for command in COMMANDS if command.words.split()[: len(chain)] == chain}
    )
    asked = " ".join(["tslens", *chain])
    guess = did_you_mean(given, known, 3)
    return f"no command is called {given!r}.{guess} Known: {', '.join(known)}. See {asked} --help"
