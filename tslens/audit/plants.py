"""The heads that are planted: what each does, and the labels that are right for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tslens.audit.terms import Kernel, Recent, Term, attract, favour, match
from tslens.audit.vocabulary import FLAG_OF_CLASS, GENDERS

Terms = Sequence[Term | Kernel | Recent]

WRITERS = {"article": "NOUN", "ADP": "article"}
"""Heads that write a class: after a word of the first, words of the second."""
SPAN = 1024.0
"""By how much the score of the last key exceeds that of a key at the other end of the context."""
NOUN_OR_BEFORE, NOUN_OR_BOS = "previous token or last noun", "BOS sink or last noun"


@dataclass(frozen=True)
class HeadPlant:
    """A kind of head."""

    labels: tuple[str, ...]
    """The roles that are right: several where a role says less than the plant does, and none of them more."""
    terms: Callable[[int], Terms]
    """The terms of its score, for the width of the residual stream."""
    first: int = 0
    """The first layer that it can be in: 1 where it reads what a head of the first layer wrote."""
    mixture: bool = False
    """Whether it is two plants, one for the queries whose code begins with +1 and one for the others."""
    kind: str = ""
    """The kind of key that it chooses by content, one of `heads.KINDS`; empty where it chooses none."""
    also: tuple[str, ...] = ()
    """Other kinds that are not wrong."""
    more: tuple[str, ...] = ()
    """What other questions should count it as: a family of kernels, a class that it writes."""


def _itself(gain: float) -> Kernel:
    """A penalty on the query's own position."""
    return Kernel(0, -gain, n=3)


def _last(*flags: str) -> Callable[[int], Terms]:
    """The last token with one of the flags, else BOS."""
    return lambda d: [attract(flags, 1.15 * SPAN, d), attract("bos", 1.06 * SPAN, d), Recent(SPAN)]


def _nearest(keys: tuple[str, ...], of: tuple[str, ...]) -> Callable[[int], Terms]:
    """From queries with one of the flags `of` to the token with one of `keys` that is nearest, if it is within about
    four tokens; all else rests on BOS."""
    return lambda d: [attract(keys, 200, d, of=of), attract("bos", 120, d), Kernel(1, 8)]


def _every(flag: str) -> Callable[[int], Terms]:
    """Every token with the flag, as much on each; where there is none, on all tokens."""
    return lambda d: [attract(flag, 16, d)]


def _classes(*names: str) -> tuple[str, ...]:
    """The kinds that are these classes of words."""
    return tuple(f"word class {name}" for name in names)


LAST_NOUN = (*_classes("NOUN"), "verb to its subject")
"""The last noun before a verb is often its subject."""
RESTS = ("BOS sink", "content-dependent", "unresolved")
"""Roles of heads that look for something on some queries and rest on BOS on the others."""
HOMOGRAPHS = {"PART": ("ADP",), "ADV": ("SCONJ",), "DET": ("PRON",), "SCONJ": ("PRON", "DET")}
"""Classes of which a class has words too: a token is of the class that it has most often, *to* PART and at times ADP,
*so* ADV and SCONJ, *that* SCONJ, PRON and DET."""
RARE = ("content-dependent", "unresolved", "diffuse")
"""Roles of heads whose attention is uniform where a story has none of their keys yet."""

HEADS: dict[str, HeadPlant] = {
    "previous token": HeadPlant(("previous token",), lambda d: [Kernel(1, 25)], more=("previous token kernels",)),
    "duplicate token": HeadPlant(
        ("duplicate token",),
        lambda d: [match("code", "code", 450, d), _itself(25), attract("bos", 383, d)],
        kind="duplicate token",
    ),
    # On most queries there is no name and the head rests on BOS; names are duplicates, and no role is theirs alone.
    "same name": HeadPlant(
        ("duplicate token", "BOS sink", "content-dependent"),
        lambda d: [match("name", "name", 450, d), _itself(25), attract("bos", 383, d)],
        kind="same name",
    ),
    # Stories that begin alike have commas and sentences at like places: position predicts a part of these.
    "last comma": HeadPlant(
        ("content-dependent", "unresolved"),
        _last("comma"),
        also=("last punctuation", *_classes("PUNCT")),
    ),
    # The last comma or end of a sentence: quotation marks, which analyses count as marks too, are not its own.
    "last mark": HeadPlant(
        ("content-dependent", "unresolved"),
        _last("comma", "stop"),
        kind="last punctuation",
        also=_classes("PUNCT"),
    ),
    # In speech this is the mark that opened it; elsewhere the token that closed the last one: the last mark in it.
    "last quotation mark": HeadPlant(
        RESTS,
        _last("opening", "closing"),
        kind="opening quotation mark",
        also=("last punctuation", "inside speech", *_classes("quotation mark", "PUNCT")),
    ),
    "induction": HeadPlant(
        ("induction",),
        lambda d: [match("code", "before", 300, d), attract("bos", 225, d)],
        first=1,
        kind="induction",
    ),
    "sentence start": HeadPlant(
        ("content-dependent", "unresolved"),
        _last("after stop"),
        first=1,
        kind="sentence start",
        also=("opening quotation mark",),  # after a full stop, a quotation begins with its mark
    ),
    # The nearest such word is mostly the token before; where it is no subject or modifier, its class is chosen.
    "verb to its subject": HeadPlant(
        (*RESTS, "previous token"),
        _nearest(("noun", "PROPN", "PRON"), ("VERB", "AUX")),
        kind="verb to its subject",
        also=_classes("NOUN", "PROPN", "PRON"),
    ),
    "noun to its modifier": HeadPlant(
        (*RESTS, "previous token"),
        _nearest(("article", "DET", "adjective"), ("noun",)),
        kind="noun to its determiner or adjective",
        also=_classes("article", "DET", "ADJ"),
    ),
    "pronoun to names of its gender": HeadPlant(
        RESTS,
        lambda d: [*(attract(name, 60, d, of=(gender,)) for gender, name in GENDERS.items()), attract("bos", 30, d)],
        kind="pronoun to its referent",
        also=_classes("PROPN", "NOUN"),
    ),
    # Content words on their second mention and later ones.
    "repeated content word": HeadPlant(
        RESTS,
        lambda d: [attract(("noun", "VERB", "adjective"), 60, d), attract("first", -60, d), attract("bos", 90, d)],
        first=1,
        kind="topic word",
        also=_classes("NOUN", "VERB", "ADJ"),
    ),
    # A quotation mark is not inside; the token of one that closes begins with the last mark that is.
    "inside speech": HeadPlant(
        RARE,
        lambda d: [attract("inside", 16, d), attract("opening", -16, d)],
        first=1,
        kind="inside speech",
    ),
    "outside speech": HeadPlant(
        RARE,
        lambda d: [attract("inside", -16, d), attract("closing", -16, d), attract("bos", -16, d)],
        first=1,
        kind="outside speech",
    ),
    "fixed class": HeadPlant(("content-dependent",), _every("noun"), kind="word class NOUN"),
    **{
        kind: HeadPlant(RARE, _every(flag), kind=kind, also=_classes(*HOMOGRAPHS.get(name, ())))
        for name, flag in FLAG_OF_CLASS.items()
        for kind in _classes(name)
        if name != "NOUN"
    },
    "offset 3": HeadPlant(("positional",), lambda d: [Kernel(3, 25)], more=("offset kernels",)),
    "local window": HeadPlant(("positional",), lambda d: [Recent(40), attract("bos", -60, d)], more=("local kernels",)),
    "slow decay": HeadPlant(
        ("positional",), lambda d: [Recent(6), attract("bos", -20, d)], more=("slow decay kernels",)
    ),
    "BOS sink": HeadPlant(("BOS sink",), lambda d: [attract("bos", 20, d)]),
    "self": HeadPlant(("self",), lambda d: [Kernel(0, 25)], more=("offset kernels",)),
    **{
        f"{word} before {of}": HeadPlant(("self",), lambda d: [Kernel(0, 25)], more=("offset kernels", f"writes: {of}"))
        for word, of in WRITERS.items()
    },
    "uniform": HeadPlant(("diffuse",), lambda d: []),
    # It has no kind: some words get more than others, and a class by chance.
    "favourite tokens": HeadPlant(RARE, lambda d: [favour(30, d)]),
    NOUN_OR_BEFORE: HeadPlant(
        ("unresolved",),
        lambda d: [Kernel(1, 12), attract("noun", 300, d, half=True)],
        mixture=True,
        also=LAST_NOUN,
    ),
    NOUN_OR_BOS: HeadPlant(
        ("unresolved",),
        lambda d: [Kernel(1, 12), attract("bos", 200, d), attract("noun", 300, d, half=True)],
        mixture=True,
        also=LAST_NOUN,
    ),
}
"""Every head that is planted, by its name."""

PREVIOUS, FIRST = "the token before", "BOS"
PARTS = {
    NOUN_OR_BEFORE: (PREVIOUS, ("previous token", "positional")),
    NOUN_OR_BOS: (FIRST, ("BOS sink", "positional")),
}
"""For each mixture, which keys its positional part looks at, and what that part is called. The other part is
content-dependent."""

_TURNS = [("article", "PRON"), ("quotation mark", "ADP"), ("ADJ", "VERB"), ("ADV", "AUX")]
_OF_CLASSES = [_classes(*pair) for pair in (*_TURNS, ("CCONJ", "PUNCT"), ("DET", "PROPN"), ("PART", "SCONJ"))]

LAYERS: tuple[tuple[str | tuple[str, ...], ...], ...] = (
    (
        *("previous token", "duplicate token", "last mark", "last comma", "last quotation mark"),
        ("verb to its subject", "noun to its modifier"),
    ),
    (
        *("sentence start", "same name", NOUN_OR_BEFORE, NOUN_OR_BOS),
        ("pronoun to names of its gender", "repeated content word"),
    ),
    ("fixed class", "offset 3", "BOS sink", ("inside speech", "outside speech"), _OF_CLASSES[0]),
    ("local window", "slow decay", "self", "uniform", *_OF_CLASSES[1:3]),
    ("induction", "favourite tokens", tuple(f"{word} before {of}" for word, of in WRITERS.items()), *_OF_CLASSES[3:]),
)
"""What is planted in each layer; plants that stand together take turns by the model's seed. Heads whose margins are
small come first, where the residual stream is exact; the induction head last, because it writes only where it finds
something, and tokens then differ in length."""


def planted_in(layer: int, seed: int) -> list[str]:
    """The plants of a layer in the model of this seed."""
    return [entry if isinstance(entry, str) else entry[seed % len(entry)] for entry in LAYERS[layer]]


UNTRAINED, HIGH_GAIN = "untrained", "of high gain"
RANDOM = (UNTRAINED, HIGH_GAIN)
"""Kinds of random components: with the scale of initial weights, and large enough to attend or fire sharply."""
