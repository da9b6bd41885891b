"""Measures of a text by itself: words, repetition, whether it is blank or broken."""

import math
import unicodedata
from typing import NamedTuple

N = 4  # words of the n-grams whose repetition counts


class TextMeasures(NamedTuple):
    """What can be said of a text without reading it."""

    words: int
    """Runs of characters without white space."""
    repetition: float
    """Share of 4-grams of words that occurred before in the text; NaN for fewer than four words."""
    blank: bool
    """Whether it has no character but white space."""
    broken: bool
    """Whether it has replacement characters (bytes that are no UTF-8), or control characters but white space."""


def measures(text: str) -> TextMeasures:
    """The measures of a text."""
    broken = any(c == "\ufffd" or (unicodedata.category(c) == "Cc" and not c.isspace()) for c in text)
    return TextMeasures(len(text.split()), repetition(text), not text.strip(), broken)


def repetition(text: str) -> float:
    """Share of 4-grams of words, case ignored, that occurred before in the text: one less the share of distinct ones
    (seq-rep-4 of Welleck et al. 2019, arXiv 1908.04319, over words). NaN for fewer than four words."""
    words = text.lower().split()
    grams = [tuple(words[i : i + N]) for i in range(len(words) - N + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else math.nan
