"""The exception for errors that a user can fix, and the system's own errors where a library hides them."""

import errno
import os
import re


class InputError(ValueError):
    """Something given to tslens cannot be used: the message says what was given, what is allowed and what to do.

    The command line prints it as one line and exits with code 2. Any other exception, except the system's own errors
    on a user's files, is a defect of tslens. For library users it is a `ValueError`.
    """


class UntrainedError(InputError):
    """A shape is asked for by name, and no run of it exists. The command line adds how long its training takes."""

    def __init__(self, message: str, shape: str) -> None:
        super().__init__(message)
        self.shape = shape


class MissingInputError(InputError, FileNotFoundError):
    """A file or folder that a user names is not there."""


IN_RUST, IN_NUMPY = re.compile(r"\(os error (\d+)\)"), re.compile(r"\d+ requested and \d+ written")


def system_error(error: BaseException, path: object) -> OSError | None:
    """The system's error about a path that a library raises in words of its own; None for another error. Those in Rust
    (safetensors, tokenizers) end with its number; NumPy says how much was written, which is less on a full disk."""
    if isinstance(error, OSError):
        number = errno.ENOSPC if error.errno is None and IN_NUMPY.fullmatch(str(error)) else None
    else:
        number = int(found[1]) if (found := IN_RUST.search(str(error))) else None
    return None if number is None else OSError(number, os.strerror(number), str(path))
