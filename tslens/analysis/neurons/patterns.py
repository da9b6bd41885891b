"""Which few words excite a neuron, or what after which words? (patterns found by themselves, tested on other stories)

One half of the stories gives each neuron's top tokens. If two to eight words make up nearly all of them, they are its
*word set* ("violets, lilies, tulips"); if half of them follow the same one to three words, these are its *words before*
("after: smelled of"). Both are tested as labels are (`held_out`): by how well the activation tells tokens with the
pattern from others in the other half of the stories. Words before are also tested without the words of the neuron's own
top list, which says whether any word after them will do. There is one false discovery rate for all patterns of all
neurons. What untrained twins earn stands beside the counts (`tslens.twins`).

A set is proposed from the top tokens alone, so it is missed where one word excites the neuron a little more than the
others and is frequent enough to fill the list: the more stories, the more often. `tslens audit` says how many of the
planted sets are found.
"""

import dataclasses

import numpy as np
import torch
from jaxtyping import Bool, Int

from tslens import stats
from tslens.analysis.neurons.finish import QUANTILES
from tslens.analysis.neurons.halved import BEFORE, DECILE, NEAR, TOKEN, Halves, HalvesState
from tslens.analysis.neurons.held_out_measures import AUROC, GROUPS, MEASURES, measured
from tslens.analysis.neurons.patterns_result import KINDS, PatternsResult
from tslens.analysis.neurons.proposals import WORDS, Pattern, word_set, words_before
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample
from tslens.pos.types import words
from tslens.progress import track


@dataclasses.dataclass(frozen=True)
class Patterns(Halves[PatternsResult]):
    """The reducer for `PatternsResult`: which word set, and which words before, excite each neuron?"""

    def finish(self, state: HalvesState) -> PatternsResult:
        """The patterns of one half, tested on the other; InputError where one of the halves has no token."""
        return _tested(*self.halves(state), state.n_tested)


patterns = Patterns.of


def _tested(profiles: ProfilesResult, sample: Sample, n_tested: int) -> PatternsResult:
    word_of = np.append(words(profiles.pieces).numpy(), -1)  # token -1 is no word
    read = word_of[sample.contexts[:, [TOKEN, *range(BEFORE, BEFORE + NEAR)]].numpy()]
    group = sample.groups(GROUPS)
    edges = profiles.quantile_values[:, :, QUANTILES.index(DECILE), profiles.quantile_values.shape[-1] // 2].numpy()
    shape = profiles.label.shape
    found = {kind: np.full((*shape, size), -1) for kind, size in zip(KINDS, (WORDS, NEAR), strict=True)}
    share, base = np.full((2, len(KINDS), *shape), np.nan)
    value, low, high = np.full((3, len(KINDS), *shape, len(MEASURES)), np.nan)
    p, positives = np.full((len(KINDS), *shape), np.nan), np.zeros((len(KINDS), *shape), dtype=np.int64)
    other, other_low = np.full((2, *shape), np.nan)
    tops = word_of[profiles.top_contexts.numpy()]
    for at in track([tuple(place) for place in np.ndindex(*shape)], "testing patterns"):
        values = sample.values[:, at[0], at[1]].numpy()
        proposed = (word_set(tops[at]), words_before(tops[at], NEAR))
        for i, (kind, pattern) in enumerate(zip(KINDS, proposed, strict=True)):
            if not pattern.words:
                continue
            has = _has(read, pattern, kind)
            scores = measured(values, has, group, float(edges[at]))
            ids = profiles.top_contexts[at].numpy()
            found[kind][at][: len(pattern.words)] = [_commonest(ids[tops[at] == word]) for word in pattern.words]
            share[i][at], base[i][at], positives[i][at], p[i][at] = pattern.share, has.mean(), has.sum(), scores.p
            value[i][at], low[i][at], high[i][at] = scores.value, scores.low, scores.high
            if kind == "words before":
                new = ~np.isin(read[:, 0], tops[at][:, tops.shape[-1] // 2])
                elsewhere = measured(values[new], has[new], group[new], float(edges[at]))
                other[at], other_low[at] = elsewhere.value[AUROC], elsewhere.low[AUROC]
    numbers = (share, base, value, low, high, stats.benjamini_hochberg(p), other, other_low)
    share, base, value, low, high, q, other, other_low = (torch.from_numpy(x).float() for x in numbers)
    return PatternsResult(
        words=torch.from_numpy(found["word set"]),
        before=torch.from_numpy(found["words before"]),
        share=share,
        base_rate=base,
        value=value,
        low=low,
        high=high,
        q=q,
        auroc_other_words=other,
        auroc_other_words_low=other_low,
        positives=torch.from_numpy(positives),
        pieces=profiles.pieces,
        model=profiles.model,
        n_labelled=profiles.n_stories,
        n_tested=n_tested,
        n_tokens=len(read),
    )


def _commonest(tokens: Int[np.ndarray, " token"]) -> int:
    """The token that is there most often: how the neuron meets a word."""
    return int(np.bincount(tokens).argmax())


def _has(read: Int[np.ndarray, "token word"], pattern: Pattern, kind: str) -> Bool[np.ndarray, " token"]:
    """Which tokens (the word, then the words before, the nearest first) have the pattern."""
    if kind == "word set":
        return np.isin(read[:, 0], pattern.words)
    return np.asarray((read[:, 1 : 1 + len(pattern.words)] == np.array(pattern.words)).all(1))
