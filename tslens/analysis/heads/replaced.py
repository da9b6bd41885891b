"""Copies of a story in which words are replaced by others of as many tokens, so that every position stays.

A word is replaced by any tokens of the corpus, by any word of it, each drawn by its frequency, or by a word of the same
part of speech, of the same capitals and of about the same frequency. All stand at the same places. Only words keep how
a word is made of its tokens, which a vocabulary of a few hundred tokens shows in half of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens import pos
from tslens.draws import below, draw
from tslens.tokenizer import Tokenizer

SWAPS = ("any tokens", "any word", "same part of speech")
TOKENS, WORD, CLASS = range(3)
NEIGHBOURS = 3  # words of a class on either side in the order of frequency, among which one is drawn
_PLACES, _WORDS = range(2)  # what a draw is for

Counts = tuple[dict[tuple[int, ...], int], list[tuple[int, ...]], np.ndarray]
"""Items in order: where each stands, the items, and the sums of their counts up to each."""

Word = tuple[int, ...]
"""The tokens of a word."""
Class = tuple[str, int, bool]
"""Part of speech, number of tokens, whether the word has a capital."""


@dataclass(frozen=True)
class Place:
    """A word of a story, whose tokens are its own."""

    first: int
    """The position of its first token."""
    word: Word
    kind: Class


@dataclass(frozen=True)
class Text:
    """A story's tokens, cut to the context, and the words among them."""

    tokens: Int[Tensor, " pos"]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Copies:
    """Copies of a story."""

    swapped: Bool[Tensor, "copy pos"]
    """True where a token was replaced."""
    tokens: Int[Tensor, "swap copy pos"]
    """The copies by each kind of swap, at the same places."""


def texts_of(stories: Sequence[str], tokenizer: Tokenizer, context: int) -> list[Text]:
    """The stories as tokens with their words. A word that shares a token with another, or that the context cuts, has
    no place."""
    found = []
    for story, words in zip(stories, pos.tag_stories(stories), strict=True):
        ids, spans = tokenizer.encode([story])[0], tokenizer.offsets(story)
        found.append(Text(torch.tensor(ids[:context]), tuple(_places(story, words, ids, spans, context))))
    return found


def _places(
    story: str, words: Sequence[pos.Tagged], ids: Sequence[int], spans: Sequence[tuple[int, int]], context: int
) -> Iterable[Place]:
    word_at = np.full(len(story), -1)
    for i, (start, end, _) in enumerate(words):
        word_at[start:end] = i
    tokens: dict[int, list[int]] = defaultdict(list)
    shared: set[int] = set()
    for at, (start, end) in enumerate(spans):
        under = {int(i) for i in word_at[start:end] if i >= 0}
        if len(under) > 1:
            shared |= under
        for word in under:
            tokens[word].append(at)
    for i, (start, _, tag) in enumerate(words):
        own = tokens[i]
        if own and i not in shared and own[-1] < context:
            piece = tuple(ids[own[0] : own[-1] + 1])
            yield Place(own[0], piece, (tag, len(piece), story[start].isupper()))


@dataclass(frozen=True)
class Lexicon:
    """The words of a corpus, by which those of a story are replaced."""

    counts: Counter[tuple[Class, Word]]

    @classmethod
    def of(cls, texts: Iterable[Text]) -> "Lexicon":
        return cls(Counter((place.kind, place.word) for text in texts for place in text.places))

    @cached_property
    def ranked(self) -> dict[Class, list[Word]]:
        """The words of each class, the most frequent first."""
        classes: dict[Class, list[Word]] = defaultdict(list)
        for (kind, word), _ in sorted(self.counts.items(), key=lambda item: (-item[1], item[0][1])):
            classes[kind].append(word)
        return dict(classes)

    @cached_property
    def rank(self) -> dict[tuple[Class, Word], int]:
        """The place of each word in its class."""
        return {(kind, word): i for kind, words in self.ranked.items() for i, word in enumerate(words)}

    @cached_property
    def words(self) -> dict[int, Counts]:
        """The words of each number of tokens."""
        totals: dict[int, Counter[Word]] = defaultdict(Counter)
        for (_, word), n in self.counts.items():
            totals[len(word)][word] += n
        return {length: _ordered(total) for length, total in totals.items()}

    @cached_property
    def single_tokens(self) -> Counts:
        """The tokens of words."""
        total: Counter[Word] = Counter()
        for (_, word), n in self.counts.items():
            for token in word:
                total[token,] += n
        return _ordered(total)

    def replaceable(self, place: Place) -> bool:
        """Whether there is another word of the class (so another of its length, and other tokens)."""
        return len(self.ranked[place.kind]) > 1

    def any_tokens(self, place: Place, drawn: Sequence[int]) -> Word:
        """As many tokens, each by frequency and another than the one before, by a 64-bit draw each."""
        return tuple(_other(self.single_tokens, (own,), one)[0] for own, one in zip(place.word, drawn, strict=False))

    def any_word(self, place: Place, drawn: int) -> Word:
        """Another word of as many tokens, by frequency."""
        return _other(self.words[len(place.word)], place.word, drawn)

    def same_class(self, place: Place, drawn: int) -> Word:
        """One of the words of the class next to this one in frequency."""
        words, at = self.ranked[place.kind], self.rank[place.kind, place.word]
        near = [*words[max(0, at - NEIGHBOURS) : at], *words[at + 1 : at + 1 + NEIGHBOURS]]
        return near[_below(len(near), drawn)]


def _ordered(total: Counter[Word]) -> Counts:
    items = sorted(total)
    return {item: i for i, item in enumerate(items)}, items, np.cumsum([total[item] for item in items])


def _other(of: Counts, own: Word, drawn: int) -> Word:
    """An item by its count, another than `own`."""
    place, items, upto = of
    last = int(upto[place[own]])
    count = last - (int(upto[place[own] - 1]) if place[own] else 0)
    at = _below(int(upto[-1]) - count, drawn)
    return items[int(np.searchsorted(upto, at if at < last - count else at + count, side="right"))]


def _below(n: int, drawn: int) -> int:
    """As `below`, of one number: a tensor for each is what takes the time."""
    return ((drawn >> 33) & ((1 << 31) - 1)) * n >> 31


def copies_of(text: Text, lexicon: Lexicon, seed: int, halves: int, wholes: int) -> Copies:
    """Copies of a story: `halves` in which each word is replaced with probability one half, then `wholes` in which
    every word is. The draws depend on the seed (the story's), the copy and the word alone."""
    places = [place for place in text.places if lexicon.replaceable(place)]
    number = torch.arange(halves + wholes)[:, None]
    key = draw(torch.tensor(seed), number, torch.arange(len(places)))
    chosen = below(torch.tensor(2), draw(key, torch.tensor(_PLACES))).bool() | (number >= halves)
    drawn = draw(key, torch.tensor(_WORDS))
    longest = max((len(place.word) for place in places), default=0)
    words, of_tokens = drawn.tolist(), draw(drawn[..., None], torch.arange(longest)).tolist()
    swapped = np.zeros((len(number), len(text.tokens)), dtype=bool)
    tokens = np.tile(text.tokens.numpy(), (len(SWAPS), len(number), 1))
    for copy, which in chosen.nonzero().tolist():
        place, one = places[which], words[copy][which]
        at = slice(place.first, place.first + len(place.word))
        swapped[copy, at] = True
        tokens[TOKENS, copy, at] = lexicon.any_tokens(place, of_tokens[copy][which])
        tokens[WORD, copy, at] = lexicon.any_word(place, one)
        tokens[CLASS, copy, at] = lexicon.same_class(place, one)
    return Copies(torch.from_numpy(swapped), torch.from_numpy(tokens))
