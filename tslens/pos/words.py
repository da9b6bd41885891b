"""Words and sentences of a text, as the tagger reads them: a contraction is one word of two units."""

import re
from typing import NamedTuple

_LETTERS = r"[^\W\d_]+"
_WORD = re.compile(
    rf"(?P<word>{_LETTERS}(?:['’-]{_LETTERS})*)|(?P<number>\d+(?:[.,:]\d+)*(?:st|nd|rd|th)?)"
    r"|(?P<mark>\.{2,}|[^\w\s]|_)"
)
_CLITIC = re.compile(r"(can(?=not$)|.+?(?=n['’]t$|['’](?:s|m|re|ve|ll|d)$))(not|n['’]t|['’]\w+)$", re.IGNORECASE)
_IS = frozenset(
    "it he she that this there what who where how here everything".split()
)  # before 's, which is no genitive
_QUOTES = '"“”„«»'
_CLOSING = _QUOTES + "'’)"


class Unit(NamedTuple):
    """A unit that the model tags: a word, the stem of a contraction, its clitic, or a mark."""

    text: str
    word: int
    """The word of the text that it is part of; -1 for a clitic, which has no tag of its own."""
    first: bool
    """Whether a sentence or quotation begins here, so that a capital carries no information."""


def split(text: str) -> tuple[list[tuple[int, int]], list[list[Unit]]]:
    """The words' spans, and the sentences as the model reads them."""
    spans: list[tuple[int, int]] = []
    sentence: list[Unit] = []
    sentences = [sentence]
    ended, opens, quoted, end = False, True, False, 0
    for match in _WORD.finditer(text):
        piece, mark = match[0], match.lastgroup == "mark"
        gap, end = text[end : match.start()], match.end()
        if sentence and (ended or "\n\n" in gap):
            closes = mark and not gap and piece in _CLOSING
            goes_on = piece[0].islower() and sentence[-1].text == '"'  # "Stop!" said Tom
            if "\n\n" in gap or not (closes or goes_on):
                sentence = []
                sentences.append(sentence)
                ended, opens, quoted = False, True, quoted and "\n\n" not in gap
        if mark:
            quote = piece in _QUOTES
            sentence.append(Unit('"' if quote else piece, len(spans), True))
            ended = piece[0] in ".!?" or (ended and piece in _CLOSING)
            quoted ^= quote
            opens = opens or (quote and quoted)
        else:
            clitic = _CLITIC.match(piece) if "'" in piece or "’" in piece or piece.endswith("not") else None
            sentence.append(Unit(clitic[1] if clitic else piece, len(spans), opens))
            if clitic:
                sentence.append(Unit(_clitic(clitic[1].lower(), clitic[2].lower().replace("’", "'")), -1, True))
            ended = opens = False
        spans.append(match.span())
    return spans, sentences


def _clitic(stem: str, clitic: str) -> str:
    """A clitic as the model knows it: 's is short for several words."""
    if clitic == "'s":
        return "us" if stem == "let" else "is" if stem in _IS else clitic
    return clitic
