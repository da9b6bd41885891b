"""Does a neuron's label predict where the neuron fires, on stories and words that it was not made from?

The content hash halves the stories, so that one pass reads both halves and a text is never in both. One half gives the
label, by the rule of `labels`, and a threshold: the neuron's top decile on random tokens. On tokens of the other half,
without the word types of the neuron's own top list, the label says which tokens excite the neuron. A label of one word
is tested on that word in other stories.

In the terms of FADE (Puri et al. 2025, arXiv 2502.16994), *responsiveness*, the Gini coefficient of activations on
natural text with the concept against natural text without it, is 2 AUROC - 1, and *purity*, the average precision, is
`purity`. FADE asks a language model which texts have the concept; here a tagger says it of each token. FADE's absolute
value is not taken: a neuron that is silent on its own label does not predict it. *Clarity* compares texts written for
the concept with natural ones; no text is written here, so it is not measured. *Faithfulness* is what the model writes
when the neuron is steered; nothing is steered here, so it is not measured either.

A label's own words are known only when the pass ends. Histograms by class could not leave them out afterwards, so the
pass keeps activations of tokens, those with the smallest keys (see `sample`). 20,000 tokens of 8,192 neurons are
0.66 GB in float32, and twice that while two states merge; 200 stories have about as many tokens to test on.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from tslens import pos, stats
from tslens.analysis.neurons.finish import QUANTILES, result_of
from tslens.analysis.neurons.held_out_measures import AUROC, GROUPS, MEASURES, measured
from tslens.analysis.neurons.held_out_result import HeldOutResult
from tslens.analysis.neurons.reducer import Profiles
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample, draws_of, places_of, refresh
from tslens.analysis.neurons.state import ProfilesState
from tslens.analysis.neurons.words import words
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.models import Spec, spec_of, story_tokenizer_of
from tslens.progress import track
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel

DECILE = 0.9
TOKEN, TAG, BEFORE = range(3)  # what the sample keeps of each token: itself, its tag, and the tokens before it
NEAR = 3
"""Tokens before, the nearest first; -1 before BOS."""


@dataclasses.dataclass
class HeldOutState:
    """What gives the labels, and the tokens that test them."""

    profiles: ProfilesState
    sample: Sample
    tokenizer: Tokenizer
    n_tested: int = 0
    """Stories of the half that tests."""


@dataclasses.dataclass(frozen=True)
class Halves:
    """What reducers share that choose something by one half of the stories and test it on the other.

    The first half gives lists of `k` tokens and `sample` random ones; of the other, at most `tokens` tokens test.
    """

    k: int = 20
    sample: int = 1000
    tokens: int = 20_000

    def __post_init__(self) -> None:
        _ = self._profiles
        if self.tokens < 1:
            raise InputError(f"tokens={self.tokens} leaves nothing to test labels on; give 1 or more.")

    @property
    def _profiles(self) -> Profiles:
        return Profiles(self.k, self.sample, effect=1)

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Each layer's neurons after the nonlinearity (and the gate, where there is one)."""
        return self._profiles.hooks(spec)

    def start(self, model: "LanguageModel") -> HeldOutState:
        """The empty state."""
        spec, device = spec_of(model), next(model.parameters()).device
        tokenizer = story_tokenizer_of(model)
        sample = Sample.empty(0, BEFORE + NEAR, spec.n_layers, spec.mlp_width, device)
        return HeldOutState(self._profiles.start(model), sample, tokenizer)

    def update(self, state: HeldOutState, activations: Mapping[str, Tensor], batch: Batch) -> HeldOutState:
        """One half of the stories updates the profiles, the other the sample."""
        tested = is_tested(batch)
        names = [f"blocks.{i}.mlp.hook_post" for i in range(state.sample.values.shape[1])]
        for half, read in ((~tested, self._label), (tested, self._draw)):
            if len(rows := half.nonzero().flatten()):
                acts = {name: activations[name][rows.to(activations[name].device)] for name in names}
                read(state, acts, _rows(batch, rows))
        return state

    def _label(self, state: HeldOutState, activations: Mapping[str, Tensor], batch: Batch) -> None:
        """Update the profiles by a batch whose stories all give labels."""
        self._profiles.update(state.profiles, activations, batch)

    def _draw(self, state: HeldOutState, activations: Mapping[str, Tensor], batch: Batch) -> None:
        """Draw from the tokens of a batch whose stories all test."""
        mask = batch.mask.clone()
        mask[:, 0] = False
        read = mask.flatten().nonzero().flatten()
        state.n_tested += len(batch.texts)
        if not len(read):
            return
        state.sample = state.sample.with_room(min(self.tokens, len(state.sample.keys) + len(read)))
        device = state.sample.keys.device
        before = [F.pad(batch.tokens, (i, 0), value=-1)[:, :-i] for i in range(1, NEAR + 1)]
        facts = torch.stack([batch.tokens, tags_in(batch, state.tokenizer), *before], -1).flatten(0, 1).to(torch.int32)
        layers = [acts.flatten(0, 1) for acts in activations.values()]
        where = [part.to(device) for part in (read, draws_of(batch), places_of(batch), facts)]
        refresh(state.sample, layers, *where)

    def merge(self, a: HeldOutState, b: HeldOutState) -> HeldOutState:
        """The state of both corpora; associative, and equal to one pass over both."""
        self._profiles.merge(a.profiles, b.profiles)
        a.sample = a.sample.with_room(min(self.tokens, len(a.sample.keys) + len(b.sample.keys)))
        if len(a.sample.keys):
            a.sample.merge(b.sample)
        a.n_tested += b.n_tested
        return a

    def halves(self, state: HeldOutState) -> tuple[ProfilesResult, Sample]:
        """What the first half gives, and the tokens of the other; InputError where one of them has no token."""
        if not (len(state.sample.keys) and state.profiles.n_tokens):
            raise InputError(
                "Labels are made from one half of the stories and tested on the other, and one half has no token. "
                "Give more stories: 100 or more say something."
            )
        return result_of(state.profiles), state.sample.on_cpu().in_order()


@dataclasses.dataclass(frozen=True)
class HeldOut(Halves):
    """The reducer for `HeldOutResult`."""

    def finish(self, state: HeldOutState) -> HeldOutResult:
        """The labels of one half, tested on the other; InputError where one of the halves has no token."""
        return judged(*self.halves(state), state.n_tested)


def held_out(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    k: int = 20,
    sample: int = 1000,
    tokens: int = 20_000,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> HeldOutResult:
    """Whether each neuron's label predicts where it fires on other stories and words (see `HeldOut` and `scan`).

    Raises:
        InputError: one half of the stories has no token, a compressor, or an argument is out of its range.
    """
    reducer = HeldOut(k, sample, tokens)
    return scan(model, stories, reducer, context=context, batch_tokens=batch_tokens, precision=precision)


def judged(profiles: ProfilesResult, sample: Sample, n_tested: int) -> HeldOutResult:
    """The labels of `profiles`, tested on a sample whose `contexts` hold the token and its tag."""
    word_of = words(profiles.pieces).numpy()
    of_sample, tags = word_of[sample.contexts[:, TOKEN].numpy()], sample.contexts[:, TAG].numpy()
    group = groups_of(sample)
    threshold = profiles.quantile_values[:, :, QUANTILES.index(DECILE), profiles.quantile_values.shape[-1] // 2]
    shape = profiles.label.shape
    value, low, high = (torch.full((*shape, len(MEASURES)), torch.nan) for _ in range(3))
    same_words, p = torch.full(shape, torch.nan), torch.full(shape, torch.nan, dtype=torch.float64)
    tokens, positives = (torch.zeros(shape, dtype=torch.int64) for _ in range(2))
    named = ((profiles.label >= 0) | profiles.by_word).nonzero().tolist()
    for at in track([tuple(place) for place in named], "testing labels"):
        label = int(profiles.label[at])
        if label >= 0:
            positive = tags == label
            kept = ~np.isin(of_sample, word_of[profiles.top_tokens[at][profiles.top_tokens[at] >= 0].numpy()])
        else:
            positive, kept = of_sample == word_of[int(profiles.word[at])], np.full(len(tags), True)
        values, edge = sample.values[:, at[0], at[1]].numpy(), float(threshold[at])
        found = measured(values[kept], positive[kept], group[kept], edge)
        for field, numbers in ((value, found.value), (low, found.low), (high, found.high)):
            field[at] = torch.from_numpy(numbers)
        same_words[at] = float(measured(values, positive, group, edge).value[AUROC])
        p[at], tokens[at], positives[at] = found.p, int(kept.sum()), int((positive & kept).sum())
    return HeldOutResult(
        label=profiles.label,
        by_word=profiles.by_word,
        word=profiles.word,
        value=value,
        low=low,
        high=high,
        auroc_same_words=same_words,
        q=torch.from_numpy(stats.benjamini_hochberg(p.numpy())).float(),
        threshold=threshold,
        tokens=tokens,
        positives=positives,
        tags=profiles.tags,
        pieces=profiles.pieces,
        model=profiles.model,
        n_labelled=profiles.n_stories,
        n_tested=n_tested,
        n_tokens=len(tags),
    )


def groups_of(sample: Sample) -> Int[np.ndarray, " token"]:
    """The group of stories of each token: equal groups, in the order of the stories' hashes."""
    return np.asarray(np.unique(sample.places[:, 0].numpy(), return_inverse=True)[1] % GROUPS)


def is_tested(batch: Batch) -> Bool[Tensor, " batch"]:
    """Whether each story is of the half that tests: by its text alone, so that no text is in both halves."""
    return below(torch.tensor(2), draw(batch.hashes)) == 1


def tags_in(batch: Batch, tokenizer: Tokenizer) -> Int[Tensor, "batch pos"]:
    """The part of speech of each token, as an index into `pos.TAGS`, -1 where padded. The whole story is tagged."""
    number = {tag: i for i, tag in enumerate(pos.TAGS)}
    width, rows = batch.tokens.shape[1], []
    for text, tagged in zip(batch.texts, pos.tag_texts(batch.texts), strict=True):
        tags, _ = pos.align(text, tagged, tokenizer.offsets(text)[:width])
        rows.append(F.pad(torch.tensor([number[tag] for tag in tags]), (0, width - len(tags)), value=-1))
    return torch.stack(rows)


def _rows(batch: Batch, rows: Int[Tensor, " row"]) -> Batch:
    """Some stories of a batch."""
    texts = tuple(batch.texts[i] for i in rows.tolist())
    parts = {name: getattr(batch, name)[rows] for name in ("tokens", "mask", "indices", "hashes", "occurrences")}
    return Batch(**parts, texts=texts)
