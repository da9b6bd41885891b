"""Grammar errors planted in texts: every one is an error by itself, whatever the rest of the text says."""

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

WORDS_PER_ERROR = 12
"""An error is planted for about so many words, if a text has as many places for one."""

_VERBS = (  # base form, past form, and the past form that a small child makes
    "go went goed/see saw seed/find found finded/run ran runned/take took taked/come came comed/say said sayed/"
    "give gave gived/make made maked/eat ate eated/know knew knowed/get got getted/"
    "tell told telled/think thought thinked"
)
_FORMS = [tuple(entry.split()) for entry in _VERBS.split("/")]
_PAST = {base: past for base, past, _ in _FORMS} | {base: f"{base}ed" for base in "play help want look ask".split()}
_CHILDISH = {past: childish for _, past, childish in _FORMS}
_NUMBER = {"was": "were", "were": "was", "is": "are", "are": "is", "has": "have"}
_CASE = {"he": "him", "they": "them", "we": "us"}
_NOT_SINGULAR = set(
    "I You We They And Or But If Those These Who What Where Which There All None Some More Most Any Many".split()
)


class PlantedError(NamedTuple):
    """A place of a text and what makes it an error."""

    start: int
    end: int
    error: str
    """The wrong words that replace those of the place."""
    kind: str


class _Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    error: Callable[[re.Match[str]], str | None]


def _like(word: str, other: str) -> str:
    """The other word, with a capital if the word has one."""
    return other[0].upper() + other[1:] if word[0].isupper() else other


def _number(found: re.Match[str]) -> str | None:
    subject, verb = found[1], found[2]
    plural = subject.lower() in ("they", "we", "you")
    if plural != (verb in ("were", "are")) or (not plural and subject in _NOT_SINGULAR):
        return None
    return f"{subject} {_NUMBER[verb]}"


def _or_none(table: dict[str, str]) -> Callable[[re.Match[str]], str | None]:
    """The first group as it is, and the second by a table; None for a word that is not in it."""
    return lambda found: f"{found[1]}{table[found[2]]}" if found[2] in table else None


_RULES = (
    _Rule(
        "number",
        re.compile(r"(?<![iI]f )(?<!wish )(?<!though )\b(he|she|it|they|we|you|[A-Z][a-z]+) (was|were|is|are|has)\b"),
        _number,
    ),
    _Rule("article", re.compile(r"\b([Aa]) (?=[bcdfgjklmnpqrstvwz][a-z])"), lambda found: f"{found[1]}n "),
    _Rule("article", re.compile(r"\b([Aa])n (?=[aei][a-z])"), lambda found: f"{found[1]} "),
    _Rule(
        "case",
        re.compile(r"\b([Hh]e|[Tt]hey|[Ww]e)(?= (?:was|were|had|went|saw|said|could|ran|took|came|felt|did|wanted)\b)"),
        lambda found: _like(found[1], _CASE[found[1].lower()]),
    ),
    _Rule(
        "form",
        re.compile(r"\b(to |did not |didn't |could |couldn't |would |will |can )([a-z]+)\b"),
        _or_none(_PAST),
    ),
    _Rule("past", re.compile(r"\b()([a-z]+)\b"), _or_none(_CHILDISH)),
    _Rule("order", re.compile(r"\b(the|a|his|their|my) ([a-z]+)\b"), lambda found: f"{found[2]} {found[1]}"),
    _Rule("double", re.compile(r"\b(the|The) (?=[a-z])"), lambda found: f"{found[1]} a "),
)


def places(text: str) -> list[PlantedError]:
    """Every error that could be planted in a text, by place; two of them may overlap."""
    return sorted(_places(text))


def _places(text: str) -> Iterator[PlantedError]:
    for kind, pattern, error in _RULES:
        for found in pattern.finditer(text):
            wrong = error(found)
            if wrong is not None:
                yield PlantedError(*found.span(), wrong, kind)


def plant(text: str, seed: int = 0, words_per_error: float = WORDS_PER_ERROR) -> list[PlantedError]:
    """The errors to plant, in order and apart from one another, drawn from (seed, text): one for about every
    `words_per_error` words, at least one, kinds in turn; fewer if there are no more places."""
    rng, wanted = Random(f"{seed}:{text}"), max(1, round(len(text.split()) / words_per_error))
    by_kind: dict[str, list[PlantedError]] = {}
    for place in places(text):
        by_kind.setdefault(place.kind, []).append(place)
    kinds = sorted(by_kind)
    rng.shuffle(kinds)
    for kind in kinds:
        rng.shuffle(by_kind[kind])
    chosen: list[PlantedError] = []
    while len(chosen) < wanted and any(by_kind.values()):
        for kind in kinds:
            while by_kind[kind] and len(chosen) < wanted:
                place = by_kind[kind].pop()
                if all(place.end < other.start or other.end < place.start for other in chosen):
                    chosen.append(place)
                    break
    return sorted(chosen)


def with_errors(text: str, seed: int = 0, words_per_error: float = WORDS_PER_ERROR) -> str | None:
    """The text with the errors of `plant`; None if it has no place for one."""
    chosen = plant(text, seed, words_per_error)
    for place in reversed(chosen):
        text = text[: place.start] + place.error + text[place.end :]
    return text if chosen else None
