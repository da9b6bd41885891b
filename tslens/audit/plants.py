"""The heads and neurons that are planted: what each does, and the labels that are right for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tslens.audit.terms import Kernel, Term, attract, match, recent

Terms = Sequence[Term | Kernel]

NOUN_OR_BEFORE, NOUN_OR_BOS = "previous token or last noun", "BOS sink or last noun"


@dataclass(frozen=True)
class HeadPlant:
    """A kind of head."""

    labels: tuple[str, ...]
    """The roles that are right: several where a role says less than the plant does, and none of them more."""
    terms: Callable[[int], Terms]
    """The terms of its score, for the width of the residual stream."""
    first: int = 0
    """The first layer that it can be in: 1 where it reads what the previous-token head wrote."""
    learned: bool = False
    """Whether it exists with learned positions only."""
    mixture: bool = False
    """Whether it is two plants, one for the queries whose code begins with +1 and one for the others."""
    kind: str = ""
    """The kind of key that it chooses by content, one of `heads.KINDS`; empty where it chooses none."""
    also: tuple[str, ...] = ()
    """Other kinds that are not wrong."""


def _itself(gain: float) -> Kernel:
    """A penalty on the query's own position."""
    return Kernel(0, -gain, n=3)


LAST_NOUN = ("word class NOUN", "verb to its subject")
"""The last noun before a verb is often its subject."""

HEADS: dict[str, HeadPlant] = {
    "previous token": HeadPlant(("previous token",), lambda d: [Kernel(1, 25)]),
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
    # Stories that begin alike have commas and sentences at like places: position predicts a part of where these look.
    "last comma": HeadPlant(
        ("content-dependent", "unresolved"),
        lambda d: [attract("comma", 290, d), attract("bos", 270, d), recent(256, d)],
        learned=True,
        also=("last punctuation", "word class PUNCT"),
    ),
    # The last comma or end of a sentence: quotation marks, which analyses count as marks too, are not its own.
    "last mark": HeadPlant(
        ("content-dependent", "unresolved"),
        lambda d: [attract("comma", 290, d), attract("stop", 290, d), attract("bos", 270, d), recent(256, d)],
        learned=True,
        kind="last punctuation",
    ),
    "induction": HeadPlant(
        ("induction",),
        lambda d: [match("code", "before", 300, d), attract("bos", 225, d)],
        first=1,
        kind="induction",
    ),
    "sentence start": HeadPlant(
        ("content-dependent", "unresolved"),
        lambda d: [attract("after stop", 290, d), attract("bos", 270, d), recent(256, d)],
        first=1,
        learned=True,
        kind="sentence start",
        also=("opening quotation mark",),  # after a full stop, a quotation begins with its mark
    ),
    "fixed class": HeadPlant(("content-dependent",), lambda d: [attract("noun", 16, d)], kind="word class NOUN"),
    "offset 3": HeadPlant(("positional",), lambda d: [Kernel(3, 25)]),
    "local window": HeadPlant(("positional",), lambda d: [Kernel(2, 1.5)]),
    "BOS sink": HeadPlant(("BOS sink",), lambda d: [attract("bos", 20, d)]),
    "self": HeadPlant(("self",), lambda d: [Kernel(0, 25)]),
    "uniform": HeadPlant(("diffuse",), lambda d: []),
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

PARTS = {
    NOUN_OR_BEFORE: ("previous", ("previous token", "positional")),
    NOUN_OR_BOS: ("on_bos", ("BOS sink", "positional")),
}
"""For each mixture, the field of `RolesResult` that measures its positional part, and what that part is called. The
other part is content-dependent."""

LAYERS: tuple[tuple[str, ...], ...] = (
    ("previous token", "duplicate token", "same name", "last comma"),
    ("sentence start", "last mark", NOUN_OR_BEFORE, NOUN_OR_BOS),
    ("fixed class", "offset 3", "BOS sink"),
    ("local window", "self", "uniform"),
    ("induction",),
)
"""What is planted in each layer. Heads whose margins are small come first, where the residual stream is exact; the
induction head last, because it writes only where it finds something, and tokens then differ in length."""

UNTRAINED, HIGH_GAIN = "untrained", "of high gain"
RANDOM = (UNTRAINED, HIGH_GAIN)
"""Kinds of random components: with the scale of initial weights, and large enough to attend or fire sharply."""


@dataclass(frozen=True)
class NeuronPlant:
    """A kind of neuron: it fires on tokens with a flag, on one word, always or never."""

    label: str
    """Its right label: a part of speech, `one word`, or nothing."""
    flag: str = ""
    """The flag of the tokens that it fires on."""
    level: float = 0.0
    """What it adds up from the constant: a neuron without a flag fires always or never."""


NEURONS: dict[str, NeuronPlant] = {
    "nouns": NeuronPlant("NOUN", flag="noun"),
    "adjectives": NeuronPlant("ADJ", flag="adjective"),
    "one word": NeuronPlant("one word", flag="code"),
    "nothing": NeuronPlant("", level=-8.0),
    "everything": NeuronPlant("", level=8.0),
}
"""Every neuron that is planted, by its name."""
