"""Messages of failed commands: one line for what a user can fix, a traceback for a defect of tslens."""

import errno
import os
import platform
import shlex
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path

from cyclopts import CycloptsError, UnknownCommandError

from tslens import __version__
from tslens.cli import commands
from tslens.errors import InputError, UntrainedError
from tslens.nearest import did_you_mean

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib"))

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
    errno.EFBIG: "Raise the limit on the size of a file (ulimit -f), or give another place.",
    errno.EIO: "The system cannot read or write it: give another.",
    errno.ENAMETOOLONG: "Give a shorter name.",
}


OF_A_FILE = {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
"""What no user can mend unless the file is named."""


LONGEST = 800
"""Characters of a message; of a longer one the middle is left out, which is what was given and no remedy."""


def complain(message: str, code: int) -> int:
    """Print the message as one line of plain text on stderr and return the exit code: without its line breaks, control
    characters escaped, and cut in the middle where it is long."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(message.split()))
    if len(line) > LONGEST:
        line = f"{line[: LONGEST // 2]} […] {line[-LONGEST // 2 :]}"
    print("tslens:", line, file=sys.stderr)
    return code


def report_defect(error: Exception, arguments: Sequence[str]) -> int:
    """Print the traceback of an exception that no input should cause, and how to report it; return the exit code 1."""
    traceback.print_exception(error)
    command = shlex.join(["tslens", *arguments])
    return complain(
        "this is a defect of tslens, not of what you gave it. Please report it to the authors with the traceback "
        f"above, the command ({command}) and the version (tslens {__version__}, Python {platform.python_version()}).",
        1,
    )


def of_the_user(error: OSError) -> bool:
    """Whether a user can mend what the system refused: a file outside tslens and the libraries, or a full disk."""
    if error.filename is None:
        return error.errno in REMEDIES.keys() - OF_A_FILE
    place = Path(os.path.realpath(os.fsdecode(error.filename)))  # of a link to itself too
    return not any(place.is_relative_to(folder) for folder in (PACKAGE, *LIBRARIES))


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: by PyTorch's message on a CPU, by its exception type on a GPU."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    on_cpu = isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    return bool(kinds & {"MemoryError", "OutOfMemoryError"}) or on_cpu


def explain(error: CycloptsError | InputError | OSError, arguments: Sequence[str] = ()) -> str:
    """The error of a command in a sentence."""
    if isinstance(error, UnknownCommandError):
        return _unknown_command(error)
    if isinstance(error, CycloptsError):
        error.verbose = False
        asked = " ".join(["tslens", *(error.command_chain or ())])
        return f"{error} See {asked} --help"
    if isinstance(error, UntrainedError):
        stories = _value_of("--stories", arguments)
        on_them = _training_time(error.shape, stories) if stories else ""
        return f"{error} --data {shlex.quote(stories)}{on_them}" if on_them else f"{error}{_training_time(error.shape)}"
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        bare = error.strerror == os.strerror(error.errno or 0)  # the system's words; ours say what to do
        remedy = f". {REMEDIES[error.errno]}" if bare and error.errno in REMEDIES else ""
        return f"{error.strerror[:1].lower()}{error.strerror[1:]}{where}{remedy}"
    return str(error) or type(error).__name__


def _value_of(option: str, arguments: Sequence[str]) -> str:
    """The value of an option of a command; empty where it has none."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    joined = (one.removeprefix(f"{option}=") for one in arguments if one.startswith(f"{option}="))
    return next((value for name, value in pairs if name == option), next(joined, ""))


def _training_time(shape: str, stories: str = "") -> str:
    """How long training this shape on these stories, or on its recipe's, takes on this machine, by a probe; nothing
    where that cannot be told."""
    from tslens.cli.recipes import counted, duration
    from tslens.train import recipe as recipes
    from tslens.train.estimate import estimate

    try:
        found = estimate(recipes.load(shape, {"data.source": stories} if stories else {}))
    except (InputError, OSError, KeyboardInterrupt):
        return ""
    if found.seconds is None or found.tokens is None:
        return ""
    told = f"{counted(found.tokens)} tokens of {found.source}"
    return (
        f" (about {duration(found.seconds)} on this machine, as busy as it is, for {told}; --data takes other stories, "
        "--dry-run counts)"
    )


def _unknown_command(error: UnknownCommandError) -> str:
    """Name the nearest commands. cyclopts's own text would import every command to find out."""
    assert error.unused_tokens
    given = error.unused_tokens[0]
    chain = list(error.command_chain or ())
    known = sorted(
        {
            command.words.split()[len(chain)]
            for command in commands.COMMANDS
            if command.words.split()[: len(chain)] == chain
        }
    )
    asked = " ".join(["tslens", *chain])
    guess = did_you_mean(given, known, 3)
    return f"no command is called {given!r}.{guess} Known: {', '.join(known)}. See {asked} --help"
