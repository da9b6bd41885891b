"""The process's own memory."""

import contextlib
import ctypes


def give_back() -> None:
    """Give freed memory back to the system, where the C library can (glibc's `malloc_trim`): it keeps blocks of up to
    32 MB for itself, and after large states of one kind these do not fit those of the next."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
