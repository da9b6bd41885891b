"""Universal tags from BNC tags: a table, and rules for words that need their neighbours.

The guidelines are those of Universal Dependencies for English (de Marneffe et al. 2021, doi:10.1162/coli_a_00402).
"""

from collections.abc import Iterable, Sequence

from tslens.pos.rules import RULES
from tslens.pos.words import Unit

_SYMBOLS = "$€£¥%+=<>^|~#@&*/\\©®°"
_UNIVERSAL = {
    **dict.fromkeys(("AJ0", "AJC", "AJS", "ORD"), "ADJ"),
    **dict.fromkeys(("AV0", "AVQ"), "ADV"),
    **dict.fromkeys(("PRP", "PRF", "AVP", "IN"), "ADP"),
    **dict.fromkeys(("AT0", "DT0", "DTQ"), "DET"),
    **dict.fromkeys(("CJS", "CJT"), "SCONJ"),
    **dict.fromkeys(("DPS", "EX0", "PNI", "PNP", "PNQ", "PNX"), "PRON"),
    **dict.fromkeys(("TO0", "XX0", "POS"), "PART"),
    **dict.fromkeys(("PUN", "PUQ", "PUL", "PUR"), "PUNCT"),
    "CJC": "CCONJ",
    "CRD": "NUM",
    "ITJ": "INTJ",
    "NP0": "PROPN",
    "VM0": "AUX",
    "UNC": "X",
    "ZZ0": "X",
    "!!!": "X",
}


def _coarse(bnc: str) -> str:
    """The universal tag, without regard to the neighbours."""
    if bnc[:2] == "NN":
        return "NOUN"
    if bnc[:2] in ("VB", "VH", "VD"):
        return "AUX"
    return "VERB" if bnc[:2] == "VV" else _UNIVERSAL[bnc]


# Where a BNC tag is coarser than a universal one, these words decide.
_AT_ONCE = {  # by word and BNC tag, where no neighbour is needed
    ("away", "AVP"): "ADV",
    ("lots", "PNI"): "NOUN",
    ("lot", "PNI"): "NOUN",
    ("both", "DT0"): "DET",
    ("back", "AVP"): "ADV",
    ("none", "PNI"): "PRON",
    ("let", "VVB"): "VERB",
}


def names_of(sentences: Iterable[Sequence[Unit]]) -> frozenset[str]:
    """The words capitalised where only a name would be."""
    return frozenset(u.text for s in sentences for u in s if not u.first and u.text[0].isupper() and u.text != "I")


def universal_tags(sentence: Sequence[Unit], bnc: Sequence[str], names: frozenset[str]) -> list[str]:
    """The universal tags of a sentence from its BNC tags and its words; `names` are those of the whole text."""
    words = [unit.text.lower() for unit in sentence]
    return [_tag(i, unit, words, bnc, names) for i, unit in enumerate(sentence)]


def _tag(i: int, unit: Unit, words: list[str], bnc: Sequence[str], names: frozenset[str]) -> str:
    low, tag = words[i], bnc[i]
    if not low[0].isalpha():
        return _of_mark(low)
    if unit.text in names and tag[:2] in ("NN", "NP", "VV", "AJ", "AV", "UN", "ZZ", "!!"):
        return "PROPN"
    if (low, tag) in _AT_ONCE:
        return _AT_ONCE[low, tag]
    rule = RULES.get(low) or RULES.get(tag)
    return (rule(i, words, bnc) if rule else None) or _coarse(tag)


def _of_mark(text: str) -> str:
    if text[0].isdigit():
        return "NUM" if text[-1].isdigit() else "ADJ"
    return "SYM" if text in _SYMBOLS else "PUNCT"
