"""Templates of a suite: a pair of prompts with slots, filled in many ways that are the same every time."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from tslens.errors import InputError

SLOT = re.compile(r"\{(\w+?)(\d?)\}")
TRIES = 400
"""Draws for each pair wanted, before a template counts as one that has too few."""

Rows = Mapping[str, Sequence[str | Sequence[str]]]
"""What fills the slots: under a name its words; under several names with spaces between, rows of a word for each."""


def filled(texts: Sequence[str], rows: Rows, number: int, seed: str, where: str) -> Iterator[list[str]]:
    """`number` ways to fill the slots of the texts: all texts of one differ, and its first two are in no other.

    A slot is `{name}`, which is `{name1}`, or `{name2}` for another row. Rows are drawn at random from the seed, no row
    twice in one filling. InputError for a slot without rows, for rows of a wrong length, and for too few of them.
    """
    columns = _columns(rows, where)
    used = {(name, int(number or 1)) for text in texts for name, number in SLOT.findall(text)}
    if unknown := sorted({name for name, _ in used} - columns.keys()):
        raise InputError(f"{where}: nothing fills {{{unknown[0]}}}. 'fill' has: {', '.join(columns)}.")
    if useless := sorted(key for key in rows if not {name for name, _ in used} & set(key.split())):
        raise InputError(f"{where}: no prompt has a slot for {useless[0]!r}. Slots are written {{name}} or {{name2}}.")
    most = {key: max(n for name, n in used if name in key.split()) for key in rows}
    if short := [key for key, n in most.items() if len(rows[key]) < n]:
        raise InputError(f"{where}: {short[0]!r} has {len(rows[short[0]])} rows; its slots need {most[short[0]]}.")
    rng, seen, made = random.Random(seed), set[str](), 0
    for _ in range(TRIES * number):
        chosen = {key: rng.sample(range(len(rows[key])), n) for key, n in most.items()}
        values = {(name, n): columns[name][1][chosen[columns[name][0]][n - 1]] for name, n in used}
        found = [SLOT.sub(lambda slot: values[slot[1], int(slot[2] or 1)], text) for text in texts]  # noqa: B023
        if seen.isdisjoint(found[:2]) and len(set(found)) == len(found):
            seen |= set(found[:2])
            yield found
            made += 1
        if made == number:
            return
    raise InputError(f"{where} gives only {made} different pairs, not {number}. Add to 'fill', or ask for fewer pairs.")


def _columns(rows: Rows, where: str) -> dict[str, tuple[str, list[str]]]:
    """The key of `rows` that each slot's name belongs to, and its words."""
    columns: dict[str, tuple[str, list[str]]] = {}
    for key, given in rows.items():
        names = key.split()
        for place, row in enumerate(given, 1):
            words = [row] if isinstance(row, str) else list(row)
            if len(words) != len(names):
                raise InputError(f"{where}: row {place} of {key!r} has {len(words)} words; it needs {len(names)}.")
            for name, word in zip(names, words, strict=True):
                columns.setdefault(name, (key, []))[1].append(word)
    return columns
