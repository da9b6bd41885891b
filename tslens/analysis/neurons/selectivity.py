"""What decides each neuron's activation: part of speech, place, speech, a character's name, or the token alone?

All neurons and all classes of tokens are asked at once, with one false discovery rate, so nothing is chosen by looking.
The pass keeps the activations of tokens with the smallest keys (see `sample`): 20,000 tokens of 8,192 neurons are
0.66 GB in float32.

- *How well a class is told from the rest* is the AUROC of the activation, from its ranks in 128 bins, with the
  jackknife over ten groups of stories.
- *p* is one-sided, that the class excites the neuron more. For classes of words (parts of speech, names) it is that of
  tags permuted among words of like frequency (`null.Null`), since the unit is the word. For classes of places it is
  that of the jackknife, since the unit is the story.
- *The share that the token explains* is the variance between the means of tokens over the whole variance, less what
  shuffled tokens explain (epsilon squared; Kelley 1935, doi:10.1073/pnas.21.9.554): k kinds among n shuffled tokens
  explain (k - 1) / (n - 1) in the mean, exactly.
- *The tail* is what lies above the neuron's 99.9% quantile among the tokens that are kept: of 20,000 the 20 largest.
  They are drawn from the whole corpus, so the share of a class in the tail does not move with its size, as that among
  the 20 largest activations of all would.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import stats
from tslens.analysis.neurons.facts import CLASSES, OF_WORDS, facts
from tslens.analysis.neurons.held_out_measures import area_ends
from tslens.analysis.neurons.null import Null
from tslens.analysis.neurons.sample import Sample, draws_of, places_of, refresh
from tslens.analysis.neurons.selectivity_measures import GROUPS, areas, token_share
from tslens.analysis.neurons.selectivity_result import SelectivityResult
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of
from tslens.pos.types import words
from tslens.progress import track
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel

TOKEN, FACTS = range(2)  # what the sample keeps of each token
NEURONS = 128  # at a time
FEWEST = 20  # tokens of a class, and of the rest
TAIL = 0.999


@dataclasses.dataclass
class SelectivityState:
    """The tokens drawn so far, and how often each token was read."""

    sample: Sample
    seen: Tensor
    tokenizer: Tokenizer
    model: str
    n_stories: int = 0


@dataclasses.dataclass(frozen=True)
class Selectivity:
    """The reducer for `SelectivityResult`, from at most `tokens` tokens."""

    tokens: int = 20_000

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise InputError(f"tokens={self.tokens} leaves nothing to compare; give 1 or more.")

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Each layer's neurons after the nonlinearity (and the gate, where there is one)."""
        return [f"blocks.{i}.mlp.hook_post" for i in range(spec.n_layers)]

    def start(self, model: "LanguageModel") -> SelectivityState:
        """The empty state."""
        spec, tokenizer = spec_of(model), story_tokenizer_of(model)
        sample = Sample.empty(0, 2, spec.n_layers, spec.mlp_width, next(model.parameters()).device)
        return SelectivityState(sample, torch.zeros(tokenizer.size, dtype=torch.int64), tokenizer, name_of(model))

    def update(self, state: SelectivityState, activations: Mapping[str, Tensor], batch: Batch) -> SelectivityState:
        """Draw from the tokens of a batch; BOS is no word and is left out."""
        mask = batch.mask.clone()
        mask[:, 0] = False
        read = mask.flatten().nonzero().flatten()
        state.n_stories += len(batch.texts)
        if not len(read):
            return state
        state.seen += torch.bincount(batch.tokens.flatten()[read], minlength=len(state.seen))
        state.sample = state.sample.with_room(len(read), self.tokens)
        device, layers = state.sample.keys.device, state.sample.values.shape[1]
        kept = torch.stack([batch.tokens, facts(batch, state.tokenizer)], -1).flatten(0, 1).to(torch.int32)
        acts = [activations[f"blocks.{i}.mlp.hook_post"].flatten(0, 1) for i in range(layers)]
        refresh(state.sample, acts, *(part.to(device) for part in (read, draws_of(batch), places_of(batch), kept)))
        return state

    def merge(self, a: SelectivityState, b: SelectivityState) -> SelectivityState:
        """The state of both corpora; associative."""
        a.sample = a.sample.with_room(len(b.sample.keys), self.tokens)
        if len(a.sample.keys):
            a.sample.merge(b.sample)
        a.seen += b.seen
        a.n_stories += b.n_stories
        return a

    def finish(self, state: SelectivityState) -> SelectivityResult:
        """The result; InputError for fewer than two stories with tokens."""
        if len(state.sample.places[:, 0].unique()) < 2:
            raise InputError("Intervals are over stories and need two stories or more with words in them.")
        return _result(state, state.sample.on_cpu().in_order())


def selectivity(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    tokens: int = 20_000,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> SelectivityResult:
    """What decides the activation of every neuron (see `Selectivity` and `scan`).

    Raises:
        InputError: fewer than two stories with words, a compressor, or an argument is out of its range.
    """
    reducer = Selectivity(tokens)
    return scan(model, stories, reducer, context=context, batch_tokens=batch_tokens, precision=precision)


def _result(state: SelectivityState, sample: Sample) -> SelectivityResult:
    from scipy.stats import rankdata

    token, told = sample.contexts[:, TOKEN].numpy(), sample.contexts[:, FACTS].numpy()
    marks = (told[:, None] >> np.arange(len(CLASSES)) & 1).astype(bool)
    group = sample.groups(GROUPS)
    values = sample.values.flatten(1).T.numpy()
    parts = []
    word_of = words(state.tokenizer.pieces(range(state.tokenizer.size)))
    frequency = torch.bincount(word_of, weights=state.seen.double()).long().numpy()
    word, tag, named = word_of.numpy()[token], marks[:, : OF_WORDS - 1].argmax(1), marks[:, OF_WORDS - 1].astype(int)
    nulls = [(Null.of(word, of, word, of, frequency, n), n) for of, n in ((tag, OF_WORDS - 1), (named, 2))]
    sides = marks.sum(0).clip(1), (~marks).sum(0).clip(1)
    enough = np.minimum(*sides) >= FEWEST
    for first in track(range(0, len(values), NEURONS), "comparing classes of tokens"):
        some = values[first : first + NEURONS]
        ranks = rankdata(some, axis=1)
        area = areas(ranks, marks, group)
        of_tags, of_name = (null.p_of_sample(ranks, word, frequency) for null, _ in nulls)
        p = stats.jackknife_p(area[0], area[1:], 0.5, least_error=1e-3)
        p[:, :OF_WORDS] = np.concatenate([of_tags, of_name[:, 1:]], axis=1)
        share = token_share(some, token, group)
        tail = (some > np.quantile(some, TAIL, axis=1, keepdims=True)).astype(float)
        with np.errstate(invalid="ignore"):
            of_tail = tail @ marks / tail.sum(1, keepdims=True)
        parts.append((area[0], *area_ends(area, *sides), p, share, of_tail))
    of_classes, low, high, p, shares, of_tails = zip(*parts, strict=True)
    shape = sample.values.shape[1:]
    share = np.concatenate(shares, axis=1).reshape(-1, *shape)

    def whole(rows: Iterable[np.ndarray]) -> Tensor:
        found: Tensor = torch.from_numpy(np.concatenate(list(rows))).float().unflatten(0, shape)
        return found

    hidden = torch.from_numpy(np.where(enough, 0, np.nan)).float()
    tested = np.where(enough, np.concatenate(p), np.nan)
    return SelectivityResult(
        auroc=whole(of_classes) + hidden,
        low=whole(low) + hidden,
        high=whole(high) + hidden,
        q=torch.from_numpy(stats.benjamini_hochberg(tested)).float().unflatten(0, shape),
        tail_share=whole(of_tails),
        **_ends("token_share", share),
        **_ends("median_share", _medians(share)),
        base_rate=torch.from_numpy(marks.mean(0)).float(),
        classes=list(CLASSES),
        model=state.model,
        n_tokens=len(token),
        stories=state.n_stories,
    )


def _ends(name: str, found: Float[np.ndarray, "left_out *axes"]) -> dict[str, Any]:
    """The fields of a measure and of its interval."""
    part = stats.jackknife(found[0], found[1:])
    ends = {name: part.estimate, f"{name}_low": part.low, f"{name}_high": part.high}
    return {field: torch.from_numpy(end).float() for field, end in ends.items()}


def _medians(share: Float[np.ndarray, "left_out layer neuron"]) -> Float[np.ndarray, "left_out layer"]:
    """The median over each layer's neurons; NaN where none of a layer varies."""
    known = ~np.isnan(share[0]).all(-1)
    middle = np.full(share.shape[:2], np.nan)
    middle[:, known] = np.nanmedian(share[:, known], axis=-1)
    return middle
