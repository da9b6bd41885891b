"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str], n: int = 1) -> str:
    """' Did you mean ...?' with up to n known names but the given one, nearest first; empty if none is near. Names are
    compared without case."""
    folded: dict[str, list[str]] = {}
    for name in known:
        if name != given:
            folded.setdefault(name.casefold(), []).append(name)
    near = [name for key in get_close_matches(given.casefold(), folded, n=n, cutoff=0.65) for name in folded[key]][:n]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
