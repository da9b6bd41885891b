"""Rules for words whose universal tag depends on their neighbours.

Each rule takes a position in a sentence, the words in lower case and their BNC tags. The guidelines are those of
Universal Dependencies for English (de Marneffe et al. 2021, doi:10.1162/coli_a_00402).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

Rule: TypeAlias = Callable[[int, list[str], Sequence[str]], str | None]

_QUANTITIES = frozenset(
    "much many more most few fewer fewest little less least several such same own other enough".split()
)
_TIME = frozenset("before after until till since".split())
_PLACE = frozenset("around inside outside behind near above below past".split())
_SUBJECTS = frozenset("i he she we they it you there this that these those everyone everybody nobody someone".split())
_TELLING = frozenset("tell told tells show showed shows teach taught teaches remind reminded promise promised".split())
_NOMINAL = ("NN", "NP", "AJ", "CR", "OR")
_PARTICIPLE = ("VVN", "VVD", "VBN", "VHN", "VDN", "VHD", "VDD")
_INFINITIVE = ("VVI", "VBI", "VHI", "VDI", "VVB")


def _at(items: Sequence[str], i: int) -> str:
    return items[i] if 0 <= i < len(items) else ""


def _is_mark(word: str) -> bool:
    return not word or not (word[0].isalnum() or (word[0] == "'" and len(word) > 1))


def _before_noun(i: int, words: Sequence[str], bnc: Sequence[str]) -> bool:
    """Whether the rest of a noun phrase follows."""
    following = _at(bnc, i + 1)
    if _at(words, i + 1) in ("one", "ones", "other", "same", "own"):
        return True
    return following[:2] in _NOMINAL or (following == "AV0" and _at(bnc, i + 2)[:2] == "AJ")


def _before_clause(i: int, words: Sequence[str], bnc: Sequence[str]) -> bool:
    """Whether a subject and its verb follow, before the next mark."""
    for j in range(i + 1, min(i + 8, len(words))):
        if _is_mark(words[j]) or words[j] in ("and", "or"):
            return False
        if bnc[j] in ("VVD", "VVZ", "VM0", "VBD", "VBZ", "VHD", "VHZ", "VDD", "VDZ", "VBB", "VHB", "VDB"):
            return j > i + 1
        if bnc[j] == "VVB" and bnc[j - 1] in ("PNP", "NN2"):
            return True
    return False


def _do(i: int, words: list[str], bnc: Sequence[str]) -> str:
    """do is AUX before `not`, before its subject in a question, and before its verb."""
    if bnc[i] in ("VDG", "VDN"):
        return "VERB"
    for j in range(i + 1, min(i + 7, len(words))):
        if bnc[j] == "XX0" or words[j] in ("n't", "n’t"):
            return "AUX"
        if bnc[j] in _INFINITIVE:
            return "AUX" if bnc[j - 1] != "TO0" else "VERB"
        asks = i == 0 or _is_mark(_at(words, i - 1)) or _at(bnc, i - 1) in ("AVQ", "DTQ", "PNQ", "CJC")
        if not (bnc[j] == "AV0" or (asks and bnc[j][:2] in ("PN", "NP", "NN", "AT", "DP", "DT", "AJ", "EX"))):
            return "VERB"
    return "VERB"


def _have(i: int, words: list[str], bnc: Sequence[str]) -> str:
    """have is AUX before a participle, with adverbs, `not` or the subject of a question between."""
    for j in range(i + 1, min(i + 5, len(words))):
        if bnc[j] in _PARTICIPLE:
            return "AUX"
        if bnc[j] not in ("AV0", "XX0") and not (j == i + 1 and bnc[j] == "PNP" and words[j] in _SUBJECTS):
            return "VERB"
    return "VERB"


def _that(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if bnc[i] == "DT0" or (bnc[i] == "CJT" and not _before_clause(i, words, bnc)):
        return "DET" if _before_noun(i, words, bnc) else "PRON"
    after_noun = _at(bnc, i - 1)[:2] in ("NN", "NP")
    if bnc[i] == "CJT" and (not after_noun or not _TELLING.isdisjoint(words[max(0, i - 5) : i])):
        return "SCONJ"
    return "SCONJ" if bnc[i] in ("CJT", "CJS") and _at(words, i - 1) in ("fact", "idea", "hope", "way") else "PRON"


def _demonstrative(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "DET" if _before_noun(i, words, bnc) else "PRON"


def _determiner(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    """Some of the BNC's DT0 are adjectives or adverbs by the universal rules, and some stand alone."""
    if words[i] in _QUANTITIES:
        if _at(bnc, i + 1)[:2] in ("AJ", "AV") and words[i] in ("much", "more", "most", "less", "least", "little"):
            return "ADV"
        alone = not _before_noun(i, words, bnc) and words[i] in ("much", "more", "most", "less", "least")
        return "ADV" if alone and _at(bnc, i - 1)[:2] in ("VV", "AV", "PN", "AJ") else "ADJ"
    if words[i] in ("any", "some", "each", "another", "either", "neither"):
        return "DET" if _before_noun(i, words, bnc) else "PRON"
    return None


def _what(i: int, words: list[str], bnc: Sequence[str]) -> str:
    following = _at(bnc, i + 1)
    return "DET" if following[:2] in _NOMINAL or (following == "AT0" and _at(words, i + 1) in ("a", "an")) else "PRON"


def _no(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "INTJ" if _is_mark(_at(words, i + 1)) else "DET"


def _so(i: int, words: list[str], bnc: Sequence[str]) -> str:
    following = _at(bnc, i + 1)
    if following[:2] in ("AJ", "AV") or _at(words, i + 1) in ("much", "many", "little"):
        return "ADV"
    return "SCONJ" if _before_clause(i, words, bnc) or _at(words, i + 1) == "that" else "ADV"


def _time(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if _is_mark(_at(words, i + 1)):
        return "ADV"
    return "SCONJ" if _before_clause(i, words, bnc) else "ADP"


def _as(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if "as" in words[i + 2 : i + 5] and _at(bnc, i + 1)[:2] in ("AJ", "AV", "DT"):
        return "ADV"
    return "SCONJ" if _before_clause(i, words, bnc) else "ADP"


def _like(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "VERB" if bnc[i][:2] == "VV" else "ADP"


def _when(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "ADV" if words[-1] == "?" and _at(bnc, i + 1)[:2] in ("VD", "VB", "VM", "VH") else "SCONJ"


def _place(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    if bnc[i] not in ("AVP", "PRP", "AV0"):
        return None
    alone = _is_mark(_at(words, i + 1)) or _at(bnc, i + 1)[:2] in ("CJ", "PR", "TO", "AV")
    return "ADV" if alone else "ADP"


def _well(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    return "INTJ" if (i == 0 or _is_mark(words[i - 1])) and _is_mark(_at(words, i + 1)) else None


def _please(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "VERB" if _at(bnc, i - 1) in ("TO0", "VM0") else "INTJ"


def _one(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if _at(words, i - 1) == "no":
        return "PRON"
    anyone = bnc[i] == "PNI" and _at(bnc, i - 1) == "CJS" and _at(bnc, i + 1)[:2] in ("VV", "VB", "VM", "VH")
    return "PRON" if anyone else "NUM"


def _once(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "SCONJ" if _at(words, i + 1) != "upon" and _before_clause(i, words, bnc) else "ADV"


def _adjective(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    """`in the dark`: nothing follows that the adjective could belong to."""
    return "NOUN" if _at(bnc, i - 1) == "AT0" and _is_mark(_at(words, i + 1)) else None


def _all(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "PRON" if _is_mark(_at(words, i + 1)) and _at(bnc, i - 1)[:2] in ("PR", "CJ") else "DET"


def _order(i: int, words: list[str], bnc: Sequence[str]) -> str:
    """`the first day` but `at first`."""
    alone = not _before_noun(i, words, bnc) and _at(bnc, i - 1) not in ("AT0", "DPS") and _at(bnc, i - 1)[:2] != "VB"
    return "ADV" if alone and words[i] in ("first", "last", "next", "second") else "ADJ"


def _home(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "NOUN" if _at(bnc, i - 1) in ("AT0", "DPS", "PRP", "AJ0", "DT0", "POS", "NP0", "PRF") else "ADV"


def _grade(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    """An adverb's form before a noun is the adjective."""
    return "ADJ" if bnc[i] == "AV0" and _at(bnc, i + 1)[:2] == "NN" else None


def _to(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "PART" if bnc[i] == "TO0" else "ADP"


RULES: dict[str, Rule] = {
    **dict.fromkeys(("VDB", "VDD", "VDG", "VDI", "VDN", "VDZ"), _do),
    **dict.fromkeys(("VHB", "VHD", "VHG", "VHI", "VHN", "VHZ"), _have),
    **dict.fromkeys(("this", "these", "those"), _demonstrative),
    **dict.fromkeys(("what", "which", "whatever"), _what),
    **dict.fromkeys(_TIME, _time),
    **dict.fromkeys(("best", "better", "fast", "hard", "high", "low", "early", "late", "close"), _grade),
    **dict.fromkeys(("other", "same", "own"), lambda i, w, b: "ADJ"),
    **dict.fromkeys(_PLACE, _place),
    "AJ0": _adjective,
    "all": _all,
    "home": _home,
    "ORD": _order,
    "that": _that,
    "DT0": _determiner,
    "no": _no,
    "so": _so,
    "as": _as,
    "like": _like,
    "when": _when,
    "to": _to,
    "well": _well,
    "please": _please,
    "one": _one,
    "once": _once,
    "while": lambda i, w, b: None if b[i] == "NN1" else "SCONJ",
    "than": lambda i, w, b: "SCONJ" if _before_clause(i, w, b) else "ADP",
    "whose": lambda i, w, b: "PRON",
}
"""The rule of a word or, if the word has none, of a BNC tag; a rule returns None to keep the coarse tag."""
