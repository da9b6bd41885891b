"""Parser of templates, whose notation `template` describes."""

import re

from tslens.stories.generator import lexicon
from tslens.stories.generator.nodes import (
    Draw,
    Node,
    Own,
    Parsed,
    Pronoun,
    Punct,
    Refer,
    Space,
    TemplateError,
    Untagged,
)

TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<slot>\{[^{}]+\})|(?P<mark>[\[\]|])|(?P<speech>"(?:(?P<by>[a-z])>(?P<to>[a-z]*):\s)?)"""
    r"""|(?P<own>'s(?![a-z]))|(?P<word>(?:[Ii]t|[Tt]hat|[Ll]et|[Ww]hat|[Tt]here)'s|[A-Za-z]+(?:'(?!s\b)[a-z]+)?)(?:/(?P<tag>[A-Z]+))?|(?P<punct>[.,!?])"""
)
ROLES = frozenset("hfmeag")
FIRST = frozenset("i me my mine myself i'm i'll i've".split())
SECOND = frozenset("you your yours yourself you're you'll".split())
BOTH = frozenset("we us our ours ourselves we're we'll".split())
CASES = {"he": 0, "him": 1, "his": 2, "himself": 3, "they": 0, "them": 1, "their": 2, "themselves": 3}


class Parser:
    """Parses one template; `sequence(False)` gives its nodes.

    Raises:
        TemplateError: a template that breaks the notation, names an unknown group or leaves a pronoun's owner open.
    """

    def __init__(self, source: str) -> None:
        self.source, self.at, self.speech = source, 0, ("", "")
        self.open = False

    def fail(self, why: str) -> TemplateError:
        return TemplateError(f"template: {why} at …{self.source[max(0, self.at - 40) : self.at + 20]!r}")

    def sequence(self, inside: bool) -> list[Parsed]:
        nodes: list[Parsed] = []
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

    def choice(self) -> list[list[Parsed]]:
        ways: list[list[Parsed]] = []
        speech = self.open, self.speech
        while True:
            self.open, self.speech = speech
            ways.append(self.sequence(True))
            if self.open != speech[0]:
                raise self.fail("a quotation must open and close in the same alternative")
            self.at += 1
            if self.source[self.at - 1] == "]":
                return ways

    def node(self, match: re.Match[str]) -> Parsed:
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

    def word(self, text: str, tag: str) -> Untagged:
        low = text.lower()
        by, to = self.speech
        who = "" if tag else by if low in FIRST else to if low in SECOND else by + to if low in BOTH else ""
        if not tag and low in FIRST | SECOND | BOTH and (not who or (low in BOTH and not to)):
            raise self.fail(f"nobody is known to be {text!r}")
        if low in ("he", "she", "him", "his", "hers", "her", "himself", "herself"):
            raise self.fail(f"{text!r} must be a slot, so that it is known who is meant")
        if low in ("they", "them", "their", "themselves") and tag != "PRON":
            raise self.fail(f"{text!r} must be a slot, or {text}/PRON when it means things")
        return Untagged(text, tag, who, self.rest())

    def rest(self) -> tuple[str, ...]:
        """The words and slots up to the next mark, along the first of each way."""
        kept: list[str] = []
        depth, skips = 0, False
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
