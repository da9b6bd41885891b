"""Sizes of the pages of a Parquet file, from their headers: known before a page is decompressed."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

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


class Page(NamedTuple):
    """What the header of a page says."""

    size: int
    """Bytes as decompressed."""
    held: int
    """Bytes in the file, its header's included."""
    values: int
    """0 of a dictionary."""
    encoding: int


def rows_at_once(path: Path, metadata: "parquet.FileMetaData", column: str | None = None) -> int:
    """How many rows of a column, or of all, may be read at once: a value is no longer than its page, but a page that is
    a dictionary may hold it once for all rows. InputError for a page of over `MOST_PAGE` bytes."""

    def wanted(chunk: "parquet.ColumnChunkMetaData") -> bool:
        return column is None or chunk.path_in_schema == column or chunk.path_in_schema.startswith(f"{column}.")

    largest = 1
    for rows, _, chunk, pages in _parts(path, metadata, wanted):
        size = max((page.size for page in pages), default=1)
        if size > MOST_PAGE:
            raise InputError(
                f"{path}, {rows}: {chunk.path_in_schema!r} has a page of {size:,} bytes, and at most "
                f"{MOST_PAGE // 2**20} MiB are read; write it with smaller ones"
            )
        largest = max(largest, size)
    return min(MOST_ROWS, max(1, MOST_PAGE // largest))


def refuse_repeats(path: Path, metadata: "parquet.FileMetaData") -> None:
    """InputError for a group of rows whose texts take over `MOST_GROUP` bytes written out, and `MOST_GROWTH` times what
    they take in the file: they repeat those of a dictionary, or the text before, or are compressed that well.
    `datasets` writes whole groups out. Texts are read only where the headers of their pages allow that many bytes, and
    no further than the last page that repeats any."""
    for rows, group, chunk, pages in _parts(path, metadata, lambda chunk: chunk.physical_type == "BYTE_ARRAY"):
        if written := _excess(path, metadata, group, chunk, pages):
            raise InputError(
                f"{path}, {rows}: {chunk.path_in_schema!r} repeats its texts to at least {written:,} bytes, over "
                f"{MOST_GROUP // 2**20:,} MiB and {MOST_GROWTH} times what it has in the file; give that file itself, "
                "which is read in parts"
            )


def _excess(
    path: Path,
    metadata: "parquet.FileMetaData",
    group: int,
    chunk: "parquet.ColumnChunkMetaData",
    pages: Sequence[Page],
) -> int:
    """The bytes of the texts of a column's part, as far as they were counted, if they are too many; otherwise 0."""
    import pyarrow.parquet

    largest = plain = repeats = values = until = written = 0
    for page in pages:
        largest, values = max(largest, page.size), values + page.values
        if page.encoding in REPEATING:
            repeats, until, written = repeats + page.values, values, 0
        else:
            plain, written = plain + page.size, written + page.size
    most = max(MOST_GROUP, MOST_GROWTH * sum(page.held for page in pages))
    if not repeats or plain + repeats * largest <= most:
        return plain if plain > most else 0
    rows, name = min(until, chunk.num_values), chunk.path_in_schema
    prefixes = any(page.encoding == PREFIXES for page in pages)
    once = rows_at_once(path, metadata, name) if prefixes else math.ceil(rows / math.ceil(rows / MOST_ENTRIES))
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


def _parts(
    path: Path, metadata: "parquet.FileMetaData", wanted: "Callable[[parquet.ColumnChunkMetaData], bool]"
) -> Iterator[tuple[str, int, "parquet.ColumnChunkMetaData", list[Page]]]:
    """Of each group of rows, the part of each column that is wanted: the rows in words, the group's number, the part,
    and its pages. InputError for parts that take more than the file, so that bytes would be read several times."""
    row = 1
    with reading(path), path.open("rb") as file:
        left = path.stat().st_size
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            for chunk in filter(wanted, (group.column(j) for j in range(group.num_columns))):
                pages = list(_pages(file, path, chunk))
                left -= sum(page.held for page in pages)
                if left < 0:
                    raise InputError(f"{path} is not a whole parquet file (its columns overlap); fetch it again")
                yield f"rows {row:,} to {row + group.num_rows - 1:,}", i, chunk, pages
            row += group.num_rows


def _pages(file: BinaryIO, path: Path, chunk: "parquet.ColumnChunkMetaData") -> Iterator[Page]:
    """The pages of a column's part, as far as pyarrow reads."""
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
        end = file.tell() + compressed
        # a page that is not compressed has the size that it has in the file, whatever its header says
        yield Page(max(size, compressed), end - at, count, encoding)
        at, values = end, values + count


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
