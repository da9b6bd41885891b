"""Tables as text: as many columns as a line has room for, small p-values as bounds, long texts cut."""

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
"""Characters of a text for which a line must have room; less is not worth showing."""
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
    """Characters of a line: of the terminal's, or COLUMNS where output goes elsewhere; None for no limit."""
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
    short = (
        textwrap.fill(line, width, break_on_hyphens=False) if len(line) > width else line for line in text.split("\n")
    )
    return "\n".join(short)


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
    """The columns that a line has room for, in the table's order, and the characters of each."""
    sizes = {name: max(map(len, [name, *column])) for name, column in cells.items()}
    if (width := room()) is None:
        return sizes
    left, chosen = width + 1, dict[str, int]()
    for name in dict.fromkeys([*essential, *cells]):
        size = sizes[name]
        if size >= left and name in texts and left > SHORTEST:
            size = max(SHORTEST, left - 1)
        if size >= left:
            break
        chosen[name] = size
        left -= size + 1
    return {name: chosen[name] for name in cells if name in chosen}


def _aligned(name: str, column: Sequence[str], size: int, is_text: bool) -> list[str]:
    """The header and the cells, each of this size: numbers to the right, texts to the left, long ones cut."""
    cut = (cell if len(cell) <= size else f"{cell[: size - 1]}…" for cell in [name, *column])
    return [cell.ljust(size) if is_text else cell.rjust(size) for cell in cut]
