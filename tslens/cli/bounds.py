"""The largest value of every option that takes a whole number, refused before anything is read or allocated.

Each is beyond what a study needs and within what a machine counts to. The smallest are the commands' own.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from tslens.errors import InputError

if TYPE_CHECKING:
    from cyclopts import Argument, ArgumentCollection

STORIES, TEXTS, TOKENS, VOCABULARY = 100_000_000, 10_000, 1_000_000, 1_000_000
LARGEST: dict[str, int] = {
    **dict.fromkeys(("--limit", "--fit-limit", "--reference-limit", "--checked", "stories make --n"), STORIES),
    **dict.fromkeys(("--n", "--completions", "--samples", "--again", "--tries", "--pairs"), TEXTS),
    "stories ask --n": 1_000_000,
    "generate --n": 100_000,
    **dict.fromkeys(("--tokens", "--max-new-tokens", "--limit-tokens", "--thinking", "--span"), TOKENS),
    **dict.fromkeys(("--vocab", "--vocabulary", "--keep", "--top-k", "--width", "--active"), VOCABULARY),
    **dict.fromkeys(("--steps", "--at-least", "--fewest"), 1_000_000),
    **dict.fromkeys(("--top", "--twins"), 9_999),
    **dict.fromkeys(("--beams", "--concurrency", "--repeats", "--layer", "eval --twins", "eval all --twins"), 1_000),
    "analyze neurons --top": 1_000,
    "--batch": 4_096,
    "eval cost --tokens": 100_000,
    **dict.fromkeys(("--runs", "--sample"), 100_000),
    "--seeds": 100,
    "--shown": 40,
}
"""By option, or by command and option where they differ. A seed has none: it counts nothing."""
DIGITS = 18  # of a number that is shown


def largest(command: str, option: str) -> int | None:
    """The largest value of an option of a command; None for one that has none."""
    return LARGEST.get(f"{command} {option}", LARGEST.get(option))


def is_whole_number(argument: "Argument") -> bool:
    """Whether an option takes a whole number, or several."""
    hints = {argument.resolved_hint, *get_args(argument.resolved_hint)}
    return int in hints | {inner for hint in hints for inner in get_args(hint)}


def refuse_beyond(command: Sequence[str], arguments: "ArgumentCollection") -> None:
    """InputError for a whole number beyond the largest value of its option."""
    for argument in arguments:
        most = largest(" ".join(command), argument.name) if is_whole_number(argument) else None
        for token in argument.tokens:
            found = re.fullmatch(r"\+?0*(\d+)", token.value)
            if most is None or not found:
                continue
            if len(found[1]) > DIGITS:
                raise InputError(f"{argument.name} is a number of {len(found[1]):,} digits; give {most:,} or less.")
            if int(found[1]) > most:
                raise InputError(f"{argument.name} is {int(found[1]):,}; give {most:,} or less.")
