"""The exception for errors that a user can fix."""


class InputError(ValueError):
    """Something given to tslens cannot be used: the message says what was given, what is allowed and what to do.

    The command line prints it as one line and exits with code 2. Any other exception, except the system's own errors
    on a user's files, is a defect of tslens. For library users it is a `ValueError`.
    """


class MissingInputError(InputError, FileNotFoundError):
    """A file or folder that a user names is not there."""
