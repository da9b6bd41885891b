"""Which part of speech does a literal word bear between its neighbours?

The guidelines are those of Universal Dependencies for English (de Marneffe et al. 2021, doi:10.1162/coli_a_00402): possessives
(my, her) are PRON, copulas AUX, `to` before a verb and `not` PART, there in "there was" PRON; all, both, each and some are DET
even where they stand alone, though not in each other. What neighbours cannot settle is refused, and written word/TAG.
"""
# ruff: noqa: E501

from typing import NamedTuple

from tslens.errors import InputError
from tslens.stories.generator import lexicon


class Near(NamedTuple):
    """A neighbour: its small letters if it is literal, and its tag; SUBJ, OBJ and POSS for pronouns, NAME for a character,
    OPEN for an opening quotation mark, ?ADJNOUN for a word that is not settled yet, nothing at an edge."""

    low: str = ""
    tag: str = ""

    def may(self, *tags: str) -> bool:
        return self.tag in tags or (self.tag[:1] == "?" and self.tag.startswith(tuple("?" + t for t in tags)))


BE = frozenset("was were is are am be been being isn't wasn't aren't weren't i'm you're we're it's that's".split())
MODALS = frozenset("would could should will can must might may can't couldn't won't wouldn't".split())
COPULAS = BE | frozenset(
    "felt feel feels looked look looks seemed seem became become got get very really so too quite grew turned smelled tasted sounded as how more most".split()
)
SUBJECTS = frozenset("i you he she it we they everyone everybody nobody nothing something i'm".split())
POSSESSIVES = frozenset("my your our its their his".split())
HALTS = frozenset("and but or who which that when while if because".split())
SAYING = frozenset(
    "said say says knew know knows thought think told felt hoped believed noticed saw learned remembered remember forgot understood out "
    "means showed shows sure glad afraid happy sorry proud so is was dreamed wished us me promised agreed teaches tells".split()
)
TIMES = frozenset("day night evening afternoon morning moment time year week monday friday sunday".split())
BOTH_WAYS = frozenset(
    "better best first last next fast hard high low late early long deep straight right far near loud alone slow safe close quick tight wrong nearby harder".split()
)
MANNER = frozenset("very really so too as how".split())
PLACES = frozenset(
    "in on off up down out over by about around along across behind past above below near under through inside outside".split()
)
MORE = frozenset("more most much many less least enough few".split())


def settle(text: str, prev: Near, nxt: Near, rest: tuple[str, ...]) -> str:
    """The tag of a word; ValueError where its neighbours do not settle it. `rest` are the words and slots up to the next mark."""
    low = text.lower()
    tags = lexicon.tags_of().get(low, frozenset())
    if not tags:
        raise InputError(f"{text!r} is not in the lexicon")
    tag = _function_word(low, prev, nxt, rest) or (
        next(iter(tags)) if len(tags) == 1 else _content_word(low, tags, prev, nxt)
    )
    if not tag or (
        tag == "VERB"
        and _nominal(prev)
        and (prev.tag != "NUM" or prev.low == "one")
        and tags == {"VERB"}
        and (low in lexicon.base_verbs() or low.endswith("ing"))
    ):
        raise InputError(f"the tag of {text!r} is not settled ({'/'.join(sorted(tags))}) after {prev}, before {nxt}")
    return tag


def _finite(rest: tuple[str, ...]) -> bool:
    """Whether a subject and its verb follow."""
    for i, word in enumerate(rest):
        if word in HALTS:
            return False
        if i and (word in _finite_forms() or word.endswith(".ed}")):
            return True
    return False


def _finite_forms() -> frozenset[str]:
    return lexicon.pasts() | BE | MODALS | {"had", "has", "have", "did", "does"}


def _perfect(rest: tuple[str, ...]) -> bool:
    """Whether a participle follows, adverbs between."""
    for word in rest:
        if word in lexicon.participles() or word.endswith(".en}"):
            return True
        if "ADV" not in lexicon.tags_of().get(word, ()) and word not in ("not", "all", "both"):
            return False
    return False


def _asks(prev: Near) -> bool:
    """Whether a question may begin here, or stands after its question word."""
    return prev.tag in ("", "OPEN", "PUNCT") or prev.low in ("how", "why", "what", "when", "where", "who", "but", "and")


def _nominal(prev: Near) -> bool:
    """Whether a noun phrase is open."""
    return (prev.tag in ("DET", "ADJ", "POSS", "NUM") and prev.low not in ("all", "both")) or prev.low in POSSESSIVES


def _verbal(prev: Near) -> bool:
    """Whether a verb is due."""
    return (
        prev.tag in ("SUBJ", "PART", "NAME")
        or (prev.tag == "AUX" and prev.low not in BE)
        or prev.low in SUBJECTS | {"to", "please", "let's", "not", "never", "don't", "friends"}
    )


def _begins_clause(nxt: Near) -> bool:
    return nxt.tag in ("SUBJ", "NAME", "DET", "POSS", "PROPN") or nxt.low in SUBJECTS | POSSESSIVES | {"there", "that"}


def _function_word(low: str, prev: Near, nxt: Near, rest: tuple[str, ...]) -> str:
    """The tag of a word of the closed classes; '' for any other."""
    n, p = nxt.low, prev.low
    match low:
        case "to":
            verb = n in lexicon.base_verbs() and nxt.tag != "NOUN"
            return "PART" if verb or (not n and nxt.tag == "VERB") else "ADP"
        case "that":
            return _that(prev, nxt, rest)
        case "this" | "these" | "those":
            return "DET" if nxt.may("NOUN", "ADJ", "NUM") else "PRON"
        case "what" | "which":
            return "DET" if nxt.may("NOUN", "ADJ") or n in ("a", "an") else "PRON"
        case "each":
            return "PRON" if n == "other" else "DET"
        case "all":
            return "ADV" if n in ("alone", "along", "by") else "DET"
        case "both" | "some" | "any" | "another":
            return "DET"
        case "such":
            return "DET" if n in ("a", "an") else "ADJ"
        case "half":
            return "DET" if n in ("a", "an", "the") else "ADV" if nxt.may("VERB", "ADJ") else "NOUN"
        case "so":
            if nxt.may("ADJ", "ADV") or n in ("much", "many"):
                return "ADV"
            return "SCONJ" if n == "that" or (p == "," and _begins_clause(nxt)) else "ADV"
        case "no":
            return "INTJ" if nxt.tag == "PUNCT" else "DET"
        case "not":
            return "PART"
        case "there":
            return "PRON" if n in BE | MODALS | {"lived", "came", "stood", "had"} else "ADV"
        case "do" | "did" | "does":
            asks = _asks(prev) and (nxt.tag in ("SUBJ", "NAME", "DET", "POSS") or n in SUBJECTS)
            return "AUX" if asks or n in ("not", "never") or n in lexicon.base_verbs() else "VERB"
        case "had" | "have" | "has":
            perfect = n == "not" or _perfect(rest) or (_asks(prev) and n in SUBJECTS)
            return "AUX" if perfect and prev.tag != "PART" else "VERB"
        case "before" | "after" | "until" | "since" | "than" | "as" | "for":
            return _before_or_as(low, prev, nxt, rest)
        case "once":
            return (
                "ADV" if p == "at" or p in BE or n in ("upon", "more", "again") or not _begins_clause(nxt) else "SCONJ"
            )
        case "how" | "why" | "where":
            return "ADV"
        case "when" | "while":
            asks = low == "when" and p in ("", ",") and n in ("did", "do", "is", "was", "will", "can")
            return "NOUN" if p in ("a", "little", "long") else "ADV" if asks else "SCONJ"
        case "because" | "if" | "though" | "although":
            return "SCONJ"
        case "like":
            if n in ("this", "that", "these"):
                return "ADP"
            return (
                "VERB" if (_verbal(prev) and prev.tag != "NAME") or p in ("would", "to", "didn't", "don't") else "ADP"
            )
        case "will" | "might":
            return "NOUN" if _nominal(prev) else "AUX"
        case "one":
            if p == "no":
                return "PRON"
            return "NOUN" if _nominal(prev) or p in ("which", "first", "last", "other", "next") else "NUM"
        case "please" | "welcome" | "well" | "okay" | "sorry" | "thanks" | "bye":
            return _courtesy(low, prev, nxt)
        case "little":
            vague = p == "a" and (nxt.tag in ("PUNCT", "CCONJ", "ADP", "SCONJ", "PART") or n in lexicon.comparatives())
            return "ADV" if vague or p == "by" or n == "by" else "ADJ"
        case "next" if n == "to":
            return "ADV"
        case "first" | "last" if p == "at":
            return "ADJ"
        case "home" | "back":
            return "NOUN" if _nominal(prev) or p in ("at", "from") else "ADV"
        case "own":
            return "ADJ" if _nominal(prev) or prev.tag == "POSS" else ""
    if low in MORE:
        return _amount(low, prev, nxt)
    if low in PLACES and not _nominal(prev):
        alone = nxt.tag in ("PUNCT", "ADV", "", "CCONJ") or n in ("and", "for", "to", "in", "like")
        return "ADV" if low in ("inside", "outside", "around", "near", "behind", "below") and alone else "ADP"
    return ""


def _that(prev: Near, nxt: Near, rest: tuple[str, ...]) -> str:
    """DET before its noun, SCONJ before what was said or felt, PRON where it is a thing or stands for one."""
    if prev.low == "so":
        return "SCONJ"
    if nxt.low in TIMES and prev.low not in SAYING:
        return "DET"
    if nxt.may("NOUN", "ADJ", "NUM") or nxt.low in TIMES:
        return "SCONJ" if prev.tag not in ("", "OPEN", "PUNCT", "ADP", "CCONJ") and _finite(rest) else "DET"
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


def _before_or_as(low: str, prev: Near, nxt: Near, rest: tuple[str, ...]) -> str:
    """SCONJ where a clause follows, ADP before anything else; ADV where nothing follows, and for the first of as … as."""
    if low == "for":
        return "SCONJ" if prev.low == "," and _finite(rest) else "ADP"
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
    return "SCONJ" if _finite(rest) or (nxt.low.endswith("ing") and nxt.tag == "VERB") else "ADP"


def _courtesy(low: str, prev: Near, nxt: Near) -> str:
    if low == "please" and prev.low in ("to", "would", "could"):
        return "VERB"
    if low in ("sorry", "welcome", "okay"):
        return "INTJ" if low != "sorry" and prev.tag in ("", "OPEN", "PUNCT") else "ADJ"
    if low == "well" and prev.low in BE and nxt.tag != "VERB":
        return "ADJ"
    return "ADV" if low == "well" and prev.low and prev.tag != "PUNCT" else "INTJ"


def _amount(low: str, prev: Near, nxt: Near) -> str:
    if nxt.may("NOUN") or low in ("few", "many", "several"):
        return "ADJ"
    adverb = nxt.may("ADJ", "ADV") or prev.tag == "VERB" or prev.low in ("once", "very", "any") or nxt.low == "of"
    return "ADV" if adverb else "ADJ"


def _content_word(low: str, tags: frozenset[str], prev: Near, nxt: Near) -> str:
    """The tag of a word of the open classes that may bear several; '' where nothing settles it."""
    nominal, verbal = _nominal(prev), _verbal(prev)
    opens = prev.tag in ("", "OPEN", "PUNCT")
    if low in BOTH_WAYS and tags >= {"ADV", "ADJ"}:
        if (
            nominal
            or prev.low
            in BE | {"never", "not", "got", "grew", "became", "looked", "felt", "seemed", "sounded", "smelled"}
            or nxt.tag == "NOUN"
        ):
            return "ADJ"
        if prev.low not in MANNER and (
            prev.tag in ("VERB", "OBJ", "NOUN", "ADP")
            or nxt.tag == "VERB"
            or opens
            or nxt.low == "ago"
            or prev.low == "all"
        ):
            return "ADV"
        if prev.low in MANNER:
            return "ADV" if low == "fast" or (low == "loud" and prev.low == "as") else ""
    if low == "still" and tags >= {"ADJ", "ADV"}:
        adjective = prev.tag in ("VERB", "CCONJ") and prev.low not in BE and (nxt.tag == "PUNCT" or nxt.low == "to")
        return "ADJ" if adjective else "ADV"
    if tags == {"DET", "PRON"}:
        return "DET" if nxt.may("ADJ", "NOUN") else "PRON"
    if "ADJ" in tags and nxt.low == "of" and not nominal:
        return "ADJ"
    if tags >= {"ADJ", "VERB"} and prev.low in ("not", "never") and nxt.tag == "PUNCT":
        return ""
    if "VERB" in tags and verbal and not (prev.low == "to" and low not in lexicon.base_verbs()):
        return "VERB"
    if (
        "ADJ" in tags
        and nxt.may("NOUN")
        and (nominal or prev.low in COPULAS or opens or prev.tag in ("ADP", "VERB", "CCONJ"))
    ):
        return "ADJ"
    if "ADJ" in tags and nominal and nxt.low in ("one", "ones"):
        return "ADJ"
    if "NOUN" in tags and nominal and ("ADJ" not in tags or nxt.tag != "NOUN"):
        return "NOUN" if "ADJ" not in tags or prev.tag in ("DET", "POSS", "ADJ") else "ADJ"
    if "ADJ" in tags and prev.low in COPULAS:
        return "ADJ"
    if "NOUN" in tags and prev.tag == "ADP" and not nxt.may("NOUN", "ADJ"):
        return "NOUN"
    if "VERB" in tags and low in lexicon.participles() and prev.low in ("was", "were", "been", "had", "have", "has"):
        return "VERB"
    object_follows = nxt.tag in ("SUBJ", "OBJ", "POSS", "DET", "NAME") or nxt.low in (
        "it", "you", "me", "us", "that", "no", "everything", "something", "nothing", "everyone", "everybody", "nobody",
    )  # fmt: skip
    if tags == {"NOUN", "VERB"} and object_follows and not nominal:
        return "VERB"
    if tags == {"ADJ", "VERB"}:
        if object_follows or (prev.tag in ("SUBJ", "NAME", "NOUN", "AUX") and prev.low not in BE):
            return "VERB"
        return "ADJ" if (nominal and nxt.may("NOUN", "ADJ")) or (prev.tag == "CCONJ" and nxt.tag == "PUNCT") else ""
    if low.endswith("ing") and prev.low in BE and "VERB" in tags:
        return "VERB"
    if (
        "NOUN" in tags
        and nxt.tag in ("PUNCT", "CCONJ", "ADP")
        and prev.tag in ("VERB", "ADP")
        and tags <= {"NOUN", "VERB"}
    ):
        return "NOUN"
    if "NOUN" in tags and "VERB" not in tags and opens and nxt.tag == "PUNCT":
        return "NOUN"
    return ""
