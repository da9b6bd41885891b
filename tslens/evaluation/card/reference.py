"""What is usual in reference stories, and the measures of a text beside it."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from tslens import progress
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.evaluation.card.forms import loss_by_forms
from tslens.ngrams import KneserNey, five_gram
from tslens.ngrams.words import sentences_of

MEASURES = {
    "forms": "grammar",
    "order": "consistency",
    "introduced": "consistency",
    "carried": "consistency",
    "closed": "plot",
    "has an end": "plot",
    "varied": "creativity",
    "novel": "creativity",
}
"""The axis of each measure."""
AXES = ("grammar", "consistency", "plot", "creativity")
NOT_MEASURED = {
    "grammar": "what five words do not tell: agreement across a phrase, a sentence without a verb.",
    "consistency": "sense: whether what happens can happen, or contradicts what was said.",
    "plot": "whether anything is at stake, or the end follows from the beginning; what a limit cut off has no end.",
    "creativity": "ideas: only whether words and their combinations vary and are new, as those of mixed stories are.",
}
"""What the texts' measures of each axis do not see."""
CALIBRATION, AT_LEAST, AT_MOST = 10, 50, 200
"""One in so many reference stories is not counted, and says what is usual; more of few stories, fewer of many."""
FEWEST = 60
"""Reference stories needed."""
READABLE = 2.0
"""Percent of the sentences of reference stories that are no more usual than a sentence that is not readable."""
ALIKE = 6.0  # standard deviations from the mean beyond which a measure is as bad as can be
OWN_LIMITS = {"introduced": 1.0}  # a few nouns decide it, and an error in one article is no want of consistency
LIMITS = np.array([OWN_LIMITS.get(name, ALIKE) for name in MEASURES])
"""How far each measure counts."""
LEAST_SPREAD = 0.02  # of a measure that hardly varies
SMOOTHING = 2.0  # stories that a word's place is drawn to the middle by
CONTENT = re.compile(r"[a-z]{4,}")
_ARTICLES = frozenset(("a", "an"))
_DEFINITE = frozenset("the his her its their this that".split())


@dataclass(frozen=True, eq=False)
class Usual:
    """The mean of each measure over stories, and its spread; NaN where no story gives occasion for it."""

    mean: Float[np.ndarray, " measure"]
    spread: Float[np.ndarray, " measure"]

    @classmethod
    def of(cls, measures: Float[np.ndarray, "story measure"]) -> "Usual":
        there = ~np.isnan(measures)
        n, values = there.sum(0), np.where(there, measures, 0.0)
        mean = values.sum(0) / np.where(n, n, np.nan)
        squares = (np.where(there, measures - mean, 0.0) ** 2).sum(0)
        return cls(mean, np.maximum(np.sqrt(squares / np.maximum(n - 1, 1)), LEAST_SPREAD))

    def standard(self, measures: Float[np.ndarray, "text measure"]) -> Float[np.ndarray, "text measure"]:
        """The measures of texts in standard deviations from the mean, at most `LIMITS` either way."""
        clipped: np.ndarray = np.clip((measures - self.mean) / self.spread, -LIMITS, LIMITS)
        return clipped


@dataclass(frozen=True, eq=False)
class Reference:
    """Counts of reference stories; `reference` makes it."""

    name: str
    five_gram: KneserNey
    places: dict[str, float]
    """Where in a story a word stands on the average, from 0 (first sentence) to 1 (last)."""
    four_grams: frozenset[str]
    readable: float
    """The least log-probability per word of a readable sentence, in nats."""
    stories: int
    """Their number."""
    calibration: Float[np.ndarray, "story measure"]
    """The measures of the stories that were not counted; their mean and spread are what is usual."""

    @cached_property
    def usual(self) -> "Usual":
        return Usual.of(self.calibration)

    def measures(self, text: str) -> Float[np.ndarray, " measure"]:
        """Every measure of `MEASURES`, larger is better; NaN where a text gives no occasion for it."""
        sentences = sentences_of(text)
        lost, words = loss_by_forms(text, self.five_gram)
        places = np.array([self._place(sentence) for sentence in sentences])
        varied, novel = self._variety(sentences)
        found = {
            "forms": -lost / words if words else np.nan,
            "order": _correlation(places),
            "introduced": _introduced(sentences),
            "carried": _carried(sentences),
            "closed": float(bool(re.search(r"[.!?…][\"”’')\]]*\s*\Z", text))),
            "has an end": float(places.max()) if len(places) else 0.0,
            "varied": varied,
            "novel": novel,
        }
        return np.array([found[name] for name in MEASURES])

    def standard(self, text: str) -> Float[np.ndarray, " measure"]:
        """Every measure in standard deviations from the reference's mean, at most `LIMITS` either way; NaN where the
        text, or every reference story, gives no occasion for it."""
        standard: np.ndarray = self.usual.standard(self.measures(text)[None])[0]
        return standard

    def error(self, measures: Float[np.ndarray, "text measure"]) -> Float[np.ndarray, " axis"]:
        """How far the mean of each axis over these texts is uncertain because so few stories calibrate it: its standard
        error, by the jackknife over these stories; NaN where no text has the axis."""
        n = len(self.calibration)
        without = [Usual.of(np.delete(self.calibration, i, axis=0)).standard(measures) for i in range(n)]
        means = np.array([[_mean(by_axis(each, axis)) for axis in AXES] for each in without])
        error: np.ndarray = np.sqrt((n - 1) / n * ((means - means.mean(0)) ** 2).sum(0))
        return error

    def axes(self, text: str) -> list[float]:
        """The value of each of `AXES` (see `by_axis`)."""
        return [float(by_axis(self.standard(text)[None], axis)[0]) for axis in AXES]

    def _place(self, sentence: Sequence[str]) -> float:
        return float(np.mean([self.places.get(word, 0.5) for word in sentence])) if sentence else 0.5

    def _variety(self, sentences: Sequence[Sequence[str]]) -> tuple[float, float]:
        """Of all pairs of words the share that are different, and of all four words the share that no reference story
        has; those of a sentence that is not readable are neither."""
        pairs, fours, new = Counter[tuple[str, ...]](), 0, 0
        total = sum(max(0, len(sentence) - 1) for sentence in sentences)
        for sentence in sentences:
            grams = [" ".join(sentence[i : i + 4]) for i in range(len(sentence) - 3)]
            fours += len(grams)
            if _per_word(self.five_gram, sentence) >= self.readable:
                pairs.update(itertools.pairwise(sentence))
                new += sum(gram not in self.four_grams for gram in grams)
        return len(pairs) / total if total else 0.0, new / fours if fours else 0.0


def reference(stories: Iterable[str], name: str = "") -> Reference:
    """What is usual in these stories. InputError for fewer than 60.

    Every tenth story calibrates: the mean and the spread of every measure are those of stories that were not counted.
    Of fewer than 500 stories more do, up to every fourth, so that mostly 50 calibrate, of 60 stories 15; 200 at most.
    """
    texts = list(several_texts(stories))
    if len(texts) < FEWEST:
        raise InputError(f"{len(texts)} reference stories say too little of what is usual; give {FEWEST} or more.")
    each = min(CALIBRATION, max(4, len(texts) // AT_LEAST))
    counted, held = [text for i, text in enumerate(texts) if i % each], texts[::each][:AT_MOST]
    model = five_gram(counted)
    split = [sentences_of(text) for text in counted]
    four_grams = frozenset(" ".join(s[i : i + 4]) for story in split for s in story for i in range(len(s) - 3))
    usual = [_per_word(model, sentence) for text in held for sentence in sentences_of(text) if sentence]
    readable = float(np.percentile(usual, READABLE))
    made = Reference(name, model, _places(split), four_grams, readable, len(texts), np.empty((0, len(MEASURES))))
    return replace(made, calibration=np.array([made.measures(text) for text in progress.track(held, "calibrating")]))


def columns_of(axis: str) -> list[int]:
    """The places of an axis' measures among `MEASURES`."""
    return [i for i, own in enumerate(MEASURES.values()) if own == axis]


def by_axis(standard: Float[np.ndarray, "text measure"], axis: str) -> Float[np.ndarray, " text"]:
    """The value of an axis for each text: the mean of its measures without those that have no occasion; NaN where none
    of them has any."""
    own = standard[:, columns_of(axis)]
    there = (~np.isnan(own)).sum(1)
    return np.asarray(np.nansum(own, axis=1) / np.where(there, there, np.nan))


def _mean(values: Float[np.ndarray, " text"]) -> float:
    """The mean of the values that are there; NaN if none is."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else np.nan


def _per_word(model: KneserNey, sentence: Sequence[str]) -> float:
    return float(model.word_log_probabilities(sentence).mean())


def _places(stories: Iterable[Sequence[Sequence[str]]]) -> dict[str, float]:
    """The mean place of each word in its stories, from 0 to 1, drawn towards the middle where there are few."""
    total, count = Counter[str](), Counter[str]()
    for story in stories:
        for i, sentence in enumerate(story):
            for word in set(sentence):
                total[word] += i / max(1, len(story) - 1)  # type: ignore[assignment]
                count[word] += 1
    return {word: (total[word] + 0.5 * SMOOTHING) / (n + SMOOTHING) for word, n in count.items()}


def _correlation(places: Float[np.ndarray, " sentence"]) -> float:
    """Of the sentences' usual places with their own order; NaN for fewer than three sentences."""
    if len(places) < 3 or places.std() == 0:
        return float("nan")
    return float(np.corrcoef(places, np.arange(len(places)))[0, 1])


def _determined(sentences: Iterable[Sequence[str]]) -> Iterator[tuple[str, bool]]:
    """Every noun behind a determiner, at most two words on, and whether the determiner is indefinite."""
    for sentence in sentences:
        for place, word in enumerate(sentence):
            if word in _ARTICLES or word in _DEFINITE:
                for other in filter(str.isalpha, sentence[place + 1 : place + 3]):
                    yield other, word in _ARTICLES


def _introduced(sentences: Sequence[Sequence[str]]) -> float:
    """Of the words that stand behind `a` and behind `the`, the share that stand behind `a` first."""
    first: dict[str, bool] = {}
    kinds: dict[str, set[bool]] = {}
    for word, indefinite in _determined(sentences):
        first.setdefault(word, indefinite)
        kinds.setdefault(word, set()).add(indefinite)
    both = [first[word] for word, found in kinds.items() if len(found) == 2]
    return float(np.mean(both)) if both else float("nan")


def _carried(sentences: Sequence[Sequence[str]]) -> float:
    """Of the content words of the second half, the share that the first half has; NaN for a text without halves."""
    half = len(sentences) // 2
    before = {word for sentence in sentences[:half] for word in sentence}
    after = [word for sentence in sentences[half:] for word in sentence if CONTENT.fullmatch(word)]
    return float(np.mean([word in before for word in after])) if before and after else float("nan")
