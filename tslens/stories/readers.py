"""Readers of story files: plain text, JSON lines, CSV and Parquet.

A reader holds one piece of its file at a time, so a file larger than memory is read like a small one. A file that is
not what its extension says is refused (InputError) with the place of the fault and what to do.
"""

import codecs
import csv
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tslens.byte_bpe import END_OF_STORY
from tslens.errors import InputError

SEPARATOR = END_OF_STORY.encode()
COLUMNS = ("text", "story")  # tried in this order
LONGEST = 16 * 2**20  # bytes of one story or row; beyond it, a separator or a newline is missing
_CHUNK = 2**20


# Text with separators, and lines


def read_text(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a plain text file, which ``<|endoftext|>`` separates."""
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
    """The pieces between the separators of a file, each with its offset in bytes."""
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
    """The text of bytes that begin at an offset of a file; a byte order mark at the file's start is dropped."""
    if offset == 0 and raw.startswith(codecs.BOM_UTF8):
        raw, offset = raw.removeprefix(codecs.BOM_UTF8), len(codecs.BOM_UTF8)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        at = offset + error.start
        raise InputError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} at offset {at}; convert it, for instance with iconv"
        ) from None


def lines(path: Path) -> Iterator[str]:
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


def read_jsonl(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a file with one JSON object a line."""
    for number, row in objects(path):
        column = column_of(row, column, f"{path}, line {number}")
        yield checked_text(row[column], column, f"{path}, line {number}")


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of JSON lines, each with its number."""
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # broken, a number too long, or nested too deep
            reason = error.msg if isinstance(error, json.JSONDecodeError) else error
            raise InputError(f"{path}, line {number} is not JSON ({reason}); give one object a line") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number} is {type(row).__name__}; give one object a line")
        yield number, row


def read_csv(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a CSV file whose first line names the columns."""
    csv.field_size_limit(LONGEST)
    rows = csv.DictReader(lines(path), strict=True)
    try:
        names = rows.fieldnames
        if names is None:
            return
        column = column_of(names, column, str(path))
        for row in rows:
            yield checked_text(row[column], column, f"{path}, line {rows.line_num}")
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num} is not CSV ({error}); quote fields with newlines") from None


def read_parquet(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a Parquet file, read in batches of rows."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=_CHUNK, pre_buffer=False) as file:
            column = column_of(file.schema_arrow.names, column, str(path))
            number = 0
            for batch in file.iter_batches(batch_size=512, columns=[column]):
                for value in batch.column(0):
                    number += 1
                    yield checked_text(value.as_py(), column, f"{path}, row {number}")
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own; pyarrow's, of damaged pages, have no number
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


def checked_text(value: Any, column: str, where: str) -> str:
    """The value if it is text that can be written as UTF-8; a missing value counts as an empty story."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {column!r} is {type(value).__name__}, not text; name another column as PATH:COLUMN")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: {column!r} has half a surrogate pair, which is no text; mend that row") from None
    return value


READERS: dict[str, Callable[[Path, str | None], Iterator[str]]] = {
    ".txt": read_text,
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".parquet": read_parquet,
}
"""The reader of each extension: maps a path and optionally a column to stories."""
