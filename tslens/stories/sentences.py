"""Sentences of a story: splitting, which keeps direct speech whole, and shuffling.

By rules, without a model: a sentence ends at ``. ! ? …`` (with the quotes and brackets that close behind it) before
white space, and at a newline. Inside a quotation none ends; behind one that closes with such a mark the sentence
continues if a small letter follows (`"Stop!" he said.`) or, where the quotation began it, a verb of speech
(`"Stop!" Tom said.`). A quotation that is not closed within its line is none. Single quotes count as apostrophes,
except those that open like ‘ and close behind a mark.
"""

import re
from collections.abc import Iterator
from random import Random

_END = re.compile(r"""[.!?…]+["”’')\]]*(?=\s|$)""")
_LINE = re.compile(r"[^\n]+")
_QUOTES = re.compile(r'[“”"]')
_SINGLE = re.compile(r"‘[^‘\n]*?[.,!?…]’(?!\w)")
_TITLES = ("Mr.", "Mrs.", "Ms.", "Dr.", "St.", "Mt.")
_SPEAKS = re.compile(
    r"(?:[\w'’-]+\s){1,4}?(?:said|says|asked|asks|replied|answered|shouted|yelled|cried|called|whispered|exclaimed|"
    r"screamed|begged|added|explained|agreed|thought|told)\b"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without the white space between them."""
    return [text[start:end] for start, end in spans(text)]


def spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, in characters; only white space lies between two."""
    found = []
    for line in _LINE.finditer(text):
        begin = line.start()
        for end in [*_ends(text, line.start(), line.end()), line.end()]:
            piece = text[begin:end]
            if piece.strip():
                left = len(piece) - len(piece.lstrip())
                found.append((begin + left, begin + len(piece.rstrip())))
            begin = end
    return found


def quotations(text: str) -> list[tuple[int, int]]:
    """Start and end of each quotation in characters, quotation marks included."""
    return [span for line in _LINE.finditer(text) for span in sorted(_quotations(text, line.start(), line.end()))]


def _ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Ends of sentences within a line, except the line's end."""
    quotations, begin = _quotations(text, start, stop), start
    for mark in _END.finditer(text, start, stop):
        at, end = mark.span()
        behind = text[end:stop].lstrip()
        inside = any(a < at and end < b for a, b in quotations)
        if not behind or inside or behind[0].islower() or text.endswith(_TITLES, start, end):
            continue
        all_quoted = any(not text[begin:a].strip() and at < b <= end for a, b in quotations)
        if not (all_quoted and _SPEAKS.match(behind)):
            yield end
            begin = end


def _quotations(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The quotations of a line, quotes included; one that is never closed is left out."""
    found, opened = [quotation.span() for quotation in _SINGLE.finditer(text, start, stop)], None
    for quote in _QUOTES.finditer(text, start, stop):
        if quote[0] == "“" or (opened is None and quote[0] == '"'):
            opened = quote.start()
        elif opened is not None:
            found.append((opened, quote.end()))
            opened = None
    return found


def shuffled(text: str, seed: int = 0) -> str | None:
    """The text with its sentences in another order, drawn from (seed, text); the white space between them stays in
    its place. None where no other order gives another text: a single sentence, or the same one again and again.
    """
    places = spans(text)
    order = [text[start:end] for start, end in places]
    if len(set(order)) < 2:
        return None
    rng, before = Random(f"{seed}:{text}"), list(order)
    while order == before:
        rng.shuffle(order)
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    return gaps[0] + "".join(sentence + gap for sentence, gap in zip(order, gaps[1:], strict=True))
