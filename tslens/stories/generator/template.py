"""How is a template written, and which part of speech does each of its words bear?

    Literal words stand as they are; a/an is written `a` and follows the sound of the next word.
    word/TAG          says the tag where the words around do not settle it
    [one|another|]    alternatives, chosen at random; they nest and may be empty
    {toy} {toy+}      a word drawn from a group of the lexicon, its plural; {wander.ed} {wander.ing} forms of verbs
    {x} {x+}          the word that this tale bound to x: the same one each time; {s=bird} binds on first use (an adjective to j)
    {h} {m} {m!}      a character by role; with ! as one calls them; {f.kind} what they are ("boy")
    {he} {him} {his} {himself} [role]     the pronoun of a character (the hero without a role), in the right gender
    {they} {them} {their} [roles]         the pronoun of several (hero and friend without roles)
    "h>f: Come here!"  speech of h to f, so that I, you and we are known; a capital in a slot's name asks for a capital

A word that could bear several tags is settled by its neighbours (`settle`), or refused.
"""
# ruff: noqa: E501

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from tslens.errors import InputError
from tslens.stories.generator import lexicon
from tslens.stories.generator.settle import Near, settle

TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<slot>\{[^{}]+\})|(?P<mark>[\[\]|])|(?P<speech>"(?:(?P<by>[a-z])>(?P<to>[a-z]*):\s)?)"""
    r"""|(?P<own>'s(?![a-z]))|(?P<word>(?:[Ii]t|[Tt]hat|[Ll]et|[Ww]hat|[Tt]here)'s|[A-Za-z]+(?:'(?!s\b)[a-z]+)?)(?:/(?P<tag>[A-Z]+))?|(?P<punct>[.,!?])"""
)
ROLES = frozenset("hfmeag")
FIRST = frozenset("i me my mine myself i'm i'll i've".split())
SECOND = frozenset("you your yours yourself you're you'll".split())
BOTH = frozenset("we us our ours ourselves we're we'll".split())
CASES = {"he": 0, "him": 1, "his": 2, "himself": 3, "they": 0, "them": 1, "their": 2, "themselves": 3}


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
class _Raw:
    """A literal word whose tag waits for its neighbours."""

    text: str
    tag: str
    who: str
    rest: tuple[str, ...]  # the words and slots that follow it, up to the next mark


class _Parser:
    def __init__(self, source: str) -> None:
        self.source, self.at, self.speech = source, 0, ("", "")
        self.open = False

    def fail(self, why: str) -> ValueError:
        return ValueError(f"template: {why} at …{self.source[max(0, self.at - 40) : self.at + 20]!r}")

    def sequence(self, inside: bool) -> list:
        nodes: list = []
        while self.at < len(self.source):
            match = TOKEN.match(self.source, self.at)
            if not match:
                raise self.fail(f"cannot read {self.source[self.at]!r}")
            if match["mark"] in ("|", "]"):
                if not inside:
                    raise self.fail("a stray | or ]")
                return nodes
            self.at = match.end()
            nodes.append(self.choice() if match["mark"] else self.node(match))
        if inside:
            raise self.fail("[ is never closed")
        return nodes

    def choice(self) -> list[list]:
        ways, speech = [], (self.open, self.speech)
        while True:
            self.open, self.speech = speech
            ways.append(self.sequence(True))
            if self.open != speech[0]:
                raise self.fail("a quotation must open and close in the same alternative")
            self.at += 1
            if self.source[self.at - 1] == "]":
                return ways

    def node(self, match: re.Match[str]) -> object:
        if match["space"]:
            return Space()
        if match["own"]:
            return Own()
        if match["punct"]:
            return Punct(match["punct"])
        if match["slot"]:
            return self.slot(match["slot"][1:-1])
        if match["speech"]:
            if bool(match["by"]) == self.open:
                raise self.fail("an opening quote names its speaker, a closing one does not")
            self.open = not self.open
            self.speech = (match["by"], match["to"]) if self.open else ("", "")
            return Punct('"', opens=self.open)
        return self.word(match["word"], match["tag"] or "")

    def word(self, text: str, tag: str) -> _Raw:
        low = text.lower()
        by, to = self.speech
        who = "" if tag else by if low in FIRST else to if low in SECOND else by + to if low in BOTH else ""
        if not tag and low in FIRST | SECOND | BOTH and (not who or (low in BOTH and not to)):
            raise self.fail(f"nobody is known to be {text!r}")
        if low in ("he", "she", "him", "his", "hers", "her", "himself", "herself"):
            raise self.fail(f"{text!r} must be a slot, so that it is known who is meant")
        if low in ("they", "them", "their", "themselves") and tag != "PRON":
            raise self.fail(f"{text!r} must be a slot, or {text}/PRON when it means things")
        return _Raw(text, tag, who, self.rest())

    def rest(self) -> tuple[str, ...]:
        """The words and slots up to the next mark, along the first of each way."""
        kept, depth, skips = [], 0, False
        for match in re.finditer(r"\{[^}]*\}|[A-Za-z']+(?=/[A-Z]+|)|[\[\]|.,!?\"]", self.source[self.at :]):
            piece = match[0].lower()
            if piece in '.,!?"' and not skips:
                break
            if piece == "]":
                skips, depth = False, max(depth - 1, 0)
            elif piece == "|":
                skips = True
            elif piece == "[":
                depth += 1
            elif not skips:
                kept.append(piece)
        return tuple(kept)

    def slot(self, inner: str) -> Node:
        capital = inner[0].isupper()
        name, *roles = (inner[0].lower() + inner[1:]).split()
        if name in CASES:
            return Pronoun(CASES[name], "".join(roles) or ("hf" if name.startswith("the") else "h"), capital)
        name, _, group = name.partition("=")
        name, _, form = name.partition(".")
        if (group or name).endswith(("+", "!")):
            form = inner[-1]
            name, group = name.removesuffix(form), group.removesuffix(form)
        if name in ROLES:
            return Refer(name, form, capital)
        if len(name) > 1 and name not in lexicon.groups():
            raise self.fail(f"no group is called {name!r}")
        if group and group not in lexicon.groups():
            raise self.fail(f"no group is called {group!r}")
        return Draw(name, form, capital, len(name) == 1, group)


def _near(node: object) -> Near:
    """What a node is to its neighbours."""
    if isinstance(node, (_Raw, Word)):
        tags = lexicon.tags_of().get(node.text.lower(), frozenset())
        return Near(
            node.text.lower(), node.tag or (next(iter(tags)) if len(tags) == 1 else "?" + "".join(sorted(tags)))
        )
    if isinstance(node, Punct):
        return Near("" if node.text == '"' else node.text, "OPEN" if node.opens else "PUNCT")
    if isinstance(node, Refer):
        return Near("", "NOUN" if node.how.startswith("kind") else "NAME")
    if isinstance(node, Pronoun):
        return Near("", ("SUBJ", "OBJ", "POSS", "OBJ")[node.case])
    if isinstance(node, Draw):
        name = node.group or node.name
        return Near("", "ADJ" if name == "j" else "NOUN" if len(name) == 1 else lexicon.groups()[name][0].tag)
    assert isinstance(node, Own), node
    return Near("", "POSS")


def _edges(nodes: Sequence[object], last: bool, beyond: list[Near]) -> list[Near]:
    """What may come first, or last, in a sequence; if it may be empty, what lies beyond it too."""
    found: list[Near] = []
    for node in reversed(nodes) if last else nodes:
        if isinstance(node, (list, Choice)):
            ways = node.ways if isinstance(node, Choice) else node
            void = Near("", "VOID")
            edges = [edge for way in ways for edge in _edges(way, last, [void])]
            found += [edge for edge in edges if edge != void]
            if void not in edges:
                return found
        elif not isinstance(node, Space):
            return [*found, _near(node)]
    return found + beyond


def _tagged(nodes: list, prev: list[Near], nxt: list[Near], source: str) -> tuple[Node, ...]:
    """The nodes with every literal word tagged. ValueError for one that bears a tag in one telling and another in the next."""
    done: list[Node] = []
    for i, node in enumerate(nodes):
        after = _edges(nodes[i + 1 :], False, nxt)
        before = _edges(done, True, prev)
        if isinstance(node, list):
            done.append(Choice(tuple(_tagged(way, before, after, source) for way in node)))
        elif isinstance(node, _Raw):
            try:
                tags = {node.tag} if node.tag else {settle(node.text, p, n, node.rest) for p in before for n in after}
                _check_capital(node.text, before)
                if len(tags) > 1:
                    raise InputError(
                        f"{node.text!r} would be {' or '.join(sorted(tags))}, which depends on the alternatives around it"
                    )
            except ValueError as error:
                raise InputError(f"template {source!r}: {error}; write {node.text}/TAG") from None
            done.append(Word(node.text, tags.pop(), node.who))
        else:
            done.append(node)
    return tuple(done)


def _check_capital(text: str, before: list[Near]) -> None:
    named = "PROPN" in lexicon.tags_of().get(text.lower(), ()) or text in ("I", "I'm", "I'll", "I've")
    if text[0].isupper() and not named and any(near.low.isalpha() for near in before):
        raise InputError(f"capital inside a sentence: {text!r} after {before[0].low!r}")


@cache
def compiled(source: str) -> tuple[Node, ...]:
    """The nodes of a template; ValueError when it is malformed, or uses a word that is unknown or whose tag is not settled."""
    parser = _Parser(source)
    nodes = parser.sequence(False)
    if parser.open:
        raise parser.fail("a quotation is never closed")
    return _tagged(nodes, [Near()], [Near()], source)
