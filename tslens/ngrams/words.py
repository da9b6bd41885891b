"""Words of a text as n-grams count them: lower case, punctuation apart, apostrophes within the word."""

import re

from tslens.stories.sentences import spans

WORD = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")
_STRAIGHT = str.maketrans("‘’ʼ“”", "'''\"\"")


def words(text: str) -> list[str]:
    """The text's words in lower case: runs of ASCII letters, digits and apostrophes; every other sign is one word.

    Curly quotes and apostrophes count as straight ones, and white space separates. So a word of letters beyond ASCII
    is several words, and nothing of a text is dropped but its case and its white space.
    """
    return WORD.findall(text.lower().translate(_STRAIGHT))


def sentences_of(text: str) -> list[list[str]]:
    """The words of each sentence; joined, they are `words(text)`."""
    return [words(text[start:end]) for start, end in spans(text)]
