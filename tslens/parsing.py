"""Parse JSON, TOML, and the rows of JSON-lines and CSV files: whatever they are not is one line with the place.

JSON may be nested deeper than Python recurses, or hold a number of more digits than Python converts or than a float
holds: an error of the file, like any other.
"""

import codecs
import csv
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tslens.errors import InputError
from tslens.paths import absent, reading, refuse_special

DEEPEST = 100
"""Levels of lists and tables within one another: few enough that copying and writing them recurses no deeper than
Python does."""
LARGEST = 10**308  # a whole number below it is a float too
LONGEST = 16 * 2**20  # bytes of one story or row; beyond it, a separator or a newline is missing


def parse_json(text: str | bytes, where: str, remedy: str = "It was altered or cut off.") -> Any:
    """The value of a JSON text in UTF-8. InputError for what is none, is nested too deep, or has too long a number."""
    try:
        found = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error).splitlines()[0]
        raise InputError(f"{where} is not JSON ({reason}). {remedy}") from None
    _refuse_extremes(found, where, remedy)
    return found


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """The table of a TOML file. InputError for what is none, not UTF-8, nested too deep, or has too long a number."""
    try:
        found = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # tomllib's own error is a ValueError
        raise InputError(f"{where} is not TOML: {str(error).splitlines()[0]}.") from None
    _refuse_extremes(found, where, "Take it out.")
    return found


def _refuse_extremes(found: Any, where: str, remedy: str) -> None:
    """InputError for what Python parses, and what reads it would fail on."""
    level, depth = [found], 0
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, int) and not -LARGEST < value < LARGEST:
                raise InputError(f"{where} has a number of over 308 digits. {remedy}")
        level, depth = below, depth + 1
        if depth > DEEPEST:
            raise InputError(f"{where} has lists or tables more than {DEEPEST} deep. {remedy}")


def decoded(raw: bytes, path: Path, offset: int) -> str:
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
    refuse_special(path)
    with reading(path), path.open("rb") as file:
        while raw := file.readline(LONGEST + 1):
            if len(raw) > LONGEST:
                raise InputError(
                    f"{path} has a line of over {LONGEST // 2**20} MiB at byte {offset}; give one row a line"
                )
            yield decoded(raw, path, offset)
            offset += len(raw)


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of JSON lines, each with its number."""
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            where = f"{path}, line {number}"
            row = parse_json(line, where, "Give one object a line.")
            if not isinstance(row, dict):
                raise InputError(f"{where} is {type(row).__name__}; give one object a line")
            if "\\ud" in line.lower() and _is_no_text(json.dumps(row, ensure_ascii=False)):
                raise InputError(f"{where} has half a surrogate pair, which is no text; mend that row")
            yield number, row


def _is_no_text(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def csv_rows(path: Path, *, header: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV file whose first line names the columns, each with its line; with `header` that line first."""
    csv.field_size_limit(LONGEST)
    table = csv.DictReader(lines(path), strict=True)
    try:
        if header and table.fieldnames is not None:
            yield 1, dict.fromkeys(table.fieldnames)
        for row in table:
            if (fields := _n_fields(row)) != (named := len(table.fieldnames or ())):
                told = f"{path}, line {table.line_num}: fields {fields}, columns {named}"
                raise InputError(f"{told}; give each, and quote one with commas")
            yield table.line_num, row
    except csv.Error as error:
        first = table.line_num + 1  # of the row: the reader counts the lines of the rows before
        raise InputError(f"{path}, line {first} is not CSV ({error}); quote fields with newlines") from None


def _n_fields(row: dict[Any, Any]) -> int:
    """The fields of a row of `csv.DictReader`, which has those beyond the header under None, and None for missing."""
    return sum(value is not None for name, value in row.items() if name is not None) + len(row.get(None, ()))


def rows(path: str | Path, what: str = "rows") -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a `.jsonl` or `.csv` file, each with its place in words. InputError for another file, or none."""
    path = Path(path)
    readers = {".jsonl": objects, ".csv": csv_rows}
    if path.suffix.lower() not in readers:
        raise InputError(f"{path} is no .jsonl or .csv file; give {what} as one of these.")
    if not path.is_file():
        raise InputError(f"{absent(path, 'file')}; give {what} as .jsonl or .csv.")
    for number, row in readers[path.suffix.lower()](path):
        yield f"{path}, line {number}", row
