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

Parts of speech follow the Universal Dependencies guidelines for English: possessives (my, her) are PRON, copulas AUX, `to` before
a verb PART, `not` PART, there in "there was" PRON. A word that could bear several tags is settled by its neighbours here, or refused.
"""
# ruff: noqa: E501

import re
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from tslens.stories.generator import lexicon

TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<slot>\{[^{}]+\})|(?P<mark>[\[\]|])|(?P<speech>"(?:(?P<by>[a-z])>(?P<to>[a-z]*):\s)?)"""
    r"""|(?P<own>'s(?![a-z]))|(?P<word>(?:[Ii]t|[Tt]hat|[Ll]et|[Ww]hat|[Tt]here)'s|[A-Za-z]+(?:'(?!s\b)[a-z]+)?)(?:/(?P<tag>[A-Z]+))?|(?P<punct>[.,!?])"""
)
ROLES = frozenset("hfmeag")
FIRST = frozenset("i me my mine myself i'm i'll i've".split())
SECOND = frozenset("you your yours yourself you're you'll".split())
BOTH = frozenset("we us our ours ourselves we're we'll".split())
CASES = {"he": 0, "him": 1, "his": 2, "himself": 3, "they": 0, "them": 1, "their": 2, "themselves": 3}
BE = frozenset("was were is are am be been being isn't wasn't aren't weren't i'm you're we're it's that's".split())
COPULAS = BE | frozenset(
    "felt feel feels looked look looks seemed seem became become got get very so too quite grew turned smelled tasted sounded as how more most".split()
)
SUBJECTS = frozenset("i you he she it we they everyone everybody nobody nothing something i'm".split())


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
        return _Raw(text, tag, who)

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


def _edge(nodes: list, last: bool) -> object:
    """The first or last thing of a sequence that is not a space; of alternatives, the first that has one."""
    for node in reversed(nodes) if last else nodes:
        if isinstance(node, list):
            found = [e for e in (_edge(way, last) for way in node) if e is not None]
            if found:
                return found[0]
        elif not isinstance(node, Space):
            return node
    return None


def _tag_of(node: object) -> str:
    if isinstance(node, (_Raw, Word)):
        if node.tag:
            return node.tag
        tags = lexicon.tags_of().get(node.text.lower(), frozenset())
        return next(iter(tags)) if len(tags) == 1 else "?" + "".join(sorted(tags))
    if isinstance(node, Refer):
        return "NAME"
    if isinstance(node, Pronoun):
        return ("SUBJ", "OBJ", "POSS", "OBJ")[node.case]
    if isinstance(node, Draw):
        if node.bound:
            return "ADJ" if node.name == "j" else "NOUN"
        return lexicon.groups()[node.name][0].tag
    if isinstance(node, Punct):
        return "OPEN" if node.opens else "PUNCT"
    if isinstance(node, Own):
        return "POSS"
    return ""


def _low(node: object) -> str:
    return node.text.lower() if isinstance(node, (_Raw, Word)) else ""


POSSESSIVES = frozenset("my your our its their".split())


def _settle(raw: _Raw, prev: object, nxt: object) -> str:
    """The tag of a literal word between its neighbours; ValueError where they do not settle it."""
    low = raw.text.lower()
    tags = set(lexicon.tags_of().get(low, ()))
    if (
        not raw.tag
        and low != "i"
        and raw.text[0].isupper()
        and isinstance(prev, (_Raw, Word))
        and low not in ("i'm", "i'll", "i've")
        and not tags & {"PROPN"}
    ):
        raise ValueError(f"capital inside a sentence: {raw.text!r} after {_low(prev)!r}")
    if not tags:
        raise ValueError(f"{raw.text!r} is not in the lexicon")
    if raw.tag:
        return raw.tag
    if len(tags) == 1:
        return next(iter(tags))
    before, after, p, n = _tag_of(prev), _tag_of(nxt), _low(prev), _low(nxt)
    clause = after in ("SUBJ", "NAME", "DET", "POSS", "PROPN") or n in SUBJECTS | POSSESSIVES | {"there", "that"}
    nominal = (
        before in ("DET", "ADJ", "POSS", "NUM")
        or p in POSSESSIVES
        or before == "?DETPRON"
        or p in ("his", "that", "this", "all", "each", "no", "one")
    )
    verbal = (
        before in ("SUBJ", "PART", "NAME")
        or (before == "AUX" and p not in BE)
        or p in SUBJECTS | {"to", "please", "let's", "not", "never", "don't"}
    )
    match low:
        case "to":
            return (
                "PART"
                if n in lexicon.base_verbs()
                and "VERB" in lexicon.tags_of()[n] | {"VERB"}
                and (after != "NOUN")
                and not n.endswith("ly")
                else ("PART" if isinstance(nxt, Draw) and after == "VERB" else "ADP")
            )
        case "that":
            if before in ("DET", "ADP") and not clause:
                return "PRON"
            if (
                after in ("NOUN", "ADJ")
                or after.startswith(("?ADJ", "?NOUN", "?ADVNOUN"))
                or (n in ("day", "night", "evening", "afternoon", "moment"))
            ):
                return "DET"
            return "SCONJ" if clause and before not in ("", "OPEN") else "PRON"
        case "this" | "these" | "those" | "what" | "which" | "each" | "another":
            return "DET" if after in ("NOUN", "ADJ") or after.startswith(("?ADJ", "?NOUN")) else "PRON"
        case "all" | "both":
            return "DET"
        case "so":
            if after in ("ADJ", "ADV") or after.startswith(("?ADJ", "?ADV")) or n in ("much", "many"):
                return "ADV"
            return "SCONJ" if clause or before == "PUNCT" else "ADV"
        case "no":
            return "INTJ" if after == "PUNCT" else "DET"
        case "not":
            return "PART"
        case "there":
            return "PRON" if n in BE | {"lived", "came", "stood"} or (before == "AUX" and n == "be") else "ADV"
        case "do" | "did" | "does" | "had" | "have" | "has":
            if n in ("not", "never") or after == "SUBJ" or n in ("you", "we", "i", "it", "they"):
                return "AUX"
            if low in ("had", "have", "has"):
                spoken = (
                    n in lexicon.participles()
                    or n in ("already", "almost", "always", "only", "just", "ever")
                    or after == "ADV"
                )
                return "AUX" if spoken and before != "PART" else "VERB"
            return "VERB"
        case "before" | "after" | "until" | "since" | "as" | "than":
            if low == "as" and (after in ("ADJ", "ADV") or after.startswith(("?ADJ", "?ADV"))) and p != "as":
                return "ADV"
            if low in ("before", "since", "after") and after in ("PUNCT", ""):
                return "ADV"
            return "SCONJ" if after in ("SUBJ", "NAME") or n in SUBJECTS or (low == "as" and after == "POSS") else "ADP"
        case "because" | "if" | "though" | "although" | "when" | "while" | "where" | "why" | "how" | "once":
            if low == "once":
                return "ADV" if n in ("upon", "more", "again") or not clause else "SCONJ"
            if low == "how" or low == "why" or low == "where":
                return "ADV"
            if low == "when" or low == "while":
                return "NOUN" if p in ("a", "little", "long") else "SCONJ"
            return "SCONJ"
        case "like":
            return "VERB" if (verbal and p not in ("not",)) or p in ("would", "not", "to", "didn't", "don't") else "ADP"
        case "will" | "might":
            return "AUX"
        case "for":
            return "ADP"
        case "one":
            return "NOUN" if nominal or p in ("which", "first", "last", "other", "next") else "NUM"
        case "more" | "most" | "much" | "many" | "less" | "least" | "enough" | "few":
            if after == "NOUN" or after.startswith("?NOUN"):
                return "ADJ"
            return (
                "ADV"
                if after in ("ADJ", "ADV")
                or after.startswith(("?ADJ", "?ADV"))
                or before == "VERB"
                or p in ("once", "so", "very", "any")
                else "ADJ"
            )
        case "please" | "welcome" | "well" | "okay" | "sorry" | "thanks" | "bye":
            if low == "sorry" or (low == "welcome" and p in COPULAS):
                return "ADJ"
            if low == "well" and p and before != "PUNCT":
                return "ADV"
            return "INTJ"
        case (
            "in"
            | "on"
            | "off"
            | "up"
            | "down"
            | "out"
            | "over"
            | "by"
            | "about"
            | "around"
            | "along"
            | "across"
            | "behind"
            | "past"
            | "above"
            | "below"
            | "near"
            | "under"
            | "through"
            | "inside"
            | "outside"
            | "besides"
        ):
            if low in ("inside", "outside", "around", "near") and (
                after in ("PUNCT", "ADV", "", "CCONJ") or n in ("and", "for", "to", "in")
            ):
                return "ADV"
            if "ADP" in tags:
                return "ADP"
        case "not":
            return "PART"
        case (
            "better"
            | "best"
            | "first"
            | "last"
            | "next"
            | "fast"
            | "hard"
            | "high"
            | "low"
            | "late"
            | "early"
            | "long"
            | "deep"
            | "straight"
            | "right"
            | "far"
            | "near"
            | "loud"
            | "alone"
            | "slow"
            | "safe"
        ):
            if "ADV" in tags and "ADJ" in tags:
                if nominal or p in BE | {"looked", "felt", "seemed"} or after == "NOUN":
                    return "ADJ"
                if before == "VERB" or p in ("very", "so", "too", "as", "how", "at") or after == "VERB":
                    return "ADV" if low != "late" or before == "VERB" else "ADJ"
    if low in ("alone", "still", "deep", "first", "hard", "high") and tags >= {"ADJ", "ADV"}:
        if low == "still":
            return (
                "ADJ"
                if before in ("VERB", "CCONJ")
                and p not in ("was", "were", "is", "are")
                and after in ("PUNCT", "PART", "?ADPPART")
                else "ADV"
            )
        if low == "alone":
            return "ADJ" if p in BE | {"never", "not"} else "ADV"
        if before in ("", "OPEN", "PUNCT"):
            return "ADV"
    if low in ("home", "back"):
        return "NOUN" if nominal and p != "one" else "ADV"
    if low in ("early", "long", "late") and (
        before in ("VERB", "PUNCT", "NOUN", "CCONJ", "") or n == "ago" or p in ("for", "before", "up")
    ):
        return "ADV"
    if tags == {"DET", "PRON"} or ("PRON" in tags and not tags & {"NOUN", "VERB"}):
        return "DET" if after in ("NOUN", "ADJ") or after.startswith(("?ADJ", "?NOUN")) else "PRON"
    if "VERB" in tags and verbal:
        return "VERB"
    if (
        "ADJ" in tags
        and (after == "NOUN" or after.startswith("?NOUN"))
        and (nominal or p in COPULAS or before in ("ADP", "VERB", "PUNCT", "CCONJ"))
    ):
        return "ADJ"
    if "NOUN" in tags and nominal and not (p == "that" and clause) and ("ADJ" not in tags or after != "NOUN"):
        return "NOUN" if "ADJ" not in tags or before in ("DET", "POSS", "ADJ") else "ADJ"
    if "ADJ" in tags and p in COPULAS:
        return "ADJ"
    if "NOUN" in tags and before == "ADP" and "ADJ" not in tags:
        return "NOUN"
    if "VERB" in tags and low in lexicon.participles() and p in ("was", "were", "been", "had", "have", "has"):
        return "VERB"
    if tags == {"ADJ", "VERB"}:
        return "ADJ" if nominal and after in ("NOUN", "ADJ") else "VERB"
    if (
        tags == {"NOUN", "VERB"}
        and (
            after in ("SUBJ", "OBJ", "POSS", "DET", "NAME")
            or n in ("it", "you", "me", "us", "that", "everything", "something", "nothing", "everyone", "nobody")
        )
        and not nominal
    ):
        return "VERB"
    if low.endswith("ing") and p in BE and "VERB" in tags:
        return "VERB"
    if (
        "NOUN" in tags
        and after in ("PUNCT", "CCONJ", "ADP")
        and before in ("VERB", "ADP")
        and tags <= {"NOUN", "VERB", "ADJ"}
    ):
        return "NOUN"
    if "NOUN" in tags and before in ("", "OPEN", "PUNCT") and after == "PUNCT":
        return "NOUN"
    raise ValueError(
        f"the tag of {raw.text!r} is not settled ({'/'.join(sorted(tags))}) after {p or before!r}, before {n or after!r}"
    )


def _tagged(nodes: list, prev: object, nxt: object, source: str) -> tuple[Node, ...]:
    done: list[Node] = []
    for i, node in enumerate(nodes):
        after = _edge(nodes[i + 1 :], False)
        after = nxt if after is None else after
        if isinstance(node, list):
            ways = tuple(_tagged(way, prev, after, source) for way in node)
            done.append(Choice(ways))
            ends = [e for e in (_edge(list(way), True) for way in ways) if e is not None]
            prev = ends[0] if ends else prev
        elif isinstance(node, _Raw):
            try:
                word = Word(node.text, _settle(node, prev, after), node.who)
            except ValueError as error:
                raise ValueError(f"template {source!r}: {error}; write {node.text}/TAG") from None
            done.append(word)
            prev = word
        else:
            done.append(node)
            prev = prev if isinstance(node, Space) else node
    return tuple(done)


@cache
def compiled(source: str) -> tuple[Node, ...]:
    """The nodes of a template; ValueError when it is malformed, or uses a word that is unknown or whose tag is not settled."""
    parser = _Parser(source)
    nodes = parser.sequence(False)
    if parser.open:
        raise parser.fail("a quotation is never closed")
    return _tagged(nodes, None, None, source)
