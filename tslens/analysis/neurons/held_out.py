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

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import pos, stats
from tslens.analysis.neurons.finish import QUANTILES
from tslens.analysis.neurons.halved import DECILE, TAG, TOKEN, Halves, HalvesState
from tslens.analysis.neurons.held_out_measures import GROUPS, LabelScores, area, area_alike, measured
from tslens.analysis.neurons.held_out_result import TESTED, HeldOutResult
from tslens.analysis.neurons.held_out_words import area_words
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample
from tslens.pos.types import words
from tslens.progress import track

NEURONS = 256  # whose activations are brought together at a time: one by one, each is far from the next in memory


@dataclasses.dataclass(frozen=True)
class HeldOut(Halves[HeldOutResult]):
    """The reducer for `HeldOutResult`: does each neuron's label predict where it fires on other stories and words?"""

    def finish(self, state: HalvesState) -> HeldOutResult:
        """The labels of one half, tested on the other; no label where one of the halves has no token."""
        return nothing(state) if self.empty(state) else judged(*self.halves(state), state.n_tested, state.profiles.seen)


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
    profiles: ProfilesResult, sample: Sample, n_tested: int, seen: Float[Tensor, " vocabulary"]
) -> HeldOutResult:
    """The labels of `profiles`, tested on a sample whose `contexts` hold the token and its tag. A word is as frequent
    as its tokens are `seen` in the stories that gave the labels, and drawn from the others."""
    word_of = words(profiles.pieces).numpy()
    of_sample, tags = word_of[sample.contexts[:, TOKEN].numpy()], sample.contexts[:, TAG].numpy()
    group = sample.groups(GROUPS)
    threshold = profiles.quantile_values[:, :, QUANTILES.index(DECILE), profiles.quantile_values.shape[-1] // 2]
    shape = profiles.label.shape
    value, low, high = (torch.full((*shape, len(TESTED)), torch.nan) for _ in range(3))
    same_words, rarity, p = (torch.full(shape, torch.nan, dtype=torch.float64) for _ in range(3))
    times = np.bincount(of_sample, minlength=len(word_of)) + np.bincount(word_of, seen.numpy(), len(word_of))
    often = times[of_sample].astype(np.int64)
    tokens, positives, different = (torch.zeros(shape, dtype=torch.int64) for _ in range(3))
    named, gave = ((profiles.label >= 0) | profiles.by_word).nonzero(), profiles.label_tokens
    block = np.empty((0, 0), dtype=np.float32)
    for i, at in enumerate(track([tuple(place) for place in named.tolist()], "testing labels")):
        if i % NEURONS == 0:
            block = sample.values[:, *named[i : i + NEURONS].T].T.contiguous().numpy()
        positive, kept = _sides(profiles, at, gave[at], word_of, of_sample, tags)
        values, edge = block[i % NEURONS], float(threshold[at])
        found = _tested(values, positive, group, edge, of_sample, often, kept)
        value[at], low[at], high[at] = (torch.from_numpy(end) for end in (found.value, found.low, found.high))
        same_words[at], rarity[at] = area(values, positive), area(-often[kept].astype(float), positive[kept])
        p[at], tokens[at], positives[at] = found.p, int(kept.sum()), int((positive & kept).sum())
        different[at] = len(np.unique(of_sample[positive & kept]))
    return HeldOutResult(
        label=profiles.label,
        by_word=profiles.by_word,
        word=profiles.word,
        label_tokens=gave,
        value=value,
        low=low,
        high=high,
        auroc_same_words=same_words.float(),
        auroc_rarity=rarity.float(),
        q=torch.from_numpy(stats.benjamini_hochberg(p.numpy())).float(),
        threshold=threshold,
        tokens=tokens,
        positives=positives,
        positive_words=different,
        tags=profiles.tags,
        pieces=profiles.pieces,
        model=profiles.model,
        n_labelled=profiles.n_stories,
        n_tested=n_tested,
        n_tokens=len(tags),
    )


def _tested(
    values: Float[np.ndarray, " token"],
    positive: Bool[np.ndarray, " token"],
    group: Int[np.ndarray, " token"],
    threshold: float,
    word: Int[np.ndarray, " token"],
    often: Int[np.ndarray, " token"],
    kept: Bool[np.ndarray, " token"],
) -> LabelScores:
    """The measures of one label on the tokens that test it, in the order of `TESTED`."""
    values, positive, group, word, often = (of[kept] for of in (values, positive, group, word, often))
    found = measured(values, positive, group, threshold)
    more = area_alike(values, positive, group, often), area_words(values, positive, word, often)
    return LabelScores(
        np.append(found.value, [one.estimate for one in more]),
        np.append(found.low, [one.low for one in more]),
        np.append(found.high, [one.high for one in more]),
        found.p,
    )


def _sides(
    profiles: ProfilesResult,
    at: tuple[int, ...],
    gave: Int[Tensor, " label_token"],
    word_of: Int[np.ndarray, " vocabulary"],
    of_sample: Int[np.ndarray, " token"],
    tags: Int[np.ndarray, " token"],
) -> tuple[Bool[np.ndarray, " token"], Bool[np.ndarray, " token"]]:
    """Which tokens of the sample a neuron's label names, and which test it: of a part of speech, none of the words that
    gave it, whose tokens are `gave`."""
    label = int(profiles.label[at])
    if label < 0:
        return of_sample == word_of[int(profiles.word[at])], np.ones(len(tags), dtype=bool)
    own = np.zeros(len(word_of), dtype=bool)
    own[word_of[gave[gave >= 0].numpy()]] = True
    return tags == label, ~own[of_sample]
