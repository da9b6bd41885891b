"""Nodes of a template: literal words, marks, slots and alternatives."""

from dataclasses import dataclass
from typing import TypeAlias


class TemplateError(RuntimeError):
    """A template or tale of the generator is malformed: a defect of tslens, not of its input."""


@dataclass(frozen=True, slots=True)
class Word:
    """A literal word, tagged."""

    text: str
    tag: str
    who: str = ""  # the roles that a pronoun of the first or second person stands for


@dataclass(frozen=True, slots=True)
class Punct:
    """A punctuation mark; a quotation mark opens or closes."""

    text: str
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Space:
    """A space, which may still turn out to be one too many."""


@dataclass(frozen=True, slots=True)
class Own:
    """The possessive 's, part of the word before it."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A word to draw from a group, or one that is bound."""

    name: str
    form: str
    capital: bool
    bound: bool
    group: str = ""  # where a bound word is drawn from on its first use


@dataclass(frozen=True, slots=True)
class Refer:
    """A character by role."""

    role: str
    how: str  # '' the usual reference, '!' the call, 'kind'
    capital: bool


@dataclass(frozen=True, slots=True)
class Pronoun:
    """The pronoun of one role, or of several."""

    case: int
    roles: str
    capital: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives."""

    ways: tuple[tuple["Node", ...], ...]


Node: TypeAlias = Word | Punct | Space | Own | Draw | Refer | Pronoun | Choice


@dataclass(slots=True)
class Untagged:
    """A literal word as parsed, which has no tag before its neighbours are known."""

    text: str
    tag: str
    who: str
    rest: tuple[str, ...]  # the words and slots that follow it, up to the next mark


Parsed: TypeAlias = Node | Untagged | list[list["Parsed"]]
"""What the parser makes of a template: alternatives are lists of sequences."""
