"""Write files and folders atomically, and hash them; the folder of files that can be made again."""

import contextlib
import glob
import hashlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tslens import progress
from tslens.errors import InputError
from tslens.parsing import parse_json
from tslens.paths import MOST_WHOLE, contents, reading, refuse_special, refuse_unnamed, writing

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PIECE = 1 << 24  # bytes that are read at once


# Writing. Until it is whole, NAME is `.NAME.<random>.tmp` beside its place, and its writer holds the system's lock on
# it. One that nobody holds is what a kill left, and the next writer of NAME removes it; `sweep` removes those of a
# folder.


@contextlib.contextmanager
def atomic(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file that appears under its name only when complete and synced to disk; on any error nothing changes.

    `mode` is `"w"` (UTF-8) or `"wb"`. Missing parent folders are made. InputError for a pipe, a socket or a device.
    """
    path = Path(path)
    refuse_special(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path), _scratch(path, lambda new: new.touch(exist_ok=False)) as scratch:
        with scratch.open(mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            sync(file)
        scratch.replace(path)


@contextlib.contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder that takes its final name, synced to disk, when the block ends without error.

    It replaces an older folder of that name; the caller checks whether it may.
    """
    path = Path(path)
    refuse_unnamed(path)
    refuse_special(path)
    with writing(path), scratch_folder(path.parent, path.name) as scratch:
        yield scratch
        for inside in scratch.rglob("*"):
            _sync_path(inside)
        _sync_path(scratch)
        remove_folder(path)
        scratch.rename(path)
        _sync_path(path.parent)


@contextlib.contextmanager
def scratch_folder(parent: str | Path, name: str = "tslens") -> Iterator[Path]:
    """An empty hidden folder inside `parent`, removed with its contents at the end of the block."""
    with writing(path := Path(parent) / name), _scratch(path, lambda new: new.mkdir(parents=True)) as scratch:
        yield scratch


@contextlib.contextmanager
def atomic_files(folder: str | Path, names: Sequence[str]) -> Iterator[Path]:
    """A temporary folder for files of these names, which replace those in `folder` when the block ends without error.

    `names[-1]` is the commit marker, without which the others do not count: the old one goes before any file changes,
    and the new one comes last.
    """
    folder = Path(folder)
    with scratch_folder(folder, folder.name) as scratch:
        yield scratch
        for inside in scratch.iterdir():
            _sync_path(inside)
        (folder / names[-1]).unlink(missing_ok=True)
        for name in names:
            if (scratch / name).exists():
                (scratch / name).replace(folder / name)
        _sync_path(folder)


def remove_folder(path: Path) -> None:
    """Remove a folder, if it exists; a partly removed folder never stays under its name."""
    if path.exists():
        aside = _scratch_name(path)
        path.rename(aside)
        held = _lock(aside)
        shutil.rmtree(aside)
        _unlock(held)


def sweep(folder: str | Path, name: str = "*") -> None:
    """Remove partial files that a kill left in a folder, all or those of one name. Nobody else may write there."""
    for scratch in Path(folder).glob(f".{name}.*.tmp"):
        if scratch.is_dir():
            shutil.rmtree(scratch)
        else:
            scratch.unlink()


def sync(*files: IO[Any]) -> None:
    """Flush open files to the disk."""
    for file in files:
        file.flush()
        os.fsync(file.fileno())


def _sync_path(path: Path) -> None:
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _scratch(path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new scratch file or folder for a path, locked, and removed at the end if it is still there, also where Ctrl-C
    comes while it is made; those that killed writers of the path left are removed first."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        if (held := _lock(left, wait=False)) is not None:
            _remove(left)
            _unlock(held)
    scratch, held = _scratch_name(path), None
    try:
        while True:
            make(scratch)
            held = _lock(scratch)
            if held is None or scratch.exists():  # else another writer took it for a killed one's before it was locked
                break
            _unlock(held)
            scratch, held = _scratch_name(path), None
        yield scratch
    finally:
        _remove(scratch)
        _unlock(held)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _lock(path: Path, wait: bool = True) -> int | None:
    """The system's lock on a file or folder, which ends with its process; None where there is none to be had."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return handle
        except OSError:
            os.close(handle)
    return None


def _unlock(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _scratch_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


# JSON


def write_json(path: str | Path, value: Any) -> None:
    """Write indented JSON atomically."""
    with atomic(path) as file:
        dump_json(value, file)


def dump_json(value: Any, file: IO[str]) -> None:
    """Write indented JSON to an open file."""
    json.dump(value, file, indent=1, ensure_ascii=False)
    file.write("\n")


def finite(value: object) -> object:
    """The value with None for every number in it that is not finite: JSON has only finite ones (RFC 8259)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def read_json(path: str | Path, most: int = MOST_WHOLE) -> Any:
    """Parse a JSON file; InputError names the file if it is not JSON, holds no text, or is over `most` bytes."""
    refuse_special(path)
    data = contents(Path(path), most)
    found = parse_json(data, str(path))
    if b"\\ud" in data.lower():  # the escape of a surrogate, which may lack its other half
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"{path} has half a surrogate pair, which is no text. It was altered.") from None
    return found


# Hashes


def sha256(path: str | Path) -> str:
    """The file's SHA-256 in hexadecimal, read in pieces."""
    refuse_special(path)
    with reading(path), Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def blake2b(paths: Sequence[Path]) -> list[str]:
    """The BLAKE2b (128 bits) of each file, in hexadecimal; about a gigabyte a second if the disk is that fast."""
    found = []
    with progress.bar("checking", sum(path.stat().st_size for path in paths), in_bytes=True) as bar:
        for path in paths:
            digest = hashlib.blake2b(digest_size=16)
            refuse_special(path)
            with reading(path), path.open("rb") as file:
                while piece := file.read(PIECE):
                    digest.update(piece)
                    bar.advance(len(piece))
            found.append(digest.hexdigest())
    return found


def cache() -> Path:
    """The folder for reproducible files: `$TSLENS_CACHE`, else `tslens` in `$XDG_CACHE_HOME` or `~/.cache`."""
    named, usual = os.environ.get("TSLENS_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(usual) if usual else Path.home() / ".cache") / "tslens"
