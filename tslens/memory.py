"""The memory of the machine and of this process."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
MAPPED, DEFAULT, TOP = 4 << 20, 32 << 20, 64 << 20


def of_machine() -> int | None:
    """Bytes of memory that the machine has; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def give_back() -> None:
    """Give freed memory back to the system, where the C library can (glibc's `malloc_trim`): it keeps blocks of up to
    32 MB for itself, and after large states of one kind these do not fit those of the next."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def giving_back() -> Iterator[None]:
    """Give every block of 4 MB and more back as soon as it is freed, where the C library can (glibc's `mallopt`).

    glibc lets the size from which it does so grow up to 32 MB with the blocks that it sees. Activations of a batch are
    smaller than that: what remains of them lies between other blocks and is not used again. Afterwards it is 32 MB.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, MAPPED)
        ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, TOP)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, DEFAULT)
