"""What reducers share that choose something by one half of the stories and test it on the other.

The content hash halves the stories, so that one pass reads both halves and a text is never in both. What the test must
leave out (a label's own words) is known only when the pass ends. Histograms could not leave it out afterwards, so the
pass keeps activations of tokens, those with the smallest keys (see `sample`). 20,000 tokens of 8,192 neurons are
0.66 GB in float32, and twice that while two states merge; 200 stories have about as many tokens to test on.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import pos
from tslens.analysis.neurons.logit_effect import written_by_neurons
from tslens.analysis.neurons.reducer import Profiles
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample, draws_of, places_of, refresh
from tslens.analysis.neurons.state import ProfilesState
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.models import Spec, story_tokenizer_of
from tslens.result import Result
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Answer = TypeVar("Answer", bound=Result)
DECILE = 0.9  # of activations on random tokens: above it a neuron counts as excited
TOKEN, TAG, BEFORE = range(3)  # what the sample keeps of each token: itself, its tag, and the tokens before it
NEAR = 3
"""Tokens before, the nearest first; -1 before BOS."""


@dataclasses.dataclass
class HalvesState:
    """What the first half gives, and the tokens of the other."""

    profiles: ProfilesState
    sample: Sample
    tokenizer: Tokenizer
    n_tested: int = 0
    """Stories of the half that tests."""


@dataclasses.dataclass(frozen=True)
class Halves(Generic[Answer]):
    """A reducer that chooses by one half of the stories and tests on the other.

    The first half gives lists of `k` tokens (see `Profiles`) and `sample` random ones; of the other, at most `tokens`
    tokens test.
    """

    k: int | None = None
    sample: int = 1000
    tokens: int = 20_000

    def __post_init__(self) -> None:
        _ = self._profiles
        if self.tokens < 1:
            raise InputError(f"tokens={self.tokens} leaves nothing to test labels on; give 1 or more.")

    @property
    def _profiles(self) -> Profiles:
        return Profiles(self.k, self.sample, effect=0)

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Each layer's neurons after the nonlinearity (and the gate, where there is one)."""
        return self._profiles.hooks(spec)

    def start(self, model: "LanguageModel") -> HalvesState:
        """The empty state."""
        return self.start_on(model, written_by_neurons(model))

    def start_on(self, model: "LanguageModel", written: Float[Tensor, "layer neuron d_model"]) -> HalvesState:
        """The empty state for what need not be the model's neurons (see `Profiles.start_on`)."""
        layers, width, _ = written.shape
        sample = Sample.empty(0, BEFORE + NEAR, layers, width, written.device)
        return HalvesState(self._profiles.start_on(model, written), sample, story_tokenizer_of(model))

    def update(self, state: HalvesState, activations: Mapping[str, Tensor], batch: Batch) -> HalvesState:
        """One half of the stories updates the profiles, the other the sample."""
        tested = is_tested(batch)
        names = [f"blocks.{i}.mlp.hook_post" for i in range(state.sample.values.shape[1])]
        for half, read in ((~tested, self._label), (tested, self._draw)):
            if len(rows := half.nonzero().flatten()):
                acts = {name: activations[name][rows.to(activations[name].device)] for name in names}
                read(state, acts, rows_of(batch, rows))
        return state

    def _label(self, state: HalvesState, activations: Mapping[str, Tensor], batch: Batch) -> None:
        """Update the profiles by a batch whose stories all give labels."""
        self._profiles.update(state.profiles, activations, batch)

    def _draw(self, state: HalvesState, activations: Mapping[str, Tensor], batch: Batch) -> None:
        """Draw from the tokens of a batch whose stories all test."""
        mask = batch.mask.clone()
        mask[:, 0] = False
        read = mask.flatten().nonzero().flatten()
        state.n_tested += len(batch.texts)
        if not len(read):
            return
        state.sample = state.sample.with_room(len(read), self.tokens)
        device = state.sample.keys.device
        before = [F.pad(batch.tokens, (i, 0), value=-1)[:, :-i] for i in range(1, NEAR + 1)]
        facts = torch.stack([batch.tokens, tags_in(batch, state.tokenizer), *before], -1).flatten(0, 1).to(torch.int32)
        layers = [acts.flatten(0, 1) for acts in activations.values()]
        where = [part.to(device) for part in (read, draws_of(batch), places_of(batch), facts)]
        refresh(state.sample, layers, *where)

    def merge(self, a: HalvesState, b: HalvesState) -> HalvesState:
        """The state of both corpora; associative, and equal to one pass over both."""
        self._profiles.merge(a.profiles, b.profiles)
        a.sample = a.sample.with_room(len(b.sample.keys), self.tokens)
        if len(a.sample.keys):
            a.sample.merge(b.sample)
        a.n_tested += b.n_tested
        return a

    def finish(self, state: HalvesState) -> Answer:
        """What one half chose, tested on the other; InputError where one of them has no token."""
        raise NotImplementedError

    @classmethod
    def of(
        cls,
        model: "LanguageModel",
        stories: Iterable[str],
        *,
        k: int | None = None,
        sample: int = 1000,
        tokens: int = 20_000,
        context: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
        precision: str = "float32",
    ) -> Answer:
        """The answer over stories; the options are those of the class, then those of `scan`.

        Raises:
            InputError: one half of the stories has no token, a compressor, or an argument is out of its range.
        """
        reducer = cls(k, sample, tokens)
        return scan(model, stories, reducer, context=context, batch_tokens=batch_tokens, precision=precision)

    def empty(self, state: HalvesState) -> bool:
        """Whether one of the halves has no token."""
        return not (len(state.sample.keys) and state.profiles.n_tokens)

    def halves(self, state: HalvesState) -> tuple[ProfilesResult, Sample]:
        """What the first half gives, and the tokens of the other; InputError where one of them has no token."""
        if self.empty(state):
            raise InputError(
                "Labels are made from one half of the stories and tested on the other, and one half has no token. "
                "Give more stories: 100 or more say something."
            )
        state.sample = state.sample.drawn()  # the same tokens, without the room that is left
        return self._profiles.finish(state.profiles), state.sample.on_cpu()


def is_tested(batch: Batch) -> Bool[Tensor, " batch"]:
    """Whether each story is of the half that tests: by its text alone, so that no text is in both halves."""
    return below(torch.tensor(2), draw(batch.hashes)) == 1


def tags_in(
    batch: Batch, tokenizer: Tokenizer, tagged: Sequence[Sequence[pos.Tagged]] | None = None
) -> Int[Tensor, "batch pos"]:
    """The part of speech of each token, as an index into `pos.TAGS`, -1 where padded. The whole story is tagged, unless
    the words of each are given with their tags."""
    number = {tag: i for i, tag in enumerate(pos.TAGS)}
    width, rows = batch.tokens.shape[1], []
    for text, words in zip(batch.texts, pos.tag_stories(batch.texts) if tagged is None else tagged, strict=True):
        tags, _ = pos.align(words, tokenizer.offsets(text)[:width])
        rows.append(F.pad(torch.tensor([number[tag] for tag in tags]), (0, width - len(tags)), value=-1))
    return torch.stack(rows)


def rows_of(batch: Batch, rows: Int[Tensor, " row"]) -> Batch:
    """Some stories of a batch."""
    texts = tuple(batch.texts[i] for i in rows.tolist())
    parts = {name: getattr(batch, name)[rows] for name in ("tokens", "mask", "indices", "hashes", "occurrences")}
    return Batch(**parts, texts=texts)
