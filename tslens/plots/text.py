"""Tokens as text: on one line, in a cell, as a list.

A token may be any bytes: a space, a line break, a control character.
"""

from collections import Counter
from collections.abc import Sequence

LINE_BREAK, SPACE, CUT = "↵", "␣", "…"


def printable(text: str) -> str:
    """The text with its control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """The text with a sign for each line break."""
    return text.replace("\n", LINE_BREAK)


def shown(piece: str) -> str:
    """A token in a list or a label: on one line, without its leading space.

    White space is named (`newline`, `newlines`, `tab`); for spaces alone a sign stands.
    """
    if piece.strip():
        return one_line(piece).strip(" ")
    lines = piece.count("\n")
    return "newlines" if lines > 1 else "newline" if lines else "tab" if "\t" in piece else SPACE


def in_cell(piece: str, letters: int = 12) -> str:
    """A token in a cell of a figure: stripped, a sign for each character if it is all white space, cut to `letters`."""
    text = piece.strip() or one_line(piece.replace(" ", SPACE))
    return text if len(text) <= letters else text[: letters - 1] + CUT


def listed(tokens: Sequence[int], pieces: Sequence[str], n: int = 6) -> str:
    """The first `n` tokens as text; `pieces` is the vocabulary."""
    return " ".join(shown(pieces[token]) for token in tokens[:n])


def commonest(tokens: Sequence[int], pieces: Sequence[str], n: int = 6) -> str:
    """The `n` commonest tokens as text, with their counts above 1; -1 is no token."""
    found = Counter(pieces[token] for token in tokens if token >= 0).most_common(n)
    return " ".join(f"{shown(piece)}×{count}" if count > 1 else shown(piece) for piece, count in found)
