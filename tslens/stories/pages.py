"""Sizes of the pages of a Parquet file, from their headers: known before a page is decompressed."""

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
MOST_ROWS = 512
"""Rows that are read at once."""
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, STRUCT = 0, 1, 2, 3, 7, 8, 12
NUMBERS = (4, 5, 6)
"""Types of Thrift's compact protocol; a page's header has no lists or maps."""
DEEPEST = 4


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
                    size = max(_sizes(file, path, chunk), default=1)
                    if size > MOST_PAGE:
                        raise InputError(
                            f"{path}, rows {row:,} to {row + group.num_rows - 1:,}: {name!r} has a page of {size:,} "
                            f"bytes, and at most {MOST_PAGE // 2**20} MiB are read; write it with smaller ones"
                        )
                    largest = max(largest, size)
            row += group.num_rows
    return min(MOST_ROWS, max(1, MOST_PAGE // largest))


def refuse_repeats(path: Path, metadata: "parquet.FileMetaData") -> None:
    """InputError for a group of rows whose texts stand once in a dictionary and take over `MOST_GROUP` bytes when they
    are written out: `datasets` does that for whole groups."""
    import pyarrow.parquet

    row = 1
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for chunk in (group.column(j) for j in range(group.num_columns)):
            name, size = chunk.path_in_schema, chunk.total_uncompressed_size
            if (
                chunk.physical_type != "BYTE_ARRAY"
                or not chunk.has_dictionary_page
                or size * chunk.num_values < MOST_GROUP
            ):
                continue
            with pyarrow.parquet.ParquetFile(path, read_dictionary=[name]) as file:
                (column,) = file.read_row_group(i, columns=[name]).columns
            if (written := sum(map(_written_out, column.chunks))) > MOST_GROUP:
                raise InputError(
                    f"{path}, rows {row:,} to {row + group.num_rows - 1:,}: {name!r} repeats its texts to {written:,} "
                    f"bytes, and at most {MOST_GROUP // 2**20:,} MiB are read at once; give that file itself, which is "
                    "read in parts"
                )
        row += group.num_rows


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


def _sizes(file: BinaryIO, path: Path, chunk: "parquet.ColumnChunkMetaData") -> Iterator[int]:
    """The decompressed bytes of each page of a column's part."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
        start = chunk.dictionary_page_offset
    at, end = start, start + chunk.total_compressed_size
    while at < end and chunk.num_values:
        file.seek(at)
        try:
            numbers = _header(file)
            size, compressed = numbers[2], numbers[3]
        except (EOFError, LookupError):
            size = compressed = -1
        if size < 0 or compressed < 0:
            raise InputError(f"{path} is not a whole parquet file (no page at byte {at:,}); fetch it again")
        yield size
        at = file.tell() + compressed


def _header(file: BinaryIO, depth: int = 0) -> dict[int, int]:
    """The whole numbers among the fields of a struct in Thrift's compact protocol, by the field's id; what else it has
    is passed over. EOFError or LookupError for what is no such struct."""
    numbers: dict[int, int] = {}
    field = 0
    while (head := _byte(file)) != STOP:
        kind = head & 15
        field = field + (head >> 4) if head >> 4 else _number(file)
        if kind in NUMBERS:
            numbers[field] = _number(file)
        elif kind == BINARY:
            file.seek(_unsigned(file), 1)
        elif kind == STRUCT and depth < DEEPEST:
            _header(file, depth + 1)
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
