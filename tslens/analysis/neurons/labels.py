"""The label of a neuron: the part of speech, or else the one word, that it prefers, with the evidence for it.

"and" twenty times is one observation about conjunctions, not twenty: each distinct word counts once, with its most
frequent tag. And a top list alone misleads (Bolukbasi et al. 2021, arXiv 2104.07143). So the top words, those of
tokens above the neuron's 99.9% quantile, choose the part of speech, and random tokens test it. The number of top tokens
is clipped to 20 to 64: in a corpus of fewer than 20,000 tokens they reach below that quantile, and in one of more than
64,000 they lie above a higher one. The null of both is `null.Null`: tags permuted among words of like frequency.

- The candidate (`best`) is the tag that is the least likely to be so common among the neuron's distinct top words. Its
  p there is at most 0.05; it makes at least half of the words, and two of them at least, and its Wilson interval is
  above the base rate. One word is one trial, also where few words as frequent have its tag, which makes its p small.
- In the random sample, tokens of that tag excite the neuron more than others: by rank sums over words, q (the false
  discovery rate, Benjamini-Hochberg, over all neurons) is at most 0.05, and the AUROC's interval (DeLong, by story)
  above 0.5.

A class of few words (punctuation, conjunctions) is rarely a label: three words are three trials. And a neuron of a
large class may fire most on a few frequent words of it, twenty times, of which one stray word hides the class: where
every second word is a noun, four nouns among five have a p of 0.2. So where fewer than `FEW` different words are on top
and give no candidate, the words of the random sample with the largest activations take their place, as many as there
are top tokens. The sample that tests the candidate has then chosen it too, so p counts once for every tag (Bonferroni).

A neuron without such a label whose top tokens are nearly all one word is labelled with the word if tokens of that word
in the sample excite it more than others (AUROC, q over all such neurons). Where the sample has too few of them, it gets
no label (but see `rare_words`).

Two activations that differ by rounding alone may change places with the batches in which stories are read, which moves
an AUROC by a swap of ranks. A neuron whose q or AUROC lies that near its threshold (`NEAR_Q`, `NEAR_AUROC`) has no
label.
"""

import dataclasses
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tslens import pos, stats
from tslens.analysis.neurons.null import Null
from tslens.analysis.neurons.tops import TIE
from tslens.analysis.neurons.words import commonest_word, each_word_once, first_of_each_context

Values = TypeVar("Values", Tensor, NDArray[Any])

FALSE_DISCOVERIES = CHANCE = 0.05
TRIALS = 2  # different top words of a part of speech, at least, behind its name
HALF = 0.5  # a neuron is named after a part of speech that makes at least half of its different top words
FEW = 10  # different top words, half of a list of 20, below which words of the sample may choose
NEARLY = 0.9  # or after a word that makes nearly all of its top tokens
NEAR_Q = 0.02  # relative
NEAR_AUROC = 1e-3
ALIKE = 0.2  # of its largest activation: a neuron whose sample varies by less fires on everything
ENOUGH = 10  # tokens of the sample on either side, below which an AUROC is not tested


@dataclasses.dataclass(frozen=True)
class Preference:
    """Parts of speech and words of each neuron's top tokens, compared with a random sample.

    Fields as in `ProfilesResult`, with all neurons in one row.
    """

    label: Int[Tensor, " neurons"]
    best: Int[Tensor, " neurons"]
    share: Float[Tensor, " neurons"]
    share_low: Float[Tensor, " neurons"]
    share_high: Float[Tensor, " neurons"]
    lift: Float[Tensor, " neurons"]
    q: Float[Tensor, " neurons"]
    auroc: Float[Tensor, " neurons"]
    auroc_low: Float[Tensor, " neurons"]
    auroc_high: Float[Tensor, " neurons"]
    distinct: Int[Tensor, " neurons"]
    by_word: Bool[Tensor, " neurons"]
    word: Int[Tensor, " neurons"]
    word_share: Float[Tensor, " neurons"]
    word_q: Float[Tensor, " neurons"]
    word_auroc: Float[Tensor, " neurons"]
    word_auroc_low: Float[Tensor, " neurons"]
    drawn_words: Int[Tensor, "neurons drawn"]
    """Numbers of words here."""
    tag_share: Float[Tensor, "neurons tag"]
    tag_base: Float[Tensor, " tag"]


def preference(
    top_tags: Int[Tensor, "neurons rank"],
    top_words: Int[Tensor, "neurons rank"],
    same: Int[Tensor, "neurons rank"],
    sample_tags: Int[Tensor, " sample"],
    sample_words: Int[Tensor, " sample"],
    sample_story: Int[Tensor, " sample"],
    values: Float[Tensor, "neurons sample"],
    frequency: Int[Tensor, " word"],
) -> Preference:
    """The candidate labels of each neuron and their evidence; `values` are activations on the sample, `frequency` the
    number of tokens of each word in the corpus.

    `top_tags` is -1 where there is no token; places with the same number in `same` have the same context and count
    once; `top_words` and `sample_words` are word numbers (see `words.words`), `sample_story` the numbers of stories.
    """
    values, tags = _unless_alike(values), top_tags.numpy()
    row, rank = first_of_each_context(tags, same.numpy())
    words = top_words.numpy()[row, rank]
    counts = each_word_once(row, words, tags[row, rank], len(tags), len(pos.TAGS))
    of_sample, tags_of_sample = sample_words.numpy(), sample_tags.numpy()
    once = np.unique(same.numpy()[row, rank], return_index=True)[1]
    seen = np.concatenate([words[once], of_sample])
    tags_seen = np.concatenate([tags[row, rank][once], tags_of_sample])
    null = Null.of(seen, tags_seen, of_sample, tags_of_sample, frequency.numpy(), len(pos.TAGS))
    p = null.p(row, words, len(tags))
    drawn = values.numpy(), sample_story.numpy()
    few = ((counts.sum(1) < FEW) & ~_candidate(counts, p, null.base)[1]).nonzero()[0]
    chosen = _words_on_top(values.numpy()[few], of_sample, tags.shape[1])
    if len(few):
        counts[few] = each_word_once(*chosen, null.tag[chosen[1]], len(few), len(pos.TAGS))
        p[few] = null.p(*chosen, len(few))
    ranks, best = stats.mean_ranks(values.numpy()), p.argmin(1)
    p_of_sample = null.p_of_sample(ranks, of_sample, frequency.numpy(), best)
    p_of_sample[few] = (p_of_sample[few] * len(pos.TAGS)).clip(max=1)
    part = _part_of_speech(counts, p, p_of_sample, null.base, tags_of_sample, *drawn)
    word = _one_word(*commonest_word(row, words, len(tags)), of_sample, *drawn)
    by_word = (part["label"] < 0) & is_clear(word["word_q"], word["word_auroc_low"])
    return Preference(**part, **word, by_word=by_word, drawn_words=_drawn(few[chosen[0]], chosen[1], part["label"]))


def _drawn(
    row: NDArray[np.int64], word: NDArray[np.int64], label: Int[Tensor, " neurons"]
) -> Int[Tensor, "neurons drawn"]:
    """The words of each row that has a label, filled up with -1."""
    named = label.numpy()[row] >= 0
    row, word = row[named], word[named]
    order = row.argsort(kind="stable")
    row, word = row[order], word[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    found = np.full((len(label), place.max(initial=-1) + 1), -1)
    found[row, place] = word
    return torch.from_numpy(found)


def _unless_alike(values: Float[Tensor, "neurons sample"]) -> Float[Tensor, "neurons sample"]:
    """The activations; all equal for a neuron that fires on everything, some tokens hardly more than others."""
    varies = values.amax(1) - values.amin(1) > ALIKE * values.abs().amax(1)
    return torch.where(varies[:, None], values, values.amax(1, keepdim=True))


def _words_on_top(
    values: NDArray[np.float32], words: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Neuron and word of the `k` different words with the largest activations, and of those that tie with the last."""
    order = words.argsort(kind="stable")
    kinds, first = np.unique(words[order], return_index=True)
    largest = np.maximum.reduceat(values[:, order], first, axis=1)
    last = np.partition(largest, -min(k, len(kinds)), axis=1)[:, -min(k, len(kinds))]
    row, word = (largest >= (last - TIE * np.maximum(np.abs(last), 1))[:, None]).nonzero()
    return row, kinds[word]


def _candidate(
    counts: NDArray[np.int64], p: NDArray[np.float64], base: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], stats.Interval]:
    """The tag that is the least likely to be so common among a neuron's words, whether it may be a label by them, and
    its share of them."""
    n, best = counts.sum(1), p.argmin(1)
    each = np.arange(len(counts))
    chosen = counts[each, best]
    share = stats.wilson(chosen, n)
    common = (chosen >= np.maximum(HALF * n, TRIALS)) & (share.low > base[best])
    return best, common & (p[each, best] <= CHANCE * (1 - NEAR_Q)), share


def _part_of_speech(
    counts: NDArray[np.int64],
    p_of_top: NDArray[np.float64],
    p_of_sample: NDArray[np.float64],
    base: NDArray[np.float64],
    sample_tags: NDArray[np.int64],
    values: NDArray[np.float32],
    story: NDArray[np.int64],
) -> dict[str, Tensor]:
    """The part of speech that stands out among the words, whose `counts` are `[neuron, tag]`."""
    n, each = counts.sum(1), np.arange(len(counts))
    best, may_be, share = _candidate(counts, p_of_top, base)
    apart = stats.auroc(values, sample_tags[None, :] == best[:, None], clusters=story, enough=ENOUGH)
    q = stats.benjamini_hochberg(np.where(np.isnan(apart.p), 1, p_of_sample[each, best]))
    named = is_clear(q, apart.low) & may_be
    return {
        "label": _tensor(np.where(named, best, -1)),
        "best": _tensor(best),
        "share": _tensor(share.estimate),
        "share_low": _tensor(share.low),
        "share_high": _tensor(share.high),
        "lift": _tensor(share.estimate / np.maximum(base[best], 1 / len(sample_tags))),
        "q": _tensor(q),
        "auroc": _tensor(apart.estimate),
        "auroc_low": _tensor(apart.low),
        "auroc_high": _tensor(apart.high),
        "distinct": _tensor(n),
        "tag_share": _tensor(counts / np.maximum(n, 1)[:, None]),
        "tag_base": _tensor(base),
    }


def is_clear(q: Values, low: Values) -> Values:
    """Whether q and the lower end of the AUROC pass their thresholds, and by more than rounding changes."""
    return (q <= FALSE_DISCOVERIES * (1 - NEAR_Q)) & (low > 0.5 + NEAR_AUROC)


def _one_word(
    word: NDArray[np.int64],
    share: NDArray[np.float64],
    sample_words: NDArray[np.int64],
    values: NDArray[np.float32],
    story: NDArray[np.int64],
) -> dict[str, Tensor]:
    """The commonest word of the top tokens; where it is nearly all of them, how well the activation separates it."""
    area, low, p = np.full((3, len(word)), np.nan)
    rows = (share >= NEARLY).nonzero()[0]
    if len(rows):
        apart = stats.auroc(values[rows], sample_words[None, :] == word[rows][:, None], clusters=story, enough=ENOUGH)
        area[rows], low[rows], p[rows] = apart.estimate, apart.low, apart.p
    return {
        "word": _tensor(word),
        "word_share": _tensor(share),
        "word_q": _tensor(stats.benjamini_hochberg(p)),
        "word_auroc": _tensor(area),
        "word_auroc_low": _tensor(low),
    }


def _tensor(values: NDArray[np.generic]) -> Tensor:
    kind = torch.float32 if np.issubdtype(values.dtype, np.floating) else torch.int64
    return torch.from_numpy(np.ascontiguousarray(values)).to(kind)
