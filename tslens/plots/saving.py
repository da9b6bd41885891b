"""Figures saved atomically, each with its table."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from tslens.errors import InputError
from tslens.files import atomic
from tslens.plots.style import styled, svg
from tslens.plots.text import printable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def save(figure: "Figure", path: str | Path, table: "pd.DataFrame | None" = None) -> Path:
    """Write the figure to `path` (.svg or .png) and `table` beside it as .csv; returns the path.

    Each file is written atomically. Control characters in the table are escaped (a token may be a carriage return,
    which not every CSV reader accepts as text).
    """
    place = Path(path)
    if place.suffix == ".svg":
        content = svg(figure).encode()
    elif place.suffix == ".png":
        buffer = io.BytesIO()
        with styled():
            figure.savefig(buffer, format="png", metadata={"Software": None})
        content = buffer.getvalue()
    else:
        raise InputError(f"a figure is saved as .svg or .png; got {place.name!r}")
    _write(place, content)
    if table is not None:
        plain = table.map(lambda cell: printable(cell) if isinstance(cell, str) else cell)
        _write(place.with_suffix(".csv"), plain.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode())
    return place


def _write(place: Path, content: bytes) -> None:
    with atomic(place, "wb") as file:
        file.write(content)
