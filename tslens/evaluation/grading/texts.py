"""Texts to be graded, and the files that hold them: JSON lines or CSV, one text a row, more columns allowed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tslens.errors import InputError
from tslens.parsing import rows
from tslens.stories.readers import checked_text

PROMPT = ("prompt", "beginning", "instructions")
COMPLETION = ("completion", "continuation", "story")
OTHERS = ("model", "ending", "expected", "rejected")
_JOINED = re.compile(r"\s|['’](?:s|t|d|m|ll|re|ve)\b|[^\w\"“‘'(]|$")


@dataclass(frozen=True)
class GradedText:
    """A continuation to be graded, with what it continues."""

    prompt: str
    completion: str
    model: str = ""
    """Who wrote it."""
    ending: str = ""
    """The true ending of the prompt's story, where known."""
    expected: str = ""
    """What a right continuation says, where the prompt asks for it; shown to graders."""
    rejected: str = ""
    """What a wrong one says; read by graders that compare the two, and shown to none."""

    @property
    def is_empty(self) -> bool:
        """Whether the continuation says nothing: it has the lowest score on every axis."""
        return not self.completion.strip()


def joint(continuation: str) -> str:
    """What stands between a beginning and its continuation: a space, but before white space, a mark or the rest of a
    contraction nothing."""
    return "" if _JOINED.match(continuation) else " "


def read_texts(path: str | Path) -> list[GradedText]:
    """The texts of a `.jsonl` or `.csv` file with the columns `prompt` (or `beginning`), `completion`, and optionally
    `model`, `ending` (the true one), `expected` and `rejected`. InputError names the line of what is missing."""
    found = [_text(row, where) for where, row in rows(path)]
    if not found:
        raise InputError(f"{path} holds no text to grade; give one row a text.")
    return found


def text_of(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    """The text in the first of these columns that is there. InputError if none is, or if it holds no text."""
    name = next((name for name in names if name in row), None)
    if name is None:
        raise InputError(f"{where} has no column {names[0]!r}; it has {', '.join(map(str, row))}.")
    value = row[name]
    if value is None:  # a row of CSV that ends early
        raise InputError(f"{where} has nothing in the column {name!r}; an empty continuation is an empty text.")
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} is {type(value).__name__}, not text.")
    return checked_text(value, name, where)


def _text(row: Mapping[str, Any], where: str) -> GradedText:
    row = {**row, "ending": row.get("ending") or row.get("true_ending")}  # as `eval write` calls it
    others = {name: text_of(row, (name,), where) for name in OTHERS if row.get(name)}
    return GradedText(text_of(row, PROMPT, where), text_of(row, COMPLETION, where), **others)
