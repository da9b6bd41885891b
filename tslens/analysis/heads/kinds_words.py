"""Words of a story by which a head may choose its keys: relations between words, classes of words, speech, topic.

Tags, sentences and quotations are read from the text. Which character a pronoun stands for is known only where the
generator made the story.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens import pos
from tslens.stories import sentences
from tslens.stories.generator import MadeStory

RELATIONS = (
    "same name",
    "pronoun to its referent",
    "verb to its subject",
    "noun to its determiner or adjective",
    "last punctuation",
    "sentence start",
    "opening quotation mark",
)
"""Relations between a query's word and an earlier word."""
NAME, PRONOUN, SUBJECT, MODIFIER, PUNCTUATION, START, OPENING = range(len(RELATIONS))
_TAGS = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB")
CLASSES = ("article", "quotation mark", *_TAGS)
"""Classes of words. Articles are no DET and quotation marks no PUNCT, so that each word is in one class."""
OTHER = len(CLASSES)
"""The class of the remaining words (numbers, interjections, symbols)."""
CONTENT = frozenset({"NOUN", "VERB", "ADJ"})
TOPIC = 3
"""Times that a content word stands in a story, at least, to be of its topic."""

_ARTICLES, _QUOTES = frozenset({"a", "an", "the"}), frozenset('"“”„«»')
_SUBJECTS = frozenset({"i", "he", "she", "we", "they", "it", "you", "there"})
_BETWEEN = frozenset({"ADV", "AUX"})  # may stand between a verb and its subject
_PERSONS = frozenset("i me my you your he him his himself she her herself they them their themselves".split())

Pair = tuple[int, int, int]
"""A relation, the query's word and the key's word."""


@dataclass(frozen=True)
class StoryWords:
    """The words of a story, and what is said of each."""

    spans: list[tuple[int, int]]
    pairs: list[Pair]
    classes: list[int]
    """The class of each word, as its place in `CLASSES`."""
    topic: list[bool]
    """Whether the word is a content word that is repeated in the story."""
    speech: list[bool]
    """Whether the word stands within quotation marks."""
    natural: bool
    """Whether the marks are those that a text shows; else the truth about pronouns, and nothing else."""


def words_of(text: str, tagged: Sequence[pos.Tagged]) -> StoryWords:
    """The words of a story with every relation that its text shows."""
    said = _stems(text[a:b] for a, b, _ in tagged)
    tags = [tag for *_, tag in tagged]
    starts = np.array([a for a, *_ in tagged], dtype=np.int64)
    quotations = [range(*np.searchsorted(starts, span).tolist()) for span in sentences.quotations(text)]
    content = [tag in CONTENT for tag in tags]
    times = Counter(word for word, counts in zip(said, content, strict=True) if counts)
    return StoryWords(
        spans=[(a, b) for a, b, _ in tagged],
        pairs=[
            *_names(said, tags),
            *_subjects(said, tags),
            *_modifiers(tags),
            *_punctuation(tags),
            *_starts(starts, tags, sentences.spans(text)),
            *((OPENING, word, within[0]) for within in quotations if within for word in within[1:-1]),
        ],
        classes=_classes(said, tags),
        topic=[counts and times[word] >= TOPIC for word, counts in zip(said, content, strict=True)],
        speech=_inside(len(said), quotations),
        natural=True,
    )


def words_of_made(story: MadeStory) -> StoryWords:
    """The words of a generated story with one relation, which the text does not show: from each pronoun of one
    character to the names and nouns before it that stand for this character."""
    said = _stems(story.text[a:b] for a, b, _ in story.tags)
    tags = [tag for *_, tag in story.tags]
    owners = Counter(start for start, *_ in story.pronouns)
    word_at = {start: i for i, (start, *_) in enumerate(story.tags)}
    pairs = []
    for start, _, who in story.pronouns:
        character = story.characters[who]
        names = set(character.name.lower().split())
        for i in range(word_at[start] if owners[start] == 1 else 0):
            if (tags[i] == "PROPN" and said[i] in names) or (tags[i] == "NOUN" and said[i] == character.kind):
                pairs.append((PRONOUN, word_at[start], i))
    classes = _classes(said, tags)
    spans, nothing = [(a, b) for a, b, _ in story.tags], [False] * len(said)
    return StoryWords(spans, pairs, classes, topic=nothing, speech=nothing, natural=False)


def _stems(words: Iterable[str]) -> list[str]:
    """Words in small letters, without a clitic: Tom's is tom, she's is she."""
    return [word.lower().replace("’", "'").split("'")[0] or word for word in words]


def personal(text: str, tagged: Sequence[pos.Tagged]) -> list[bool]:
    """Whether each word is a pronoun that may stand for a character."""
    return [word in _PERSONS for word in _stems(text[a:b] for a, b, _ in tagged)]


def _classes(words: Sequence[str], tags: Sequence[str]) -> list[int]:
    """The class of each word."""
    named = [
        "article" if tag == "DET" and word in _ARTICLES else "quotation mark" if word in _QUOTES else tag
        for word, tag in zip(words, tags, strict=True)
    ]
    return [CLASSES.index(name) if name in CLASSES else OTHER for name in named]


def _inside(n: int, quotations: Sequence[range]) -> list[bool]:
    inside = [False] * n
    for within in quotations:
        for word in within[1:-1]:
            inside[word] = True
    return inside


def _names(said: Sequence[str], tags: Sequence[str]) -> Iterator[Pair]:
    """From a name to its earlier mentions."""
    for i, name in enumerate(said):
        if tags[i] == "PROPN":
            yield from ((NAME, i, j) for j in range(i) if tags[j] == "PROPN" and said[j] == name)


def _subjects(said: Sequence[str], tags: Sequence[str]) -> Iterator[Pair]:
    """From a verb to the noun, name or pronoun right before it, with at most adverbs, auxiliaries and *not* between."""
    for i, tag in enumerate(tags):
        j = i - 1
        while tag in ("VERB", "AUX") and j >= 0 and (tags[j] in _BETWEEN or said[j] == "not"):
            j -= 1
        nominal = tags[j] in ("NOUN", "PROPN") or (tags[j] == "PRON" and said[j] in _SUBJECTS)
        if tag in ("VERB", "AUX") and j >= 0 and nominal:
            yield SUBJECT, i, j


def _modifiers(tags: Sequence[str]) -> Iterator[Pair]:
    """From a noun to the determiners, numbers and adjectives right before it."""
    for i, tag in enumerate(tags):
        j = i - 1
        while tag == "NOUN" and j >= 0 and tags[j] in ("DET", "ADJ", "NUM"):
            yield MODIFIER, i, j
            j -= 1


def _punctuation(tags: Sequence[str]) -> Iterator[Pair]:
    """From every word to the last mark before it."""
    last = -1
    for i, tag in enumerate(tags):
        if last >= 0:
            yield PUNCTUATION, i, last
        if tag == "PUNCT":
            last = i


def _starts(starts: np.ndarray, tags: Sequence[str], spans: Sequence[tuple[int, int]]) -> Iterator[Pair]:
    """From every word to the first one of its sentence."""
    for span in spans:
        words = range(*np.searchsorted(starts, span).tolist())
        first = next((i for i in words if tags[i] != "PUNCT"), None)
        if first is not None:
            yield from ((START, i, first) for i in words if i > first)


@dataclass(frozen=True)
class TokenMarks:
    """What the words of a story say of its tokens. A token belongs to the first word that it covers."""

    relations: Bool[Tensor, "relation query key"]
    classes: Int[Tensor, " key"]
    """The class of the token's word; -1 where it covers none."""
    topic: Bool[Tensor, " key"]
    speech: Bool[Tensor, " key"]
    word: Int[Tensor, " key"]
    """The number of the token's word; -1 where it covers none."""
    piece: Int[Tensor, " key"]
    """The tokens of the same word before it."""
    natural: bool
    """As in `StoryWords`."""


def marks_of(words: StoryWords, offsets: Sequence[tuple[int, int]]) -> TokenMarks:
    """The marks of tokens at these characters of the story."""
    word = torch.from_numpy(pos.words_under(words.spans, offsets))
    n = len(words.spans)
    related = torch.zeros(len(RELATIONS), n + 1, n + 1, dtype=torch.bool)  # the last is no word
    if words.pairs:
        related[tuple(torch.tensor(words.pairs).unbind(1))] = True

    def of_word(values: Sequence[int], missing: int) -> Tensor:
        return torch.tensor([*values, missing])[word]

    at = torch.arange(len(word))
    first = torch.where(word.diff(prepend=word[:1]) != 0, at, 0).cummax(0)[0]  # token of the same word
    return TokenMarks(
        related[:, word[:, None], word],
        of_word(words.classes, -1).long(),
        of_word(words.topic, False).bool(),
        of_word(words.speech, False).bool(),
        word,
        at - first,
        words.natural,
    )
