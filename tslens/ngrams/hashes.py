"""Hashes of the files of a folder: a file that was altered is noticed when the folder is opened."""

import contextlib
import json
from pathlib import Path
from typing import Any

from tslens import files
from tslens.errors import InputError

NAME = "hashes.json"


def write_hashes(folder: Path) -> None:
    """Write the size, the time and the BLAKE2b of each file of the folder into its `hashes.json`."""
    paths = sorted(path for path in folder.iterdir() if path.name != NAME)
    found = {path.name: [*_state(path), digest] for path, digest in zip(paths, files.blake2b(paths), strict=True)}
    (folder / NAME).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def check_hashes(folder: Path) -> None:
    """InputError unless each file is as it was written. Only one whose time is another, as in a copy of the folder, is
    read for that."""
    known = None
    with contextlib.suppress(OSError, InputError):
        known = files.read_json(folder / NAME)
    if not isinstance(known, dict):
        raise InputError(f"{folder / NAME} is missing or was altered. Remove {folder}: it is made again.")
    for name, written in known.items():
        if Path(name).name != name or not _is_as_written(folder / name, written):
            raise InputError(f"{folder / name} was altered or cut off. Remove {folder}: it is made again.")


def _is_as_written(path: Path, written: Any) -> bool:
    if not isinstance(written, list) or len(written) != 3 or not path.is_file():
        return False
    size, time = _state(path)
    return bool(size == written[0] and (time == written[1] or files.blake2b([path])[0] == written[2]))


def _state(path: Path) -> tuple[int, int]:
    return path.stat().st_size, path.stat().st_mtime_ns
