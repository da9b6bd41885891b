"""The validation stories of a run, kept in its folder.

The file is JSONL, a story a line, which every command takes as a source; the first line also says how many there are,
and their digest.
"""

import contextlib
import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tslens import files
from tslens.errors import InputError
from tslens.paths import MOST_KEPT, contents


def digest(stories: Sequence[str]) -> str:
    """BLAKE2b of the stories."""
    return blake2b("\0".join(stories).encode(), digest_size=16).hexdigest()


def write(path: Path, stories: Sequence[str]) -> None:
    """Write one or more stories; the file appears whole or not at all."""
    first, *others = stories
    head = {"text": first, "stories": len(stories), "digest": digest(stories)}
    with files.atomic(path) as file:
        for line in (head, *({"text": story} for story in others)):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read(path: Path) -> list[str]:
    """The stories that were written. InputError if they were altered."""
    data, stories = contents(path, MOST_KEPT), list[str]()
    recorded: Any = None
    with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
        lines = [json.loads(line) for line in data.decode().split("\n")[:-1]]
        stories = [line["text"] for line in lines if isinstance(line["text"], str)]
        recorded = lines[0]["stories"], lines[0]["digest"]
    if recorded != (len(stories), digest(stories)):
        raise InputError(
            f"{path} was altered: its stories are not those that its first line records. Restore it, or remove it "
            "and the run reads them from its source again."
        )
    return stories
