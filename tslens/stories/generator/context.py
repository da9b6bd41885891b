"""The neighbours of a literal word, and tests on them."""
# ruff: noqa: E501

from typing import NamedTuple

from tslens.stories.generator import lexicon


class Neighbour(NamedTuple):
    """A word's neighbour.

    `low` is its text in small letters if it is literal; `tag` is SUBJ, OBJ or POSS for a pronoun, NAME for a character, OPEN for an
    opening quotation mark, ?ADJNOUN for a word of several tags, and empty at an edge.
    """

    low: str = ""
    tag: str = ""

    def may(self, *tags: str) -> bool:
        """Whether it has one of the tags, or may have it."""
        return self.tag in tags or (self.tag[:1] == "?" and self.tag.startswith(tuple("?" + t for t in tags)))


BE = frozenset("was were is are am be been being isn't wasn't aren't weren't i'm you're we're it's that's".split())
MODALS = frozenset("would could should will can must might may can't couldn't won't wouldn't".split())
SUBJECTS = frozenset("i you he she it we they everyone everybody nobody nothing something i'm".split())
POSSESSIVES = frozenset("my your our its their his".split())
HALTS = frozenset("and but or who which that when while if because".split())


def clause_follows(rest: tuple[str, ...]) -> bool:
    """Whether a subject and its verb follow, among the words and slots up to the next mark."""
    for i, word in enumerate(rest):
        if word in HALTS:
            return False
        if i and (word in _finite_forms() or word.endswith(".ed}")):
            return True
    return False


def _finite_forms() -> frozenset[str]:
    return lexicon.pasts() | BE | MODALS | {"had", "has", "have", "did", "does"}


def participle_follows(rest: tuple[str, ...]) -> bool:
    """Whether a participle follows, perhaps behind adverbs."""
    for word in rest:
        if word in lexicon.participles() or word.endswith(".en}"):
            return True
        if "ADV" not in lexicon.tags_of().get(word, ()) and word not in ("not", "all", "both"):
            return False
    return False


def begins_question(prev: Neighbour) -> bool:
    """Whether a question may begin here, or stands after its question word."""
    return prev.tag in ("", "OPEN", "PUNCT") or prev.low in ("how", "why", "what", "when", "where", "who", "but", "and")


def in_noun_phrase(prev: Neighbour) -> bool:
    """Whether a noun phrase has begun."""
    return (prev.tag in ("DET", "ADJ", "POSS", "NUM") and prev.low not in ("all", "both")) or prev.low in POSSESSIVES


def expects_verb(prev: Neighbour) -> bool:
    """Whether a verb is expected."""
    return (
        prev.tag in ("SUBJ", "PART", "NAME")
        or (prev.tag == "AUX" and prev.low not in BE)
        or prev.low in SUBJECTS | {"to", "please", "let's", "not", "never", "don't", "friends"}
    )


def begins_clause(nxt: Neighbour) -> bool:
    """Whether a clause may begin here."""
    return nxt.tag in ("SUBJ", "NAME", "DET", "POSS", "PROPN") or nxt.low in SUBJECTS | POSSESSIVES | {"there", "that"}
