"""What a path leads to: a plain file, or what else, in words."""

import stat
from pathlib import Path

from tslens.errors import InputError

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def absent(path: str | Path, what: str = "") -> str:
    """What is at a path where a file is needed and none is: nothing (`there is no WHAT PATH`), a folder, a pipe, a
    socket, a device, or a link that leads to no file."""
    path = Path(path)
    try:
        kind = KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except (OSError, ValueError):  # not there, a link to itself, or a name that no file can have
        if path.is_symlink():
            return f"{path} is a link to {path.readlink()}, which leads to no file"
        return f"there is no {what} {path}" if what else f"there is no {path}"
    return f"{path} is {kind or 'no plain file'}, not a file"


def refuse_special(path: str | Path) -> None:
    """InputError for a pipe, a socket or a device: reading it may never end, and a file that is written would replace
    it. A folder, and what is not there, is left to who opens it."""
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{absent(path)}; give a plain file.")
