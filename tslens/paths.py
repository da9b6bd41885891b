"""What a path leads to: a plain file, or what else, in words; the system's errors about it, by its name."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tslens.errors import InputError, system_error

MOST_WHOLE = 64 * 2**20
"""Bytes of a file that is read whole: the `tokenizer.json` of a vocabulary of 256,000 tokens has half as many."""
MOST_KEPT = 2**30
"""Bytes of one that tslens writes itself and that grows with what was asked: answers, results, records of a run."""
KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}

OF_A_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""The system's errors about a disk, which name no file where an open one is written."""


def absent(path: str | Path, what: str = "", needed: str = "file") -> str:
    """What is at a path where a file, or a folder, is needed and none is: nothing (`there is no WHAT PATH`), a folder
    or a file, a pipe, a socket, a device, or a link that leads to none."""
    path = Path(path)
    try:
        kind = KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except (OSError, ValueError):  # not there, a link to itself, or a name that no file can have
        if path.is_symlink():
            return f"{path} is a link to {path.readlink()}, which leads to no {needed}"
        return f"there is no {what} {path}" if what else f"there is no {path}"
    return f"{path} is {kind or 'no plain file'}, not a {needed}"


def is_file(path: Path, remedy: str) -> bool:
    """Whether a file is at a path. InputError, with a remedy, for what is there and is none: a pipe, a folder, or a
    link to a file that is gone."""
    if path.is_file() or not os.path.lexists(path):
        return path.is_file()
    raise InputError(f"{absent(path)}. {remedy}")


def refuse_special(path: str | Path) -> None:
    """InputError for a name that is no UTF-8, and for a pipe, a socket or a device: reading it may never end, and a
    file that is written would replace it. A folder, and what is not there, is left to who opens it."""
    refuse_no_text(path)
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{absent(path)}; give a plain file.")


def refuse_unnamed(path: Path) -> None:
    """InputError for what names no new folder: `x/..`, or an empty path."""
    if path.name in ("", ".."):
        raise InputError(f"{path} names no new folder: give a path that ends in its name.")


def refuse_no_text(path: str | Path) -> None:
    """InputError for a path that is no UTF-8, which neither `tokenizers`, `safetensors`, JSON nor tables take."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r} is no UTF-8: rename it, or give another name.") from None


def as_text(path: str | Path) -> str:
    """A path as text: what of it is no UTF-8 is escaped, as in `mod\\udce9l`."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def contents(path: Path, most: int = MOST_WHOLE) -> bytes:
    """The bytes of a file; an error of the system names it. InputError, before it is read, if it has over `most`."""
    with reading(path), path.open("rb") as file:
        refuse_large(path, most)
        return file.read(most)


def refuse_large(path: Path, most: int) -> None:
    """InputError for a file of more than `most` bytes."""
    if (size := path.stat().st_size) > most:
        raise InputError(
            f"{path} has {size:,} bytes; of such a file at most {most // 2**20:,} MiB are read. It was altered, or is "
            "another file: give the right one."
        )


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """The system's error in the block names this path where it names none: what fails while an open file is read."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """The system's error about the scratch of a path (`files`), or about a disk, names the path, which is what the user
    gave; one that a library in Rust raises in its own words is an OSError, as everywhere."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in OF_A_DISK:
            error.filename = str(path)  # what fails while an open file is written
        if isinstance(error, OSError) and isinstance(error.filename, str | Path):
            scratch = re.escape(str(path.with_name(f".{path.name}."))) + r"[0-9a-f]{8}\.tmp"
            error.filename = re.sub(scratch, lambda _: str(path), str(error.filename))
        if (theirs := system_error(error, path)) is not None:
            raise theirs from error
        raise
