"""Where a text comes from: the nearest training story, the longest copied span, its skeleton and its plot."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tslens import ngrams, pos, progress
from tslens.evaluation.rouge import rouge_2
from tslens.ngrams import Index, words

CANDIDATES = 50  # stories that share most n-grams, on which ROUGE and plot are exact
TAGGED = 500  # training stories whose words are tagged
NAMES = ("NOUN", "PROPN")
BLANK = "_"
NEW = tuple(range(1, 11))
_WITHIN = re.compile(r"""(?:(?<=[\w,;] )|(?<=,["”'’] ))[A-Z][a-z]+(?!\w)""")
"""A capitalised word within a sentence: at the start of neither a sentence nor a quotation."""
_CAPITALISED = re.compile(r"(?<![\w'’])([A-Z][a-z]+)(?:['’][a-z]+)?(?![\w'’])")


@dataclass(frozen=True)
class Corpora:
    """The training stories as the comparisons read them."""

    index: Index
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

    Names and nouns are the words that HanTa's tagger calls so most often in the first 500 stories; a word that does not
    occur there counts as one too, and so does a word that a text capitalises within a sentence. `stories` are read
    several times.
    """
    folder = Path(folder)
    index = ngrams.kept(stories, folder, source=source)
    kept = _kept_words(islice(stories, TAGGED))
    return Corpora(index, ngrams.kept(_Skeletons(stories, kept), folder, source=f"skeletons of {source}"), kept)


@dataclass(frozen=True)
class _Skeletons:
    stories: Iterable[str]
    kept: frozenset[str]

    def __iter__(self) -> Iterator[str]:
        return (skeleton(text, self.kept) for text in self.stories)


def _kept_words(stories: Iterable[str]) -> frozenset[str]:
    """Words and marks that are not names or nouns most often."""
    names, others = Counter[str](), Counter[str]()
    sample = list(stories)
    with progress.stage("tagging stories"):
        tagged = pos.tag_texts(sample)
    for text, found in zip(sample, tagged, strict=True):
        for start, end, tag in found:
            (names if tag in NAMES else others).update(words(text[start:end]))
    return frozenset(word for word, count in others.items() if count > names[word])


def trace(text: str, known: Corpora) -> Trace:
    """Where a text comes from.

    ROUGE-2 and the plot are exact on the 50 stories that share most rare n-grams with the text, which need not hold the
    largest of all. The longest spans and the new n-grams are exact.
    """
    index = known.index
    copy, template = index.longest_copy(text), known.skeletons.longest_copy(known.skeleton(text))
    near = [story for story, _ in index.nearest(text, CANDIDATES)]
    scores = [rouge_2(index.story(story), text) for story in near]
    best = max(range(len(near)), key=lambda i: scores[i].precision, default=None)
    plot, plot_story = _plot(text, index, near)
    found = words(text)
    return Trace(
        0.0 if best is None else scores[best].precision,
        max((score.f for score in scores), default=0.0),
        -1 if best is None else near[best],
        copy.words,
        copy.story,
        copy.span,
        template.words,
        template.story,
        " ".join(found[template.start : template.start + template.words]),
        template.span,
        plot,
        plot_story,
        index.new_shares(text, NEW),
    )


def _plot(text: str, index: Index, near: Sequence[int]) -> tuple[float, int]:
    """The largest cosine of weighted word counts to the stories that share most n-grams or most rare words."""
    own = _weighted(text, index)
    by_words = [story for story, _ in index.nearest(text, CANDIDATES, orders=(1,))]
    cosines = {story: _cosine(own, _weighted(index.story(story), index)) for story in [*near, *by_words]}
    story = max(cosines, key=lambda found: cosines[found], default=-1)
    return cosines.get(story, 0.0), story


def _weighted(text: str, index: Index) -> dict[str, float]:
    """Counts of the text's words, each weighted by the logarithm of its rarity; marks and unknown words are none."""
    total = index.record.words
    return {
        word: count * math.log(total / index.vocabulary[word])
        for word, count in Counter(words(text)).items()
        if word[0].isalpha() and word in index.vocabulary
    }


def _cosine(a: dict[str, float], b: dict[str, float]) -> float:
    size = math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))
    return sum(weight * b.get(word, 0.0) for word, weight in a.items()) / size if size else 0.0
