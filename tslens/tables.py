"""Tables as text: as many columns as a line has room for, small p-values as bounds, long texts cut.

Sizes are columns of a terminal, of which a sign of Chinese, Japanese or Korean takes two, and so do most emoji.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SMALL = 5e-4
"""P- and q-values below it are shown as `<0.001`."""
SHORTEST = 12
"""Size of a text for which a line must have room; less is not worth showing."""
LONGEST_WORD = 28
"""Size of a word of prose; a longer one is a name or a path, and is shown whole only where all columns have room."""
_SECOND = "\0"  # stands for the second column of a wide sign
MISSING = ("None", "nan", "NaT", "<NA>")
_PROBABILITY = re.compile(r"(^|[_ ])[pq]$")
_WIDE = ContextVar("_WIDE", default=False)


@contextmanager
def wide(is_wide: bool) -> Iterator[None]:
    """Within, if `is_wide`, tables have all their columns, whatever the terminal's width."""
    token = _WIDE.set(is_wide)
    try:
        yield
    finally:
        _WIDE.reset(token)


def room() -> int | None:
    """Size of a line: of the terminal's, or COLUMNS where output goes elsewhere; None for no limit."""
    if _WIDE.get():
        return None
    if sys.stdout is not None and sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else None


def filled(text: str) -> str:
    """The text, with lines that are longer than a line has room for broken between words."""
    if (width := room()) is None:
        return text
    return "\n".join(_wrapped(line, width) if size_of(line) > width else line for line in text.split("\n"))


def size_of(text: str) -> int:
    """The columns of a terminal that a text in one line takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _wrapped(line: str, width: int) -> str:
    """The line broken between words, and within words that are longer."""
    if not line.isascii():
        line = "".join(sign + _SECOND * (size_of(sign) - 1) for sign in line)
        width = max(1, width - 1)  # a wide sign may be broken in two, and is printed before the break
    return textwrap.fill(line, width, break_on_hyphens=False).replace(_SECOND, "")


def as_text(
    frame: "pd.DataFrame", essential: Sequence[str] = (), *, rows: int | None = None, missing: str = "–"
) -> str:
    """The table as lines of text; of more than `rows` rows those in the middle are left out.

    Where a line has no room for all columns it has the `essential` ones, then others from the left, and a last line
    names the rest.
    """
    whole = rows is None or len(frame) <= rows
    head = len(frame) if rows is None or whole else rows // 2
    shown = frame if whole else frame.iloc[[*range(head), *range(len(frame) - head, len(frame))]]
    cells = {str(name): [_cell(str(name), value, missing) for value in shown[name]] for name in shown.columns}
    for column in cells.values() if not whole else ():
        column.insert(head, "…")
    texts = [str(name) for name in frame.columns if not _is_number(frame[name])]
    chosen = _fitting(cells, [name for name in essential if name in cells], texts)
    lines = zip(*(_aligned(name, cells[name], size, name in texts) for name, size in chosen.items()), strict=True)
    printed = [" ".join(line).rstrip() for line in lines]
    rest = [name for name in cells if name not in chosen]
    return "\n".join([*printed, *([filled(f"More columns with --wide: {', '.join(rest)}.")] if rest else [])])


def _cell(name: str, value: Any, missing: str) -> str:
    if isinstance(value, str):
        return value
    if str(value) in MISSING:
        return missing
    if not isinstance(value, float):
        return str(value)
    return "<0.001" if value < SMALL and _PROBABILITY.search(name) else f"{value:.3f}"


def _is_number(column: "pd.Series[Any]") -> bool:
    return column.dtype.kind in "iufb" or all(isinstance(value, int | float) for value in column)


def _fitting(cells: Mapping[str, Sequence[str]], essential: Sequence[str], texts: Sequence[str]) -> dict[str, int]:
    """The columns that a line has room for, in the table's order, and the size of each."""
    sizes = {name: max(map(size_of, [name, *column])) for name, column in cells.items()}
    if (width := room()) is None:
        return sizes
    left, chosen = width + 1, dict[str, int]()
    for name in dict.fromkeys([*essential, *cells]):
        size = min(sizes[name], SHORTEST) if name in texts and _has_name(cells[name]) else sizes[name]
        if size >= left and name in texts and left > SHORTEST:
            size = max(SHORTEST, left - 1)
        if size >= left:
            break
        chosen[name] = size
        left -= size + 1
    while left > 0 and (short := [name for name in chosen if chosen[name] < sizes[name]]):
        chosen[min(short, key=chosen.__getitem__)] += 1
        left -= 1
    return {name: chosen[name] for name in cells if name in chosen}


def _has_name(column: Sequence[str]) -> bool:
    return any(size_of(word) > LONGEST_WORD for cell in column for word in cell.split())


def _aligned(name: str, column: Sequence[str], size: int, is_text: bool) -> list[str]:
    """The header and the cells, each of this size: numbers to the right, texts to the left, long ones cut."""
    cut = [_cut(cell, size) for cell in [name, *column]]
    blanks = [" " * (size - size_of(cell)) for cell in cut]
    return [cell + blank if is_text else blank + cell for cell, blank in zip(cut, blanks, strict=True)]


def _cut(cell: str, size: int) -> str:
    """The cell in this size: a word keeps both ends, since names of runs often differ at their end."""
    if size_of(cell) <= size:
        return cell
    if cell.isascii() and " " not in cell:
        return f"{cell[: size // 2]}…{cell[len(cell) - (size - 1) // 2 :]}"
    from rich.cells import set_cell_size

    return f"{set_cell_size(cell, size - 1)}…"
