"""Does a neuron's label predict where the neuron fires, on stories and words that it was not made from?

One half of the stories (see `halved`) gives the label, by the rule of `labels`, and a threshold: the neuron's top
decile on random tokens. On tokens of the other half, without the word types that gave the neuron its label, the label
says which tokens excite the neuron. A label of one word is tested on that word in other stories.

Parts of speech differ in frequency, and rarity alone separates nouns from other tokens with an AUROC of about 0.75. So
a part of speech predicts only if it also does among tokens of words that are about as frequent. And a part of speech
may have one frequent word: so at least three words of the sample must be of it and not have given the label, and the
mean AUROC over them, each counted once, must lie above one half.

In the terms of FADE (Puri et al. 2025, arXiv 2502.16994), *responsiveness*, the Gini coefficient of activations on
natural text with the concept against natural text without it, is 2 AUROC - 1, and *purity*, the average precision, is
`purity`. FADE asks a language model which texts have the concept; here a tagger says it of each token. FADE's absolute
value is not taken: a neuron that is silent on its own label does not predict it. `fade` measures
*clarity* and *faithfulness*, and these two where the generator says what each word is.
"""

import dataclasses
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import pos, stats
from tslens.analysis.neurons.finish import QUANTILES
from tslens.analysis.neurons.halved import DECILE, TAG, TOKEN, Halves, HalvesState
from tslens.analysis.neurons.held_out_measures import (
    AUROC,
    ENOUGH,
    GROUPS,
    MEASURES,
    LabelScores,
    area_alike,
    areas,
    measured_each,
)
from tslens.analysis.neurons.held_out_pairs import Sides, sum_by
from tslens.analysis.neurons.held_out_result import ALIKE, LEAST, TESTED, WORDS, HeldOutResult
from tslens.analysis.neurons.held_out_words import area_words
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample
from tslens.pos.types import words
from tslens.progress import track

Places = Int[np.ndarray, " label"]
Rows = Bool[np.ndarray, "label token"]
NEURONS = 256  # that are tested at a time, so that memory stays flat


@dataclasses.dataclass(frozen=True)
class HeldOut(Halves[HeldOutResult]):
    """The reducer for `HeldOutResult`: does each neuron's label predict where it fires on other stories and words?"""

    whole: bool = dataclasses.field(default=True, repr=False)
    """Whether all labels are tested among words of like frequency and over words. Counts need only those of parts of
    speech whose AUROC is high enough; they are the same, so they are kept under the same name, that of the `repr`."""

    def finish(self, state: HalvesState) -> HeldOutResult:
        """The labels of one half, tested on the other; no label where one of the halves has no token."""
        if self.empty(state):
            return nothing(state)
        return judged(*self.halves(state), state.n_tested, state.profiles.seen, self.whole)


held_out = HeldOut.of


def nothing(state: HalvesState) -> HeldOutResult:
    """No label and no test."""
    shape = state.profiles.total.shape
    unknown, none = torch.full(shape, torch.nan), torch.zeros(shape, dtype=torch.int64)
    return HeldOutResult(
        label=none - 1,
        by_word=none.bool(),
        word=none - 1,
        label_tokens=torch.empty(*shape, 0, dtype=torch.int64),
        value=torch.full((*shape, len(TESTED)), torch.nan),
        low=torch.full((*shape, len(TESTED)), torch.nan),
        high=torch.full((*shape, len(TESTED)), torch.nan),
        auroc_same_words=unknown,
        auroc_rarity=unknown,
        q=unknown,
        threshold=unknown,
        tokens=none,
        positives=none,
        positive_words=none,
        tags=list(pos.TAGS),
        pieces=state.profiles.pieces,
        model=state.profiles.model,
        n_labelled=0,
        n_tested=0,
        n_tokens=0,
    )


def judged(
    profiles: ProfilesResult, sample: Sample, n_tested: int, seen: Float[Tensor, " vocabulary"], whole: bool = True
) -> HeldOutResult:
    """The labels of `profiles`, tested on a sample whose `contexts` hold the token and its tag. A word is as frequent
    as its tokens are `seen` in the stories that gave the labels, and drawn from the others. See `HeldOut` for `whole`.
    """
    word_of = words(profiles.pieces).numpy()
    of_sample, tags = word_of[sample.contexts[:, TOKEN].numpy()], sample.contexts[:, TAG].numpy()
    times = np.bincount(of_sample, minlength=len(word_of)) + np.bincount(word_of, seen.numpy(), len(word_of))
    often, group = times[of_sample].astype(np.int64), sample.groups(GROUPS)
    threshold = profiles.quantile_values[:, :, QUANTILES.index(DECILE), profiles.quantile_values.shape[-1] // 2]
    tested, named = _Tests(tuple(profiles.label.shape)), ((profiles.label >= 0) | profiles.by_word).nonzero()
    gave = profiles.label_tokens.numpy()
    for begin in track(range(0, len(named), NEURONS), "testing labels"):
        places = named[begin : begin + NEURONS].T
        at, values = tuple(places.numpy()), sample.values[:, *places].T.contiguous().numpy()
        positive, read = _sides(profiles, at, gave[at], word_of, of_sample, tags)
        found = measured_each(values, positive, read, group, threshold[at].tolist())
        tested.add(at, found, positive, read)
        rows = np.flatnonzero((found.low[:, AUROC] > LEAST) & ~profiles.by_word.numpy()[at] | whole)
        if len(rows):
            at, sides = tuple(axis[rows] for axis in at), Sides.of(values[rows], positive[rows], read[rows])
            tested.add_area(at, ALIKE, area_alike(sides, group, often))
            tested.add_area(at, WORDS, area_words(sides, of_sample, often))
            tested.auroc_same_words[at] = areas(sides.rank / 2, positive[rows])
            tested.auroc_rarity[at] = _of_rarity(sides, often)
            tested.positive_words[at] = (sum_by(of_sample, sides.positive, len(word_of)) > 0).sum(1)
    return HeldOutResult(
        label=profiles.label,
        by_word=profiles.by_word,
        word=profiles.word,
        label_tokens=torch.from_numpy(gave),
        **tested.tensors(),
        threshold=threshold,
        tags=profiles.tags,
        pieces=profiles.pieces,
        model=profiles.model,
        n_labelled=profiles.n_stories,
        n_tested=n_tested,
        n_tokens=len(tags),
    )


class _Tests:
    """What was found of each neuron so far, under the names of `HeldOutResult`; NaN and 0 where nothing was."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.value, self.low, self.high = np.full((3, *shape, len(TESTED)), np.nan)
        self.auroc_same_words, self.auroc_rarity, self.p = np.full((3, *shape), np.nan)
        self.tokens, self.positives, self.positive_words = np.zeros((3, *shape), dtype=np.int64)

    def add(self, at: tuple[Places, ...], found: LabelScores, positive: Rows, read: Rows) -> None:
        """The measures of some neurons' labels, and the numbers of tokens."""
        for name in ("value", "low", "high"):
            getattr(self, name)[*at, : len(MEASURES)] = getattr(found, name)
        self.p[at], self.tokens[at], self.positives[at] = found.p, read.sum(1), (positive & read).sum(1)

    def add_area(self, at: tuple[Places, ...], measure: int, found: stats.Interval) -> None:
        """One more measure of some neurons' labels."""
        self.value[*at, measure], self.low[*at, measure] = found.estimate, found.low
        self.high[*at, measure] = found.high

    def tensors(self) -> dict[str, Any]:
        """All fields, with q for p."""
        found = {name: torch.from_numpy(each) for name, each in vars(self).items() if name != "p"}
        found["q"] = torch.from_numpy(stats.benjamini_hochberg(self.p))
        return {name: each.float() if each.is_floating_point() else each for name, each in found.items()}


def _of_rarity(sides: Sides, often: Int[np.ndarray, " token"]) -> Float[np.ndarray, " label"]:
    """The AUROC of each label where a token counts the more the rarer its word is; NaN where a side has few tokens."""
    levels, level = np.unique(-often, return_inverse=True)
    n, m = (sum_by(level, side, len(levels)) for side in (sides.positive, sides.negative))
    hits, misses = n.sum(1), m.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        area = (n * (m.cumsum(1) - m / 2)).sum(1) / (hits * misses)
    return np.asarray(np.where(np.minimum(hits, misses) < ENOUGH, np.nan, area))


def _sides(
    profiles: ProfilesResult,
    at: tuple[Places, ...],
    gave: Int[np.ndarray, "label label_token"],
    word_of: Int[np.ndarray, " vocabulary"],
    of_sample: Int[np.ndarray, " token"],
    tags: Int[np.ndarray, " token"],
) -> tuple[Rows, Rows]:
    """Which tokens of the sample the labels of some neurons name, and which test them: of a part of speech, none of the
    words that gave it, whose tokens are `gave`."""
    label = profiles.label.numpy()[at][:, None]
    own = np.zeros((len(label), len(word_of)), dtype=bool)
    row, place = np.nonzero((gave >= 0) & (label >= 0))
    own[row, word_of[gave[row, place]]] = True
    words = word_of[profiles.word.numpy()[at]][:, None]
    return np.where(label < 0, of_sample == words, tags == label), ~own[:, of_sample]
