"""Lines of a TOML file: where a table, an entry or a key that a check complains about is written."""

import re
from collections.abc import Sequence
from functools import lru_cache

QUOTED_OR_COMMENT = re.compile(r'"""(?s:.*?)"""|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*')


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line, from 1, of what `path` leads to, such as `("pair", 2, "prompts", 1, "text")`, numbers from 0.

    Tables of an array are found by their `[[header]]`, inline tables by their braces, and keys by their name. Where a
    key is missing, or is an element of a list, the line of what should hold it. None if the array has no such headers.
    """
    bare = _bare(text)
    start, stop, parts, array = 0, len(bare), list(path), ""
    while len(parts) > 1 and isinstance(number := parts[1], int):
        array = f"{array}.{parts[0]}".lstrip(".")
        header = re.compile(rf"^[ \t]*\[\[\s*{re.escape(array)}\s*\]\]", re.MULTILINE)
        headers = list(header.finditer(bare, start, stop))
        if number >= len(headers):
            if "." in array:  # an array of inline tables
                break
            return None
        start, parts = headers[number].start(), parts[2:]
        following = re.compile(rf"^[ \t]*\[\[?\s*(?!{re.escape(array)}\.)\w", re.MULTILINE).search(
            bare, start + 2, stop
        )
        stop = following.start() if following else stop
    for part in parts:
        if isinstance(part, int):
            braces = list(re.finditer(r"\{[^}]*", bare[start:stop]))
            if part < len(braces):
                start, stop = start + braces[part].start(), start + braces[part].end()
        elif found := _key(part, bare[start:stop]):
            start += found.start()
    return bare.count("\n", 0, start) + bool(bare)


@lru_cache(maxsize=1)
def _bare(text: str) -> str:
    """The text with spaces for what is quoted or a comment."""
    return QUOTED_OR_COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _key(name: str, text: str) -> re.Match[str] | None:
    """Where a key stands before its value, or as the header of a table."""
    key = re.search(rf"(?<![\w-]){re.escape(name)}\s*=", text)
    return key or re.search(rf"^[ \t]*\[\[?\s*{re.escape(name)}\s*\]", text, re.MULTILINE)
