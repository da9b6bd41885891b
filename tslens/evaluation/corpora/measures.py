"""Measures of single stories: length, words, features, parts of speech, and faults of encoding."""

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tslens.evaluation.rouge import words
from tslens.pos import tag_texts
from tslens.stories.clean import is_truncated, repair
from tslens.stories.features import has_dialogue, has_moral
from tslens.stories.instruct import parse
from tslens.stories.sentences import sentences

CONTENT = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "PROPN")
MEASURES = (
    *("words", "words of a sentence", "distinct words", "letters of a word"),
    *("dialogue", "moral", "instructions"),
    *("mojibake", "replaced characters", "control characters", "leftover markup", "not ASCII", "cut short"),
)
"""words, words of a sentence, letters of a word: means. distinct words: share of a story's first 100 that are new. The
others: whether a story has speech, a moral or instructions before it, or a fault."""
FIRST = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u00ad\ufeff]")
_MARKUP = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d+);|</?[a-z]+>|<\|", re.IGNORECASE)


def measure(text: str) -> list[float]:
    """The values of `MEASURES` of one text as it stands in its source."""
    document = parse(text)
    story = document.story
    found = words(story)
    return [
        float(len(found)),
        len(found) / max(len(sentences(story)), 1),
        len(set(found[:FIRST])) / max(len(found[:FIRST]), 1),
        sum(map(len, found)) / max(len(found), 1),
        float(has_dialogue(story)),
        float(has_moral(story)),
        float(bool(document.blocks)),
        float(repair(text) != text),
        float("\ufffd" in text),
        float(_CONTROL.search(text) is not None),
        float(_MARKUP.search(text) is not None),
        float(not text.isascii()),
        float(is_truncated(text.strip())),
    ]


def parts_of_speech(texts: Sequence[str]) -> Float[np.ndarray, "story part"]:
    """The share of each of `CONTENT` among the words of each text, punctuation left out."""
    rows = []
    for spans in tag_texts([parse(text).story for text in texts]):
        tags = [tag for _, _, tag in spans if tag != "PUNCT"]
        rows.append([tags.count(part) / max(len(tags), 1) for part in CONTENT])
    return np.array(rows).reshape(-1, len(CONTENT))
