"""Numbers that are none, in what a command printed and in the files that it wrote."""

import csv
import html
import json
import os
import re
from pathlib import Path
from typing import NoReturn

NO_NUMBER = re.compile(r"""(?<![\w.'’"/\\<@-])-?(nan|NaN|inf|Infinity)(?![\w'’"/\\@-]|\.\w)""")
"""As it is printed where a number is meant: neither in a word or a path nor between quotes."""
NO_CELL = re.compile(r"\s*[-+]?(nan|inf|infinity)\s*", re.IGNORECASE)
UNSEEN = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
"""What of a page is no text that is read."""
DATA = re.compile(r"""<script[^>]*type="application/json"[^>]*>(.*?)</script>""", re.DOTALL)


def _refuse(constant: str) -> NoReturn:
    raise ArithmeticError(constant)


def _in_json(text: str) -> str:
    """The first number that is none of a JSON document; empty for a text that is no JSON."""
    try:
        json.loads(text, parse_constant=_refuse)
    except ArithmeticError as error:
        return str(error)
    except (ValueError, RecursionError):
        pass
    return ""


def _in_page(text: str) -> str:
    """The first number that is none in the data of a page, or in the text that is read."""
    kept = next((found for data in DATA.findall(text) if (found := _in_json(data))), "")
    seen = NO_NUMBER.search(html.unescape(UNSEEN.sub(" ", text)))
    return kept or (seen[0] if seen else "")


def _in_table(text: str) -> str:
    try:
        cells = (cell for row in csv.reader(text.splitlines()) for cell in row)
        return next((cell for cell in cells if NO_CELL.fullmatch(cell)), "")
    except csv.Error:
        return ""


def _in_lines(text: str) -> str:
    return next((found for line in text.splitlines() if (found := _in_json(line))), "")


OF_RESULTS = "result.json"
"""The record of a saved Result, where NaN stands for what cannot be told, such as an interval of one story."""
READERS = {".json": _in_json, ".jsonl": _in_lines, ".csv": _in_table, ".html": _in_page}


def no_number(printed: str, names: str = "") -> str:
    """The first number that is none of what was printed; empty if there is none. What stands in `names`, a text that
    holds names alone, is a name and no number."""
    given = {found[0] for found in NO_NUMBER.finditer(names)}
    return next((found[0] for found in NO_NUMBER.finditer(printed) if found[0] not in given), "")


def no_number_written(folder: Path, since: float) -> str:
    """The first file written in a folder since then that holds a number that is none, and that; empty if there is none."""
    for home, _, names in os.walk(folder):
        for path in (Path(home, name) for name in sorted(names)):
            young = path.is_file() and not path.is_symlink() and path.stat().st_mtime >= since
            read = None if path.name == OF_RESULTS else READERS.get(path.suffix)
            if young and read is not None and (found := read(path.read_text("utf-8", "replace"))):
                return f"{path.relative_to(folder)}: {found!r}"
    return ""
