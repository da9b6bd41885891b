"""Sizes of the pages of a Parquet file, from their headers: known before a page is decompressed."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tslens.errors import InputError
from tslens.paths import reading

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet as parquet

MOST_PAGE = 128 * 2**20
"""Bytes of a page as decompressed. Writers make pages of a mebibyte, or of about a thousand values."""
MOST_GROUP = 2**30
"""Bytes of the texts of a column in a group of rows, as written out."""
MOST_GROWTH = 32
"""How many times the bytes that they take in the file such texts may take. Compressed stories take two to five."""
MOST_ROWS = 512
"""Rows that are read at once."""
MOST_ENTRIES = 2**18
"""Rows that are read at once where each is the number of a text in a dictionary."""
STOP, TRUE, FALSE, BYTE, INT, DOUBLE, BINARY, STRUCT = 0, 1, 2, 3, 5, 7, 8, 12
NUMBERS = (4, INT, 6)
"""Types of Thrift's compact protocol; a page's header has no lists or maps."""
DEEPEST = 4
KIND, SIZE, COMPRESSED = (1,), (2,), (3,)
VALUES = {0: ((5, 1), (5, 2)), 3: ((8, 1), (8, 4))}
"""Where the header of a page of values, by its kind, says how many it has and their encoding."""
WANTED = {KIND, SIZE, COMPRESSED}.union(*VALUES.values())
PREFIXES = 7
REPEATING = (2, PREFIXES, 8)
"""Encodings that name an entry of a dictionary, or how much of the text before is repeated (DELTA_BYTE_ARRAY)."""


def rows_at_once(path: Path, metadata: "parquet.FileMetaData", column: str | None = None) -> int:
    """How many rows of a column, or of all, may be read at once: a value is no longer than its page, but a page that is
    a dictionary may hold it once for all rows. InputError for a page of over `MOST_PAGE` bytes."""
    largest, row = 1, 1
    with reading(path), path.open("rb") as file:
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            for chunk in (group.column(j) for j in range(group.num_columns)):
                name = chunk.path_in_schema
                if column is None or name == column or name.startswith(f"{column}."):
                    size = max((size for size, *_ in _pages(file, path, chunk)), default=1)
                    if size > MOST_PAGE:
                        raise InputError(
                            f"{path}, rows {row:,} to {row + group.num_rows - 1:,}: {name!r} has a page of {size:,} "
                            f"bytes, and at most {MOST_PAGE // 2**20} MiB are read; write it with smaller ones"
                        )
                    largest = max(largest, size)
            row += group.num_rows
    return min(MOST_ROWS, max(1, MOST_PAGE // largest))


def refuse_repeats(path: Path, metadata: "parquet.FileMetaData") -> None:
    """InputError for a group of rows whose texts take over `MOST_GROUP` bytes written out, and `MOST_GROWTH` times what
    they take in the file: they repeat those of a dictionary, or the text before, or are compressed that well.
    `datasets` writes whole groups out. Texts are read only where the headers of their pages allow that many bytes, and
    no further than the last page that repeats any."""
    row = 1
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for chunk in (group.column(j) for j in range(group.num_columns)):
            if chunk.physical_type == "BYTE_ARRAY" and (written := _excess(path, metadata, i, chunk)):
                raise InputError(
                    f"{path}, rows {row:,} to {row + group.num_rows - 1:,}: {chunk.path_in_schema!r} repeats its texts "
                    f"to at least {written:,} bytes, over {MOST_GROUP // 2**20:,} MiB and {MOST_GROWTH} times what it "
                    "has in the file; give that file itself, which is read in parts"
                )
        row += group.num_rows


def _excess(path: Path, metadata: "parquet.FileMetaData", group: int, chunk: "parquet.ColumnChunkMetaData") -> int:
    """The bytes of the texts of a column's part, as far as they were counted, if they are too many; otherwise 0."""
    import pyarrow.parquet

    largest = plain = repeats = values = until = written = held = 0
    prefixes = False
    name = chunk.path_in_schema
    with reading(path), path.open("rb") as file:
        for size, compressed, count, encoding in _pages(file, path, chunk):
            largest, values, held = max(largest, size), values + count, held + compressed
            if encoding in REPEATING:
                repeats, until, written = repeats + count, values, 0
                prefixes |= encoding == PREFIXES
            else:
                plain, written = plain + size, written + size
    most = max(MOST_GROUP, MOST_GROWTH * held)
    if not repeats or plain + repeats * largest <= most:
        return plain if plain > most else 0
    rows = min(until, chunk.num_values)
    parts = math.ceil(rows / MOST_ENTRIES)
    once = rows_at_once(path, metadata, name) if prefixes else math.ceil(rows / parts)
    kept = [] if prefixes else [name]  # in its dictionary; pyarrow reads prefixes only written out
    with pyarrow.parquet.ParquetFile(path, read_dictionary=kept, buffer_size=2**16, pre_buffer=False) as file:
        for texts in file.iter_batches(once, [group], [name]):
            written += _written_out(texts.column(0))
            rows -= texts.num_rows
            if rows <= 0 or written > most:
                break
    return written if written > most else 0


def _written_out(array: "pyarrow.Array") -> int:
    """The bytes of a column's texts, each as often as it stands there."""
    import pyarrow
    import pyarrow.compute

    if pyarrow.types.is_dictionary(array.type):
        lengths = pyarrow.compute.binary_length(array.dictionary).take(array.indices)
        return int(pyarrow.compute.sum(lengths.cast("int64")).as_py() or 0)
    if pyarrow.types.is_nested(array.type):
        return sum(map(_written_out, array.flatten() if pyarrow.types.is_struct(array.type) else [array.values]))
    return int(array.nbytes)


def _pages(file: BinaryIO, path: Path, chunk: "parquet.ColumnChunkMetaData") -> Iterator[tuple[int, int, int, int]]:
    """Of each page of a column's part, as far as pyarrow reads: its bytes as decompressed and in the file, how many
    values it has, and their encoding; a dictionary has none."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < at:
        at = chunk.dictionary_page_offset
    values = 0
    while values < chunk.num_values:
        file.seek(at)
        try:
            numbers = _header(file)
            size, compressed, kind = numbers[SIZE], numbers[COMPRESSED], numbers[KIND]
            count, encoding = [numbers[field] for field in VALUES[kind]] if kind in VALUES else (0, 0)
        except (EOFError, LookupError):
            raise InputError(f"{path} is not a whole parquet file (no page at byte {at:,}); fetch it again") from None
        # a page that is not compressed has the size that it has in the file, whatever its header says
        yield max(size, compressed), compressed, count, encoding
        at, values = file.tell() + compressed, values + count


def _header(file: BinaryIO, within: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """The 32-bit numbers that are `WANTED` of a struct in Thrift's compact protocol, by their fields' ids from the
    outermost in; what else it has is passed over. EOFError or LookupError for what is no such struct, and for a field
    that stands twice or a number of more bits, in which pyarrow may see another value."""
    numbers: dict[tuple[int, ...], int] = {}
    field = 0
    while (head := _byte(file)) != STOP:
        kind, before = head & 15, field
        field = field + (head >> 4) if head >> 4 else _number(file)
        if not before < field < 2**15:
            raise LookupError(field)
        place = (*within, field)
        if kind in NUMBERS:
            number = _number(file)
            if kind == INT and place in WANTED:
                numbers[place] = _natural(number)
        elif kind == BINARY:
            file.seek(_natural(_unsigned(file)), 1)
        elif kind == STRUCT and len(within) < DEEPEST:
            numbers |= _header(file, place)
        elif kind in (BYTE, DOUBLE):
            file.seek(1 if kind == BYTE else 8, 1)
        elif kind not in (TRUE, FALSE):
            raise LookupError(kind)
    return numbers


def _byte(file: BinaryIO) -> int:
    if not (found := file.read(1)):
        raise EOFError
    return found[0]


def _unsigned(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise LookupError


def _number(file: BinaryIO) -> int:
    value = _unsigned(file)
    return (value >> 1) ^ -(value & 1)  # zigzag


def _natural(number: int) -> int:
    if 0 <= number < 2**31:
        return number
    raise LookupError(number)
