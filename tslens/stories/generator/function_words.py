"""Tags of function words (the closed classes), one rule for each word that needs its neighbours."""
# ruff: noqa: E501

from collections.abc import Callable
from typing import TypeAlias

from tslens.stories.generator import lexicon
from tslens.stories.generator.context import (
    BE,
    MODALS,
    SUBJECTS,
    Neighbour,
    begins_clause,
    begins_question,
    clause_follows,
    expects_verb,
    in_noun_phrase,
    participle_follows,
)

Rest: TypeAlias = tuple[str, ...]
"""The words and slots that follow a word, up to the next mark."""
Rule: TypeAlias = Callable[[str, Neighbour, Neighbour, Rest], str]
"""A rule: maps a lower-case word, its neighbours and the rest to a tag; '' if they do not determine it."""

SAYING = frozenset(
    "said say says knew know knows thought think told felt hoped believed noticed saw learned remembered remember forgot understood out "
    "means showed shows sure glad afraid happy sorry proud so is was dreamed wished us me promised agreed teaches tells".split()
)
TIMES = frozenset("day night evening afternoon morning moment time year week monday friday sunday".split())
BOTH_WAYS = frozenset(
    "better best first last next fast hard high low late early long deep straight right far near loud alone slow safe close quick tight wrong nearby harder".split()
)
PLACES = frozenset(
    "in on off up down out over by about around along across behind past above below near under through inside outside".split()
)
MORE = frozenset("more most much many less least enough few".split())


ALWAYS = (
    dict.fromkeys(("both", "some", "any", "another"), "DET")
    | dict.fromkeys(("because", "if", "though", "although"), "SCONJ")
    | dict.fromkeys(("how", "why", "where"), "ADV")
    | {"not": "PART"}
)


def function_word_tag(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    """The tag of a function word; '' for any other word."""
    if low in ALWAYS:
        return ALWAYS[low]
    if low in RULES:
        return RULES[low](low, prev, nxt, rest)
    if low in MORE:
        return _amount(low, prev, nxt)
    if low in PLACES and not in_noun_phrase(prev):
        alone = nxt.tag in ("PUNCT", "ADV", "", "CCONJ") or nxt.low in ("and", "for", "to", "in", "like")
        return "ADV" if low in ("inside", "outside", "around", "near", "behind", "below") and alone else "ADP"
    return ""


def _to(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    verb = nxt.low in lexicon.base_verbs() and nxt.tag != "NOUN"
    return "PART" if verb or (not nxt.low and nxt.tag == "VERB") else "ADP"


def _demonstrative(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    return "DET" if nxt.may("NOUN", "ADJ", "NUM") else "PRON"


def _what(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    return "DET" if nxt.may("NOUN", "ADJ") or nxt.low in ("a", "an") else "PRON"


def _half(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    return "DET" if nxt.low in ("a", "an", "the") else "ADV" if nxt.may("VERB", "ADJ") else "NOUN"


def _so(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    if nxt.may("ADJ", "ADV") or nxt.low in ("much", "many"):
        return "ADV"
    return "SCONJ" if nxt.low == "that" or (prev.low == "," and begins_clause(nxt)) else "ADV"


def _do(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    asks = begins_question(prev) and (nxt.tag in ("SUBJ", "NAME", "DET", "POSS") or nxt.low in SUBJECTS)
    return "AUX" if asks or nxt.low in ("not", "never") or nxt.low in lexicon.base_verbs() else "VERB"


def _have(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    perfect = nxt.low == "not" or participle_follows(rest) or (begins_question(prev) and nxt.low in SUBJECTS)
    return "AUX" if perfect and prev.tag != "PART" else "VERB"


def _once(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    adverb = prev.low == "at" or prev.low in BE or nxt.low in ("upon", "more", "again") or not begins_clause(nxt)
    return "ADV" if adverb else "SCONJ"


def _when(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    asks = low == "when" and prev.low in ("", ",") and nxt.low in ("did", "do", "is", "was", "will", "can")
    return "NOUN" if prev.low in ("a", "little", "long") else "ADV" if asks else "SCONJ"


def _like(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    if nxt.low in ("this", "that", "these"):
        return "ADP"
    verb = (expects_verb(prev) and prev.tag != "NAME") or prev.low in ("would", "to", "didn't", "don't")
    return "VERB" if verb else "ADP"


def _one(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    if prev.low == "no":
        return "PRON"
    return "NOUN" if in_noun_phrase(prev) or prev.low in ("which", "first", "last", "other", "next") else "NUM"


def _little(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    closed = nxt.tag in ("PUNCT", "CCONJ", "ADP", "SCONJ", "PART")
    vague = prev.low == "a" and (closed or nxt.low in lexicon.comparatives())
    return "ADV" if vague or prev.low == "by" or nxt.low == "by" else "ADJ"


def _that(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    """DET before its noun, SCONJ before what was said or felt, PRON where it is a thing or stands for one."""
    if prev.low == "so":
        return "SCONJ"
    if nxt.low in TIMES and prev.low not in SAYING:
        return "DET"
    if nxt.may("NOUN", "ADJ", "NUM") or nxt.low in TIMES:
        return "SCONJ" if prev.tag not in ("", "OPEN", "PUNCT", "ADP", "CCONJ") and clause_follows(rest) else "DET"
    if (
        nxt.tag in ("VERB", "AUX", "PUNCT", "")
        or nxt.may("VERB", "AUX")
        or prev.tag in ("", "OPEN", "PUNCT", "SCONJ")
        or (prev.tag == "ADP" and prev.low != "out")
    ):
        return "PRON"
    if prev.tag in ("NOUN", "DET") or prev.low in ("everything", "anything", "something", "nothing"):
        return "PRON"
    return "SCONJ"


def _before_or_as(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    """SCONJ where a clause follows, ADP before anything else; ADV where nothing follows, and for the first of as … as."""
    if low == "for":
        return "SCONJ" if prev.low == "," and clause_follows(rest) else "ADP"
    if low == "as" and nxt.low == "if":
        return "SCONJ"
    if (
        low == "as"
        and (nxt.may("ADJ", "ADV") or nxt.low in ("well", "much", "many", "long", "soon", "fast"))
        and ("as" in rest[1:6] or len(rest) < 2)
    ):
        return "ADV"
    if low in ("before", "since", "after") and nxt.tag in ("PUNCT", ""):
        return "ADV"
    if low == "than" and nxt.low == "to":
        return "SCONJ"
    return "SCONJ" if clause_follows(rest) or (nxt.low.endswith("ing") and nxt.tag == "VERB") else "ADP"


def _courtesy(low: str, prev: Neighbour, nxt: Neighbour, rest: Rest) -> str:
    if low == "please" and prev.low in ("to", "would", "could"):
        return "VERB"
    if low in ("sorry", "welcome", "okay"):
        return "INTJ" if low != "sorry" and prev.tag in ("", "OPEN", "PUNCT") else "ADJ"
    if low == "well" and prev.low in BE and nxt.tag != "VERB":
        return "ADJ"
    return "ADV" if low == "well" and prev.low and prev.tag != "PUNCT" else "INTJ"


def _amount(low: str, prev: Neighbour, nxt: Neighbour) -> str:
    if nxt.may("NOUN") or low in ("few", "many", "several"):
        return "ADJ"
    adverb = nxt.may("ADJ", "ADV") or prev.tag == "VERB" or prev.low in ("once", "very", "any") or nxt.low == "of"
    return "ADV" if adverb else "ADJ"


RULES: dict[str, Rule] = {
    **dict.fromkeys(("this", "these", "those"), _demonstrative),
    **dict.fromkeys(("what", "which"), _what),
    **dict.fromkeys(("do", "did", "does"), _do),
    **dict.fromkeys(("had", "have", "has"), _have),
    **dict.fromkeys(("before", "after", "until", "since", "than", "as", "for"), _before_or_as),
    **dict.fromkeys(("when", "while"), _when),
    **dict.fromkeys(("please", "welcome", "well", "okay", "sorry", "thanks", "bye"), _courtesy),
    **dict.fromkeys(("will", "might"), lambda low, prev, nxt, rest: "NOUN" if in_noun_phrase(prev) else "AUX"),
    **dict.fromkeys(("first", "last"), lambda low, prev, nxt, rest: "ADJ" if prev.low == "at" else ""),
    **dict.fromkeys(
        ("home", "back"),
        lambda low, prev, nxt, rest: "NOUN" if in_noun_phrase(prev) or prev.low in ("at", "from") else "ADV",
    ),
    "to": _to,
    "that": _that,
    "half": _half,
    "so": _so,
    "once": _once,
    "like": _like,
    "one": _one,
    "little": _little,
    "each": lambda low, prev, nxt, rest: "PRON" if nxt.low == "other" else "DET",
    "all": lambda low, prev, nxt, rest: "ADV" if nxt.low in ("alone", "along", "by") else "DET",
    "such": lambda low, prev, nxt, rest: "DET" if nxt.low in ("a", "an") else "ADJ",
    "no": lambda low, prev, nxt, rest: "INTJ" if nxt.tag == "PUNCT" else "DET",
    "there": lambda low, prev, nxt, rest: (
        "PRON" if nxt.low in BE | MODALS | {"lived", "came", "stood", "had"} else "ADV"
    ),
    "next": lambda low, prev, nxt, rest: "ADV" if nxt.low == "to" else "",
    "own": lambda low, prev, nxt, rest: "ADJ" if in_noun_phrase(prev) or prev.tag == "POSS" else "",
}
