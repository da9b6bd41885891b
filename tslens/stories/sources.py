"""Where do stories come from? Files, dataset folders and the hub, each read as a stream of stories.

No reader holds more than one piece of its file, so a file larger than memory is read like a small one.
"""

import codecs
import contextlib
import csv
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten
from typing import Any

from tslens.errors import InputError
from tslens.tokenizer import END_OF_STORY

SEPARATOR = END_OF_STORY.encode()
COLUMNS = ("text", "story")  # tried in this order
EXTENSIONS = (".txt", ".jsonl", ".csv", ".parquet")
LONGEST = 16 * 2**20  # bytes of one story or row; beyond it, a separator or a newline is missing
_CHUNK = 2**20
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Source:
    """Stories that can be read again and again: one file, one dataset folder or one hub id."""

    place: str
    """path or hub id"""
    column: str | None = None
    """the column of the stories; ``text`` or ``story`` if not given"""
    part: str = "train"
    """the split of a dataset folder or hub id, by its own name"""
    config: str | None = None
    """the configuration, where a dataset folder or hub id has several"""

    @property
    def path(self) -> Path:
        return Path(self.place)

    @property
    def n_bytes(self) -> int | None:
        """The size on disk, where one file is the whole source."""
        return self.path.stat().st_size if self.path.is_file() else None

    def __iter__(self) -> Iterator[str]:
        """The stories, unaltered.

        Raises:
            ValueError: bytes that are not UTF-8 (with their offset), a broken row (with its line), a column that is
                not there (with those that are), or no story at all.
        """
        readers: dict[str, Callable[[Path, str | None], Iterator[str]]] = {
            ".txt": _text,
            ".jsonl": _jsonl,
            ".csv": _csv,
            ".parquet": _parquet,
        }
        if self.path.is_file():
            found = readers[self.path.suffix.lower()](self.path, self.column)
        else:
            found = _dataset(self.place, self.column, self.part, self.config)
        first = next(found, None)
        if first is None:
            raise InputError(f"{self.place} is empty; give a source that holds at least one story")
        return chain([first], found)


def find_source(spec: str) -> Source:
    """The source that a specification names: ``PLACE``, ``PLACE:COLUMN``, and for datasets ``PLACE@SPLIT:COLUMN``.

    A dataset of several configurations is named ``PLACE@CONFIG/SPLIT``.

    Raises:
        FileNotFoundError: no such file; the nearest names in its folder are given.
        ValueError: an extension or a name that means nothing here.
    """
    place, column, part, config = spec, None, "train", None
    if not Path(place).exists():
        place, _, named = spec.partition(":")
        place, _, within = place.partition("@")
        before, _, split = within.rpartition("/")
        column, part, config = named or None, split or part, before or None
    path = Path(place)
    if path.is_file():
        if path.suffix.lower() not in EXTENSIONS:
            known = ", ".join(EXTENSIONS)
            raise InputError(f"{place} has the extension {path.suffix or '(none)'!r}; stories are read from {known}")
    elif not path.is_dir():
        looks_local = path.suffix.lower() in EXTENSIONS or path.is_absolute() or path.parent.is_dir()
        if looks_local or not _HUB_ID.fullmatch(place):
            raise FileNotFoundError(_not_there(path))
    return Source(place, column, part, config)


def _not_there(path: Path) -> str:
    """What to say of a missing file: the nearest names in the nearest folder that is there."""
    folder = path.parent
    if not folder.is_dir():
        return f"there is no {path}, nor a folder {folder}; give a file, a dataset folder or a hub id (owner/name)"
    names = [child.name for child in folder.iterdir() if not child.name.startswith(".")]
    near = get_close_matches(path.name, names, n=3, cutoff=0.5)
    near = near or sorted(name for name in names if name.lower().endswith(EXTENSIONS))[:5]
    there = (
        f"the nearest there: {', '.join(near)}" if near else "give a file, a dataset folder or a hub id (owner/name)"
    )
    return f"there is no {path}; {there}"


# Text with separators, and lines


def _text(path: Path, column: str | None) -> Iterator[str]:
    if column is not None:
        raise InputError(f"{path} is plain text and has no column {column!r}; leave ':{column}' out")
    for offset, raw in _pieces(path):
        story = _decode(raw, path, offset)
        if story.strip():
            if len(raw) == path.stat().st_size:
                mark = SEPARATOR.decode()
                warnings.warn(f"{path} has no {mark} and is read as one story; put it between stories", stacklevel=2)
            yield story


def _pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """What stands between the separators of a file, each with its offset in bytes."""
    held, offset = b"", 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            searched = max(0, len(held) - len(SEPARATOR))
            held += chunk
            if held.find(SEPARATOR, searched) >= 0:
                *whole, held = held.split(SEPARATOR)
                for piece in whole:
                    yield offset, piece
                    offset += len(piece) + len(SEPARATOR)
            if len(held) > LONGEST:
                mebibytes = LONGEST // 2**20
                raise InputError(
                    f"{path} has no {SEPARATOR.decode()} for {mebibytes} MiB from byte {offset}; put it between stories"
                )
    yield offset, held


def _decode(raw: bytes, path: Path, offset: int) -> str:
    """The text of bytes that begin at an offset of a file; a byte order mark at its start is dropped."""
    if offset == 0 and raw.startswith(codecs.BOM_UTF8):
        raw, offset = raw.removeprefix(codecs.BOM_UTF8), len(codecs.BOM_UTF8)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        at = offset + error.start
        raise InputError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} at offset {at}; convert it, for instance with iconv"
        ) from None


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file, each with its newline."""
    offset = 0
    with path.open("rb") as file:
        while raw := file.readline(LONGEST + 1):
            if len(raw) > LONGEST:
                raise InputError(
                    f"{path} has a line of over {LONGEST // 2**20} MiB at byte {offset}; give one row a line"
                )
            yield _decode(raw, path, offset)
            offset += len(raw)


# Rows


def _jsonl(path: Path, column: str | None) -> Iterator[str]:
    for number, row in _objects(path):
        column = column_of(row, column, f"{path}, line {number}")
        yield _checked(row[column], column, f"{path}, line {number}")


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of JSON lines, each with its number."""
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {number} is not JSON ({error.msg}); give one object a line") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number} is {type(row).__name__}; give one object a line")
        yield number, row


def _csv(path: Path, column: str | None) -> Iterator[str]:
    csv.field_size_limit(LONGEST)
    rows = csv.DictReader(_lines(path), strict=True)
    try:
        names = rows.fieldnames
        if names is None:
            return
        column = column_of(names, column, str(path))
        for row in rows:
            yield _checked(row[column], column, f"{path}, line {rows.line_num}")
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num} is not CSV ({error}); quote fields with newlines") from None


def _parquet(path: Path, column: str | None) -> Iterator[str]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=_CHUNK, pre_buffer=False) as file:
            column = column_of(file.schema_arrow.names, column, str(path))
            number = 0
            for batch in file.iter_batches(batch_size=512, columns=[column]):
                for value in batch.column(0):
                    number += 1
                    yield _checked(value.as_py(), column, f"{path}, row {number}")
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a whole parquet file ({reason}); fetch it again") from None


def column_of(names: Iterable[str], column: str | None, where: str) -> str:
    """The column that holds the stories: the one asked for, or the first of ``text`` and ``story`` that is there."""
    there = list(names)
    wanted = [column] if column is not None else COLUMNS
    for name in wanted:
        if name in there:
            return name
    raise InputError(
        f"{where} has no column {' or '.join(wanted)}; it has {', '.join(map(str, there))}; name one as PATH:COLUMN"
    )


def _checked(value: Any, column: str, where: str) -> str:
    """The value if it is text that can be written as UTF-8; nothing at all counts as an empty story."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {column!r} is {type(value).__name__}, not text; name another column as PATH:COLUMN")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: {column!r} has half a surrogate pair, which is no text; mend that row") from None
    return value


# The hub's layout, on disk or on the hub


def _dataset(place: str, column: str | None, part: str, config: str | None) -> Iterator[str]:
    """The stories of a dataset folder or hub id, streamed by ``datasets``.

    A dataset of plain text files (TinyStoriesInstruct is one) has a row for each line; where the separator stands as
    a row of its own among the first rows, lines are joined again to stories.
    """
    rows = _rows(place, part, config)
    first = next(rows, None)
    if first is None:
        return
    column = column_of(first, column, place)
    texts: Iterator[str] = (
        _checked(row[column], column, f"{place}, row {n}") for n, row in enumerate(chain([first], rows), 1)
    )
    head = list(islice(texts, 2000))
    separator = SEPARATOR.decode()
    texts = chain(head, texts)
    if any(text.strip() == separator for text in head):
        texts = _joined(texts, separator)
    yield from texts


def _joined(lines: Iterable[str], separator: str) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.strip() == separator:
            yield "\n".join(held)
            held = []
        else:
            held.append(line)
    if any(line.strip() for line in held):
        yield "\n".join(held)


def _rows(place: str, part: str, config: str | None) -> Iterator[dict[str, Any]]:
    """The rows of one split. Offline (``HF_HUB_OFFLINE=1``, or no network) a hub id is refused, a folder is not."""
    import datasets
    import yaml  # type: ignore[import-untyped]

    faults = (ValueError, OSError, datasets.exceptions.DatasetsError, yaml.YAMLError)  # the hub's are OSErrors
    try:
        with _quiet():
            streams = datasets.load_dataset(_named(place), config, streaming=True)
    except faults as error:
        # What cannot be reached is not asked for again.
        other = "" if isinstance(error, OSError) and not Path(place).is_dir() else _other_config(place, config)
        raise InputError(other or _unreadable(place, error)) from None
    if part not in streams:
        within = f"{config}/SPLIT" if config else "SPLIT"
        raise InputError(f"{place} has no split {part!r}; it has {', '.join(streams)}; name one as {place}@{within}")
    try:
        yield from streams[part]
    except faults as error:
        raise InputError(_unreadable(place, error)) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Within, `datasets` and the hub do not tell of what they try again: what is wrong in the end is told once."""
    loggers = [logging.getLogger(name) for name in ("datasets", "huggingface_hub")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _named(place: str) -> str:
    """What `datasets` calls it; a folder by its absolute path, as a bare "csv" is a builder over the working folder."""
    path = Path(place)
    return str(path.absolute()) if path.is_dir() else place


def _other_config(place: str, config: str | None) -> str:
    """What to say where a dataset has several configurations and none was named, or not the one that was."""
    import datasets

    try:
        with _quiet():
            known = datasets.get_dataset_config_names(_named(place))
            default = datasets.get_dataset_default_config_name(_named(place))
    except Exception:  # the fault is elsewhere, and is told as it was met first
        return ""
    if config in known or (config is None and default is not None):
        return ""
    wrong = "several configurations" if config is None else f"no configuration {config!r}"
    return f"{place} has {wrong}; it has {', '.join(known)}; name one as {place}@CONFIG/SPLIT"


def _unreadable(place: str, error: Exception) -> str:
    """What to say of a dataset that `datasets` cannot read: of a folder, which file and where, if that can be found."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    reason = shorten(reason, 200, placeholder=" …")  # `datasets` may list every extension that it knows
    if not Path(place).is_dir():
        return f"the hub id {place} cannot be read ({reason}); give a file or a dataset folder instead"
    readers: dict[str, Callable[[Path], Iterator[Any]]] = {".txt": _lines, ".csv": _lines, ".jsonl": _objects}
    for path in sorted(Path(place).rglob("*")):
        try:
            for _ in readers.get(path.suffix.lower(), lambda path: iter(()))(path):
                pass
        except (ValueError, OSError) as fault:
            return str(fault)
    return f"the dataset folder {place} cannot be read ({reason}); mend it, or give one of its files"
