"""The exception for errors that a user can fix."""


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
