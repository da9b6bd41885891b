"""What a dataset folder may hold before `datasets` reads it: its card, and the pages of its Parquet files."""

import contextlib
import math
import re
from itertools import chain
from pathlib import Path
from typing import Any

from tslens.errors import InputError
from tslens.paths import MOST_WHOLE, contents, refuse_large
from tslens.stories.pages import refuse_repeats, rows_at_once

MOST_HEAD = 512 * 2**10
"""Bytes of a card's head in YAML; one of hundreds of configurations has about 100,000."""
EMPTY_LINES = re.compile(rb"[\r\n]{1000}")
"""More empty lines than a card has; the hub's regular expression reads each run of them in its square."""
OPENING, CLOSING = re.compile(rb"\s*---[\r\n]"), re.compile(rb"[\r\n]---(?:[\r\n]|$)")
CARDS = ("README.md", ".huggingface.yaml")


def check_folder(folder: Path) -> None:
    """InputError for a card whose head is too long, also as its references make it, and for a Parquet file with too
    large a page or group of rows."""
    for name in CARDS:
        if (folder / name).is_file():
            _check_card(folder / name)
    if (folder / "dataset_infos.json").is_file():  # of older datasets
        refuse_large(folder / "dataset_infos.json", MOST_WHOLE)
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() == ".parquet" and path.is_file():
            _check_pages(path)


def _check_card(path: Path) -> None:
    import yaml  # type: ignore[import-untyped]

    data = contents(path)
    start = 0
    if path.suffix == ".md":
        if (opening := OPENING.match(data)) is None:
            return
        start = opening.end()
    closing = CLOSING.search(data, start) if start else None
    head = data[start : closing.start() if closing else len(data)]
    if len(head) > MOST_HEAD or EMPTY_LINES.search(head):
        raise InputError(
            f"{path}: its head in YAML has over {MOST_HEAD // 2**10} KiB, or 1,000 empty lines; shorten it, or give "
            "one of the folder's files"
        )
    if b"&" not in head or b"*" not in head:
        return
    try:
        written = _written_out(yaml.compose(head, yaml.SafeLoader), {})
    except (yaml.YAMLError, RecursionError):  # `datasets` says what it is
        return
    if written > MOST_HEAD:
        raise InputError(
            f"{path}: the parts of its head that * stands for, each as often as it is named, make it longer than "
            f"{MOST_HEAD // 2**10} KiB; write the card without *, or give one of the folder's files"
        )


def _written_out(node: Any, known: dict[int, float]) -> float:
    """The characters and parts of a YAML node, with what it refers to as often as it does; infinite for a node within
    itself."""
    if id(node) not in known:
        known[id(node)] = math.inf
        value = [] if node is None else node.value
        parts = [value] if isinstance(value, str) else chain(*(p if isinstance(p, tuple) else [p] for p in value))
        known[id(node)] = 1 + sum(len(part) if isinstance(part, str) else _written_out(part, known) for part in parts)
    return known[id(node)]


def _check_pages(path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    with contextlib.suppress(pyarrow.ArrowException, OSError):  # of what is no Parquet: `datasets` says so
        metadata = pyarrow.parquet.read_metadata(path)
        rows_at_once(path, metadata)
        refuse_repeats(path, metadata)
