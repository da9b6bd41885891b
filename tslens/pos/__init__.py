"""Parts of speech: the universal tag of each word, and the word of each token.

`words` splits a text, `trigrams` finds the likeliest BNC tags by HanTa's model, `universal` turns them into the tags of
Universal Dependencies.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray

from tslens.pos.trigrams import trigrams
from tslens.pos.universal import names_of, universal_tags
from tslens.pos.words import split
from tslens.stats import Interval, bootstrap

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"),
    *("SCONJ", "SYM", "VERB", "X"),
)
NO_WORD = "X"  # of BOS, a line break, and whatever is under no word

Tagged = tuple[int, int, str]
"""A word: start, end (exclusive) and universal tag."""


CHARACTERS = 500_000
_stories: dict[str, tuple[Tagged, ...]] = {}
"""The words of the last stories, of at most `CHARACTERS` together (about 20 MB)."""


@runtime_checkable
class _Story(Protocol):
    """A story with the true tags of its words, as from the generator."""

    @property
    def text(self) -> str: ...
    @property
    def tags(self) -> Sequence[Tagged]: ...


def tag_words(text: str) -> list[Tagged]:
    """The words and marks of a text with their universal tags, in order.

    A contraction is one word with the tag of its first part (didn't AUX, I'm PRON), a possessive 's belongs to its
    noun. As in Universal Dependencies for English: my and her are PRON, copulas AUX, `to` before a verb and `not`
    PART, there in "there was" PRON.
    """
    return tag_texts([text])[0]


def tag_tokens(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[list[str], list[bool]]:
    """For each token (its characters in `text`): the tag of its word, and whether it starts that word.

    A token with white space before its word belongs to the word; one that covers several words, to the first. A token
    that covers no word, such as BOS at (0, 0), has the tag X and starts none.
    """
    return align(tag_words(text), offsets)


def align(words: Sequence[Tagged], offsets: Sequence[tuple[int, int]]) -> tuple[list[str], list[bool]]:
    """As `tag_tokens`, for words that are tagged already."""
    under = words_under([(start, end) for start, end, _ in words], offsets).tolist()
    tags = [words[word][2] if word >= 0 else NO_WORD for word in under]
    starts = [word >= 0 and words[word][0] >= start for word, (start, _) in zip(under, offsets, strict=True)]
    return tags, starts


def words_under(words: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]]) -> Int[np.ndarray, " token"]:
    """The first of these words, which follow one another, under each token; -1 where there is none."""
    begin, end = np.array(words, dtype=np.int64).reshape(-1, 2).T
    start, stop = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    word = end.searchsorted(start, side="right")
    covered = np.append(begin, np.iinfo(np.int64).max)[word] < stop
    return np.where(covered & (start < stop), word, -1)


def accuracy(stories: Iterable[_Story], level: float = 0.95) -> Interval:
    """The share of words (no punctuation) that get their true tag, with a bootstrap interval over stories.

    A word with other boundaries than in the truth counts as wrong. InputError for fewer than two stories.
    """
    counts = []
    for story in stories:
        found = {(start, end): tag for start, end, tag in tag_words(story.text)}
        truth = [word for word in story.tags if word[2] != "PUNCT"]
        counts.append((sum(found.get((start, end)) == tag for start, end, tag in truth), len(truth)))

    def share(rows: NDArray[Any], axis: int = 0) -> Any:
        right, words = rows.sum(axis)
        return right / words

    return bootstrap(np.array(counts), share, level=level)


def tag_stories(texts: Sequence[str]) -> list[tuple[Tagged, ...]]:
    """`tag_texts` of stories that are read several times: by several reducers, and by every untrained twin."""
    known = {text: words for text in texts if (words := _stories.get(text)) is not None}
    new = [text for text in dict.fromkeys(texts) if text not in known]
    found: dict[str, tuple[Tagged, ...]] = {text: tuple(words) for text, words in zip(new, tag_texts(new), strict=True)}
    if sum(map(len, chain(_stories, found))) > CHARACTERS:
        _stories.clear()
    if sum(map(len, found)) <= CHARACTERS:
        _stories.update(found)
    known |= found
    return [known[text] for text in texts]


def tag_texts(texts: Sequence[str]) -> list[list[Tagged]]:
    """`tag_words` of many texts at once, which is faster."""
    parts = [split(text) for text in texts]
    sentences = [s for _, some in parts for s in some if s]
    tags = iter(trigrams().tags(sentences))
    result = []
    for spans, some in parts:
        names = names_of(some)
        words: list[Tagged] = []
        for sentence in some:
            if not sentence:
                continue
            universal = universal_tags(sentence, next(tags), names)
            words += [(*spans[u.word], t) for u, t in zip(sentence, universal, strict=True) if u.word >= 0]
        result.append(words)
    return result
