"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, known: Iterable[str], n: int = 1) -> str:
    """' Did you mean ...?' with up to n known names, nearest first; empty if none is near."""
    near = get_close_matches(given, list(known), n=n, cutoff=0.65)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
