"""Readers of story files: plain text, JSON lines, CSV and Parquet.

A reader holds one piece of its file at a time, so a file larger than memory is read like a small one. A file that is
not what its extension says is refused (InputError) with the place of the fault and what to do.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tslens.byte_bpe import END_OF_STORY
from tslens.errors import InputError
from tslens.parsing import LONGEST, csv_rows, decoded, objects
from tslens.paths import reading
from tslens.stories.pages import rows_at_once

SEPARATOR = END_OF_STORY.encode()
COLUMNS = ("text", "story")  # tried in this order
_CHUNK = 2**20


# Text with separators, and lines


def read_text(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a plain text file, which ``<|endoftext|>`` separates."""
    if column is not None:
        raise InputError(f"{path} is plain text and has no column {column!r}; leave ':{column}' out")
    for offset, raw in _pieces(path):
        story = decoded(raw, path, offset)
        if story.strip():
            if len(raw) == path.stat().st_size:
                mark = SEPARATOR.decode()
                warnings.warn(f"{path} has no {mark} and is read as one story; put it between stories", stacklevel=2)
            yield story


def _pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """The pieces between the separators of a file, each with its offset in bytes."""
    held, offset = b"", 0
    with reading(path), path.open("rb") as file:
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


def read_jsonl(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a file with one JSON object a line."""
    for number, row in objects(path):
        column = column_of(row, column, f"{path}, line {number}")
        yield checked_text(row[column], column, f"{path}, line {number}")


def read_csv(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a CSV file whose first line names the columns."""
    for number, row in csv_rows(path, header=True):
        if number == 1:
            column = column_of(row, column, str(path))
        else:
            assert column is not None
            yield checked_text(row[column], column, f"{path}, line {number}")


def read_parquet(path: Path, column: str | None) -> Iterator[str]:
    """The stories of a Parquet file, read in batches of rows. A page that is too large is refused before it is read."""
    import pyarrow
    import pyarrow.parquet

    try:
        with reading(path), pyarrow.parquet.ParquetFile(path, buffer_size=_CHUNK, pre_buffer=False) as file:
            column = column_of(file.schema_arrow.names, column, str(path))
            number, rows = 0, rows_at_once(path, file.metadata, column)
            for batch in file.iter_batches(batch_size=rows, columns=[column]):
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
    """The value if it is text that can be written as UTF-8, of at most `LONGEST` bytes; a missing value counts as an
    empty story."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {column!r} is {type(value).__name__}, not text; name another column as PATH:COLUMN")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InputError(f"{where}: {column!r} has half a surrogate pair, which is no text; mend that row") from None
    if size > LONGEST:
        raise InputError(f"{where}: {column!r} has a text of over {LONGEST // 2**20} MiB; give a story a row")
    return value


READERS: dict[str, Callable[[Path, str | None], Iterator[str]]] = {
    ".txt": read_text,
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".parquet": read_parquet,
}
"""The reader of each extension: maps a path and optionally a column to stories."""
