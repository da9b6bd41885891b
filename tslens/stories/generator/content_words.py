"""Tags of content words (the open classes) that may bear several."""
# ruff: noqa: E501

from tslens.stories.generator import lexicon
from tslens.stories.generator.context import BE, Neighbour, expects_verb, in_noun_phrase

COPULAS = BE | frozenset(
    "felt feel feels looked look looks seemed seem became become got get very really so too quite grew turned smelled tasted sounded as how more most".split()
)
BOTH_WAYS = frozenset(
    "better best first last next fast hard high low late early long deep straight right far near loud alone slow safe close quick tight wrong nearby harder".split()
)
MANNER = frozenset("very really so too as how".split())


def content_word_tag(low: str, tags: frozenset[str], prev: Neighbour, nxt: Neighbour) -> str:
    """The tag of a content word, one of `tags`; '' if its neighbours do not determine it."""
    for rule in (_adjective_or_adverb, _determiner_or_verb, _adjective_or_noun, _verb_or_other):
        tag = rule(low, tags, prev, nxt)
        if tag is not None:
            return tag
    return ""


# Each rule settles a tag, says with '' that nothing does, or leaves the word to the next one with None.


def _opens(prev: Neighbour) -> bool:
    """Whether a sentence, a quotation or the part behind a mark begins here."""
    return prev.tag in ("", "OPEN", "PUNCT")


def _adjective_or_adverb(low: str, tags: frozenset[str], prev: Neighbour, nxt: Neighbour) -> str | None:
    """As in `he ran fast`, `a fast horse` and `it stood still`."""
    if low in BOTH_WAYS and tags >= {"ADV", "ADJ"}:
        if (
            in_noun_phrase(prev)
            or prev.low
            in BE | {"never", "not", "got", "grew", "became", "looked", "felt", "seemed", "sounded", "smelled"}
            or nxt.tag == "NOUN"
        ):
            return "ADJ"
        if prev.low not in MANNER and (
            prev.tag in ("VERB", "OBJ", "NOUN", "ADP")
            or nxt.tag == "VERB"
            or _opens(prev)
            or nxt.low == "ago"
            or prev.low == "all"
        ):
            return "ADV"
        if prev.low in MANNER:
            return "ADV" if low == "fast" or (low == "loud" and prev.low == "as") else ""
    if low == "still" and tags >= {"ADJ", "ADV"}:
        adjective = prev.tag in ("VERB", "CCONJ") and prev.low not in BE and (nxt.tag == "PUNCT" or nxt.low == "to")
        return "ADJ" if adjective else "ADV"
    return None


def _determiner_or_verb(low: str, tags: frozenset[str], prev: Neighbour, nxt: Neighbour) -> str | None:
    """A word that stands for its noun or precedes it, an adjective before `of`, and a verb where one is expected."""
    if tags == {"DET", "PRON"}:
        return "DET" if nxt.may("ADJ", "NOUN") else "PRON"
    if "ADJ" in tags and nxt.low == "of" and not in_noun_phrase(prev):
        return "ADJ"
    if tags >= {"ADJ", "VERB"} and prev.low in ("not", "never") and nxt.tag == "PUNCT":
        return ""
    if "VERB" in tags and expects_verb(prev) and not (prev.low == "to" and low not in lexicon.base_verbs()):
        return "VERB"
    return None


def _adjective_or_noun(low: str, tags: frozenset[str], prev: Neighbour, nxt: Neighbour) -> str | None:
    """An adjective before its noun or behind a copula, a noun that closes its phrase."""
    if (
        "ADJ" in tags
        and nxt.may("NOUN")
        and (in_noun_phrase(prev) or prev.low in COPULAS or _opens(prev) or prev.tag in ("ADP", "VERB", "CCONJ"))
    ):
        return "ADJ"
    if "ADJ" in tags and in_noun_phrase(prev) and nxt.low in ("one", "ones"):
        return "ADJ"
    if "NOUN" in tags and in_noun_phrase(prev) and ("ADJ" not in tags or nxt.tag != "NOUN"):
        return "NOUN" if "ADJ" not in tags or prev.tag in ("DET", "POSS", "ADJ") else "ADJ"
    if "ADJ" in tags and prev.low in COPULAS:
        return "ADJ"
    if "NOUN" in tags and prev.tag == "ADP" and not nxt.may("NOUN", "ADJ"):
        return "NOUN"
    return None


def _verb_or_other(low: str, tags: frozenset[str], prev: Neighbour, nxt: Neighbour) -> str | None:
    """A verb by its participle, its object or its subject; a noun between a verb and a mark."""
    if "VERB" in tags and low in lexicon.participles() and prev.low in ("was", "were", "been", "had", "have", "has"):
        return "VERB"
    object_follows = nxt.tag in ("SUBJ", "OBJ", "POSS", "DET", "NAME") or nxt.low in (
        "it", "you", "me", "us", "that", "no", "everything", "something", "nothing", "everyone", "everybody", "nobody",
    )  # fmt: skip
    if tags == {"NOUN", "VERB"} and object_follows and not in_noun_phrase(prev):
        return "VERB"
    if tags == {"ADJ", "VERB"}:
        if object_follows or (prev.tag in ("SUBJ", "NAME", "NOUN", "AUX") and prev.low not in BE):
            return "VERB"
        return (
            "ADJ"
            if (in_noun_phrase(prev) and nxt.may("NOUN", "ADJ")) or (prev.tag == "CCONJ" and nxt.tag == "PUNCT")
            else ""
        )
    if low.endswith("ing") and prev.low in BE and "VERB" in tags:
        return "VERB"
    if (
        "NOUN" in tags
        and nxt.tag in ("PUNCT", "CCONJ", "ADP")
        and prev.tag in ("VERB", "ADP")
        and tags <= {"NOUN", "VERB"}
    ):
        return "NOUN"
    if "NOUN" in tags and "VERB" not in tags and _opens(prev) and nxt.tag == "PUNCT":
        return "NOUN"
    return None
