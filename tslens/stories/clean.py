"""Cleaning of stories: mojibake repaired, spaces tidied, empty, truncated and duplicate stories dropped.

TinyStories V1 was published wrongly decoded: UTF-8 was read as Windows-1252, so ``“`` became ``â€œ``, and the closing
quote lost its last byte, for which Windows-1252 has no character.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b

import numpy as np

# Mojibake


def _lone_bytes() -> dict[str, int]:
    """The character that each byte from 0x80 became, read as Windows-1252 or, if that has none, as Latin-1."""
    letters = {chr(byte): byte for byte in range(0x80, 0x100)}
    for byte in range(0x80, 0xA0):
        letters[bytes([byte]).decode("cp1252", errors="ignore") or chr(byte)] = byte
    return letters


_BYTES = _lone_bytes()
_TAIL = "[" + "".join(re.escape(letter) for letter, byte in _BYTES.items() if byte < 0xC0) + "]"
_SEQUENCE = re.compile(f"[Â-ß]{_TAIL}|[à-ï]{_TAIL}{{2}}|[ð-ô]{_TAIL}{{3}}")
_LOST_QUOTE = re.compile("â€\ufffd?")  # what a closing quote, E2 80 9D, became where 9D was dropped or replaced
# Only what stories are written with: a real capital before a real quote, as in “CAFÉ”, would give other characters.
_PLAUSIBLE = re.compile(
    "[\u00a0-\u017fƒˆ˜€™\ufeff\U0001f300-\U0001faff\u2000-\u200d\u2010-\u201f\u2022\u2026-\u2029\u202f\u2032-\u203a]"
)


def repair(text: str) -> str:
    """The text without mojibake, single or double; other text is returned unchanged."""
    if text.isascii():
        return text
    for _ in range(3):
        repaired = _SEQUENCE.sub(_decoded, text)
        if repaired == text:
            break
        text = repaired
    return _LOST_QUOTE.sub("”", text)


def _decoded(match: re.Match[str]) -> str:
    """The character that the matched characters encode, if stories use it; else the match itself."""
    try:
        meant = bytes(_BYTES[letter] for letter in match[0]).decode("utf-8")
    except UnicodeDecodeError:
        return match[0]
    return meant if _PLAUSIBLE.fullmatch(meant) else match[0]


# Spaces

_NEWLINE = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2060\ufeff]")
_SPACES = re.compile(r"[^\S\n]+")
_SPACE_AT_NEWLINE = re.compile(" ?\n ?")
_GAP = re.compile("\n{3,}")


def tidy(text: str) -> str:
    """The text with one kind of space and newline, at most one empty line in a row, and no space at its ends."""
    if not (text.isascii() and text.replace("\n", "").isprintable()):  # most are: these tests cost a tenth of the work
        text = _SPACES.sub(" ", _UNSEEN.sub("", _NEWLINE.sub("\n", text)))
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if " \n" in text or "\n " in text:
        text = _SPACE_AT_NEWLINE.sub("\n", text)
    if "\n\n\n" in text:
        text = _GAP.sub("\n\n", text)
    return text.strip()


_ENDING = re.compile(r"""(?:[.!?…]['’)\]]?|[^\s(]["”»]|\bthe end)\W{0,3}\Z""", re.IGNORECASE)


def is_truncated(text: str) -> bool:
    """Whether a story stops before its end: it is complete if it ends in ``. ! ? …``, in a closing double quote, or in
    the words "The End"; a closing single quote or bracket counts after one of these marks only."""
    return _ENDING.search(text, max(0, len(text) - 40)) is None


# Duplicates


class Seen:
    """Remembers texts by an 8-byte hash, in 10 to 20 bytes a text (a Python set of them takes about 70).

    The probability that two different texts collide is about n²/2⁶⁵: 1 in 8 million for TinyStories' 2.1M.
    """

    def __init__(self) -> None:
        self._table = np.zeros(1024, dtype=np.uint64)  # open addressing; 0 is an empty place
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def n_bytes(self) -> int:
        """Memory in use."""
        return self._table.nbytes

    def add(self, text: str) -> bool:
        """Remember the text; returns whether it is new."""
        return self.add_key(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little"))

    def add_key(self, key: int) -> bool:
        """Remember a text by its 64-bit hash; returns whether it is new."""
        key = key & 0xFFFF_FFFF_FFFF_FFFF or 1
        if self._count * 5 >= self._table.size * 4:
            self._grow()
        new = self._place(key)
        self._count += new
        return new

    def _place(self, key: int) -> bool:
        table, size = self._table, self._table.size
        place = key % size
        while (held := table.item(place)) != 0:
            if held == key:
                return False
            place = (place + 1) % size
        table[place] = key
        return True

    def _grow(self) -> None:
        keys = self._table[self._table != 0]
        self._table = np.zeros(self._table.size * 8 // 5, dtype=np.uint64)
        for key in keys.tolist():
            self._place(key)


@dataclass(frozen=True)
class CleaningReport:
    """Counts of the stories of one source: ``read`` is the sum of ``kept`` and the three kinds dropped."""

    read: int = 0
    kept: int = 0
    repaired: int = 0
    """stories whose mojibake was repaired, kept or not"""
    empty: int = 0
    truncated: int = 0
    duplicate: int = 0

    def __sub__(self, earlier: "CleaningReport") -> "CleaningReport":
        """The counts since an earlier report."""
        before = asdict(earlier)
        return CleaningReport(**{name: count - before[name] for name, count in asdict(self).items()})

    def __str__(self) -> str:
        return " · ".join(f"{count:,} {name}" for name, count in asdict(self).items())


class Cleaner:
    """Repairs stories, drops unsuitable ones, and counts: ``for story in cleaner(stories)``, then ``cleaner.report``.

    Duplicates are found across all stories given to one Cleaner.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys((field.name for field in fields(CleaningReport)), 0)
        self._seen = Seen()

    @property
    def report(self) -> CleaningReport:
        """The counts so far."""
        return CleaningReport(**self._counts)

    def __call__(self, stories: Iterable[str]) -> Iterator[str]:
        """The kept stories, repaired."""
        for story in stories:
            repaired = repair(story)
            self._counts["repaired"] += repaired != story
            text = tidy(repaired)
            fate = self._fate(text)
            self._counts["read"] += 1
            self._counts[fate] += 1
            if fate == "kept":
                yield text

    def _fate(self, text: str) -> str:
        if not text:
            return "empty"
        if is_truncated(text):
            return "truncated"
        return "kept" if self._seen.add(text) else "duplicate"
