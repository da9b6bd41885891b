"""Does a neuron prefer a part of speech, or one word, by its top tokens and on random tokens too?"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tslens import pos, stats
from tslens.analysis.neurons.separation import separation

FALSE_DISCOVERIES = 0.05
HALF = 0.5  # a neuron is named after a part of speech that makes at least half of its different top words
NEARLY = 0.9  # or after a word that makes nearly all of its top tokens
ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


@dataclasses.dataclass(frozen=True)
class Preference:
    """What the top tokens of each neuron are, against a random sample.

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
    tag_share: Float[Tensor, "neurons tag"]
    tag_base: Float[Tensor, " tag"]


def preference(
    top_tags: Int[Tensor, "neurons rank"],
    top_words: Int[Tensor, "neurons rank"],
    same: Int[Tensor, "neurons rank"],
    sample_tags: Int[Tensor, " sample"],
    sample_words: Int[Tensor, " sample"],
    values: Float[Tensor, "neurons sample"],
) -> Preference:
    """A part of speech, or else one word, that a neuron may be named after; `values` are activations on the sample.

    `top_tags` is -1 where there is no token; places with the same number in `same` have the same context and count
    once; `top_words` and `sample_words` number the words (see `words`).

    Twenty times "and" is one observation about conjunctions, not twenty: each different word counts once, with the
    tag it has most often. And a top list alone misleads (Bolukbasi et al. 2021, arXiv 2104.07143). So a label needs
    both of two things (the p-value of both together is the larger one: Berger 1982, doi:10.2307/1267823):

    - Among its different top words the tag is commoner than by chance: Fisher's exact test, one-sided, against
      the different words of the sample and against its tokens, the larger p-value of these, since a neuron that
      does not care for parts of speech may pick words evenly or by their frequency.
    - On the random sample, which nobody chose by activation, tokens of the tag excite it more than others: AUROC
      above 0.5 (DeLong). It is tested for the tag that the words point to (`best`); other tags count as p = 1.

    q is the false discovery rate (Benjamini-Hochberg) over all neurons and tags; a label needs q of at most 0.05, at
    least half of the words, a Wilson interval above the base rate and an AUROC whose interval is above 0.5.

    So a class of few words (punctuation, conjunctions) is seldom named: three words are three trials.

    A neuron without such a label, nearly all of whose top tokens are one word, is named after the word if tokens of
    that word in the sample excite it more than others (AUROC, q over all such neurons). Where the sample has too few
    of them nothing is claimed.
    """
    tags = len(pos.TAGS)
    row, rank = _fresh(top_tags.numpy(), same.numpy())
    words, kinds = top_words.numpy()[row, rank], top_tags.numpy()[row, rank]
    counts = _each_word_once(row, words, kinds, len(top_tags), tags)
    sampled, sampled_words = sample_tags.numpy(), sample_words.numpy()
    by_token = np.bincount(sampled, minlength=tags)
    by_word = _each_word_once(np.zeros_like(sampled), sampled_words, sampled, 1, tags)[0]
    base = np.maximum(by_token / by_token.sum(), by_word / by_word.sum())
    n = counts.sum(1)
    p = np.maximum(_fisher(counts, n, by_token), _fisher(counts, n, by_word))
    best = p.argmin(1)
    each = np.arange(len(best))
    apart = separation(values, sample_tags[None, :] == torch.from_numpy(best)[:, None])
    both = np.ones_like(p)
    both[each, best] = np.maximum(p[each, best], np.where(np.isnan(apart.p), 1, apart.p))
    q = stats.benjamini_hochberg(both)[each, best]
    chosen = counts[each, best]
    share = stats.wilson(chosen, n)
    named = (q <= FALSE_DISCOVERIES) & (n > 0) & (chosen >= HALF * n) & (share.low > base[best]) & (apart.low > 0.5)
    word, word_share = _commonest(row, words, len(top_tags))
    alone, word_p = _of_one_word(word, word_share, sample_words, values)
    word_q = stats.benjamini_hochberg(word_p)
    return Preference(
        label=_tensor(np.where(named, best, -1)),
        best=_tensor(best),
        share=_tensor(share.estimate),
        share_low=_tensor(share.low),
        share_high=_tensor(share.high),
        lift=_tensor(share.estimate / np.maximum(base[best], 1 / by_token.sum())),
        q=_tensor(q),
        auroc=_tensor(apart.auroc),
        auroc_low=_tensor(apart.low),
        auroc_high=_tensor(apart.high),
        distinct=_tensor(n),
        by_word=torch.from_numpy(~named & (word_q <= FALSE_DISCOVERIES) & (alone[1] > 0.5)),
        word=_tensor(word),
        word_share=_tensor(word_share),
        word_q=_tensor(word_q),
        word_auroc=_tensor(alone[0]),
        word_auroc_low=_tensor(alone[1]),
        tag_share=_tensor(counts / np.maximum(n, 1)[:, None]),
        tag_base=_tensor(base),
    )


def _tensor(values: NDArray[np.generic]) -> Tensor:
    kind = torch.float32 if np.issubdtype(values.dtype, np.floating) else torch.int64
    return torch.from_numpy(np.ascontiguousarray(values)).to(kind)


def words(pieces: Sequence[str]) -> Int[Tensor, " vocabulary"]:
    """The number of each token's word: two tokens are the same word where they differ by space or capitals alone.

    A neuron sees tokens, so a part of a word is a word here: the coarser reading, which counts fewer trials.
    """
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(p.strip(" ").casefold() or p, len(numbers)) for p in pieces])


def _fresh(tags: NDArray[np.int64], same: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Neuron and rank of the top tokens, each different context of a neuron once."""
    order = same.argsort(1, kind="stable")
    ordered = np.take_along_axis(same, order, 1)
    fresh = np.ones(same.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    fresh &= np.take_along_axis(tags, order, 1) >= 0
    row, place = fresh.nonzero()
    return row, order[row, place]


def _each_word_once(
    row: NDArray[np.int64], words: NDArray[np.int64], tags: NDArray[np.int64], rows: int, n_tags: int
) -> NDArray[np.int64]:
    """How many different words of each row have each tag, `[row, tag]`; a word has the tag it has most often there."""
    width = int(words.max(initial=0)) + 1
    cells, times = np.unique((row * width + words) * n_tags + tags, return_counts=True)
    pairs, tag = cells // n_tags, cells % n_tags
    order = np.lexsort((tag, -times, pairs))
    first = order[np.diff(pairs[order], prepend=-1) != 0]
    found = np.bincount(pairs[first] // width * n_tags + tag[first], minlength=rows * n_tags)
    return found.reshape(rows, n_tags)


def _commonest(
    row: NDArray[np.int64], words: NDArray[np.int64], rows: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The commonest word of each row (-1 where it has none) and its share of the row."""
    width = int(words.max(initial=0)) + 1
    pairs, times = np.unique(row * width + words, return_counts=True)
    order = np.lexsort((-times, pairs // width))
    first = order[np.diff(pairs[order] // width, prepend=-1) != 0]
    word, share = np.full(rows, -1), np.full(rows, np.nan)
    having = pairs[first] // width
    word[having] = pairs[first] % width
    share[having] = times[first] / np.bincount(row, minlength=rows)[having]
    return word, share


def _of_one_word(
    word: NDArray[np.int64], share: NDArray[np.float64], sample_words: Tensor, values: Tensor
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """AUROC and its lower bound `[2, neurons]` for the word, and p, where it makes nearly all of the top; else NaN."""
    found, p = np.full((2, len(word)), np.nan), np.full(len(word), np.nan)
    rows = (share >= NEARLY).nonzero()[0]
    if len(rows):
        inside = sample_words[None, :] == torch.from_numpy(word[rows])[:, None]
        apart = separation(values[torch.from_numpy(rows)], inside)
        found[:, rows], p[rows] = (apart.auroc, apart.low), apart.p
    return found, p


def _fisher(counts: NDArray[np.int64], n: NDArray[np.int64], base: NDArray[np.int64]) -> NDArray[np.float64]:
    """One-sided Fisher test of each count among `n` against `base` among all of the sample, `[neurons, tag]`."""
    from scipy.stats import hypergeom

    wide = np.broadcast_to(n[:, None], counts.shape)
    tag = np.broadcast_to(np.arange(len(base)), counts.shape)
    cases, where = np.unique(np.stack([counts, wide, tag], -1).reshape(-1, 3), axis=0, return_inverse=True)
    c, m, t = cases.T  # a few thousand different ones among neurons x tags
    p = hypergeom.sf(c - 1, m + base.sum(), base[t] + c, m)
    return np.asarray(p[where.ravel()].reshape(counts.shape), dtype=np.float64)


def tags_of(contexts: Int[Tensor, "places window"], pieces: Sequence[str], bos: int) -> Int[Tensor, " places"]:
    """The part of speech of the token in the middle of each context, as an index into `pos.TAGS`.

    Five tokens either side stand in for the story, so that no text need be kept and memory stays flat. On TinyStories
    99.7% of tokens get the tag that the whole story gives them with 4,096 tokens, 96.8% with 512 (shorter contexts).
    """
    raw = [ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), piece.encode()) for piece in pieces]
    raw[bos] = b""
    middle = contexts.shape[1] // 2
    texts, spans = [], []
    for row in contexts.tolist():
        parts = [raw[token] if token >= 0 else b"" for token in row]
        start = len(b"".join(parts[:middle]).decode(errors="ignore"))
        end = len(b"".join(parts[: middle + 1]).decode(errors="ignore"))
        texts.append(b"".join(parts).decode(errors="ignore"))
        spans.append((start, end))
    number = {tag: i for i, tag in enumerate(pos.TAGS)}
    found = [
        next((tag for first, last, tag in words if last > start and first < end), pos.NO_WORD)
        for words, (start, end) in zip(pos.tag_texts(texts), spans, strict=True)
    ]
    return torch.tensor([number[tag] for tag in found], dtype=torch.int64)
