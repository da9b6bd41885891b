"""Where a text comes from: the nearest training story, the longest copied span, its skeleton and its plot."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tslens import ngrams, pos, progress
from tslens.batching import several_texts
from tslens.evaluation.copies.nearest import Closest, closest
from tslens.evaluation.copies.neighbours import Neighbours, neighbours
from tslens.ngrams import Index, words

TAGGED = 500  # training stories whose words are tagged
NAMES = ("NOUN", "PROPN")
SELDOM = 0.05  # of its occurrences: a word that is a name or noun less often is kept in a skeleton
BLANK = "_"
NEW = tuple(range(1, 11))
_WITHIN = re.compile(r"""(?:(?<=[\w,;] )|(?<=,["”'’] ))[A-Z][a-z]+(?!\w)""")
"""A capitalised word within a sentence: at the start of neither a sentence nor a quotation."""
_CAPITALISED = re.compile(r"(?<![\w'’])([A-Z][a-z]+)(?:['’][a-z]+)?(?![\w'’])")


@dataclass(frozen=True)
class Corpora:
    """The training stories as the comparisons read them."""

    index: Index
    near: Neighbours
    """The same stories, for the nearest to a text."""
    skeletons: Index
    """The same stories, with a blank for each name and noun."""
    kept: frozenset[str]
    """The words that a skeleton keeps."""

    def skeleton(self, text: str) -> str:
        """The text's words with a blank for each name and noun, and for each word that is not known.

        Names are read from capitals within sentences, so give a whole text with its capitals."""
        return skeleton(text, self.kept)


class Trace(NamedTuple):
    """Where a text comes from. A story is a number in the index, -1 for none."""

    nearest: float
    """The largest ROUGE-2 precision to a training story: the share of the text's word pairs that it has."""
    nearest_f: float
    nearest_story: int
    longest: int
    """Words (and marks) of the longest copied span."""
    longest_story: int
    span: str
    template: int
    """Words and marks of the longest span whose skeleton a training story has."""
    template_story: int
    template_span: str
    """Its words in the text."""
    template_skeleton: str
    """The same with its blanks."""
    plot: float
    """The largest cosine to a training story, of word counts weighted by rarity, whatever their order."""
    plot_story: int
    new: np.ndarray
    """shape (10,): share of n-grams, n = 1 to 10, that no training story has; NaN for a text of fewer words"""


def skeleton(text: str, kept: frozenset[str]) -> str:
    """The text's words with a blank for each that is not kept, and for each name.

    A name is a word that the text capitalises within a sentence; it is one wherever the text capitalises it. So a name
    that is also a common word (Rose, Will) is found, unless it stands only where a sentence or a quotation begins.
    """
    names = set(_WITHIN.findall(text))
    blanked = _CAPITALISED.sub(lambda found: BLANK if found[1] in names else found[0], text)
    return " ".join(word if word in kept else BLANK for word in words(blanked))


def corpora(stories: Iterable[str], folder: str | Path, *, source: str = "") -> Corpora:
    """Index the training stories twice in the folder, as they are and as skeletons; read again if that was done.

    Names and nouns are the words that HanTa's tagger calls so once in twenty times or more in the first 500 stories; a
    word that does not occur there counts as one too, and so does a word that a text capitalises within a sentence.
    `stories` are read several times.
    """
    folder = Path(folder)
    index = ngrams.kept(stories, folder, source=source)
    kept = _kept_words(islice(stories, TAGGED))
    skeletons = ngrams.kept(_Skeletons(stories, kept), folder, source=f"skeletons of {source}")
    return Corpora(index, neighbours(index), skeletons, kept)


@dataclass(frozen=True)
class _Skeletons:
    stories: Iterable[str]
    kept: frozenset[str]

    def __iter__(self) -> Iterator[str]:
        return (skeleton(text, self.kept) for text in self.stories)


def _kept_words(stories: Iterable[str]) -> frozenset[str]:
    """Words and marks that are seldom names or nouns."""
    names, others = Counter[str](), Counter[str]()
    sample = list(several_texts(stories))
    with progress.stage("tagging stories"):
        tagged = pos.tag_texts(sample)
    for text, found in zip(sample, tagged, strict=True):
        for start, end, tag in found:
            (names if tag in NAMES else others).update(words(text[start:end]))
    return frozenset(word for word, count in others.items() if names[word] < SELDOM * (count + names[word]))


def trace(text: str, known: Corpora) -> Trace:
    """Where a text comes from."""
    return trace_all([text], known)[0]


def trace_all(texts: Sequence[str], known: Corpora) -> list[Trace]:
    """Where each text comes from. Every number is the largest of all training stories."""
    near = closest(texts, known.near)
    pairs = progress.track(zip(texts, near, strict=True), "looking for copies", len(texts))
    return [_with_copies(text, known, of) for text, of in pairs]


def _with_copies(text: str, known: Corpora, near: Closest) -> Trace:
    copy, template = known.index.longest_copy(text), known.skeletons.longest_copy(known.skeleton(text))
    return Trace(
        **near._asdict(),
        longest=copy.words,
        longest_story=copy.story,
        span=copy.span,
        template=template.words,
        template_story=template.story,
        template_span=" ".join(words(text)[template.start : template.start + template.words]),
        template_skeleton=template.span,
        new=known.index.new_shares(text, NEW),
    )
