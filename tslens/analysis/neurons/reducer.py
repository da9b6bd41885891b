"""The reducer for the profile of every neuron, and the function that runs it."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.neurons.finish import result_of
from tslens.analysis.neurons.layers import read_layers
from tslens.analysis.neurons.logit_effect import logit_effect, written_by_neurons
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample, draws_of, places_of, prefixes_of, refresh
from tslens.analysis.neurons.state import ProfilesState
from tslens.analysis.neurons.tops import Tops
from tslens.errors import InputError
from tslens.models import Spec, name_of, tokenizer_of
from tslens.scan import BATCH_TOKENS, Batch, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MOST = 1000  # top tokens of a neuron
MOST_SAMPLE = 100_000
FEWEST_ON_TOP, MOST_ON_TOP = 20, 64  # where a quantile says how many
SIDE = 5  # tokens of context either side


@dataclasses.dataclass(frozen=True)
class Profiles:
    """The reducer for `ProfilesResult`: one pass that costs little more than running the model.

    Per neuron `k` top tokens and `effect` promoted and suppressed tokens (0: none); a random sample of `sample` tokens.
    Without a `k` the top tokens are those above the neuron's 99.9% quantile, which unlike a number of them does not
    move with the corpus: but 20 of fewer than 20,000 tokens, and 64 of more than 64,000. BOS is excluded unless `bos`:
    it is no word, and many neurons have their largest activation on it.
    """

    k: int | None = None
    sample: int = 1000
    effect: int = 8
    bos: bool = False

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("sample", 1), ("effect", 0)):
            if (asked := getattr(self, name)) is not None and asked < least:
                raise InputError(f"{name}={asked} leaves nothing to show; give {least} or more.")
        if self.sample > MOST_SAMPLE:
            raise InputError(f"{self.sample} random tokens would not fit in memory; give {MOST_SAMPLE:,} at most.")
        if self.k is not None and self.k > MOST:
            raise InputError(f"k={self.k} tokens of every neuron would not fit in memory; give {MOST:,} at most.")

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Each layer's neurons after the nonlinearity (and the gate, where there is one)."""
        return [f"blocks.{i}.mlp.hook_post" for i in range(spec.n_layers)]

    def start(self, model: "LanguageModel") -> ProfilesState:
        """The empty state, with the vocabulary and each neuron's effect on the logits."""
        return self.start_on(model, written_by_neurons(model))

    def start_on(self, model: "LanguageModel", written: Float[Tensor, "layer neuron d_model"]) -> ProfilesState:
        """The empty state for what need not be the model's neurons: `written` is what each adds to the residual stream.

        Activations come to `update` under the names of neurons, layer after layer from 0.
        """
        tokenizer, (layers, width, _), window = tokenizer_of(model), written.shape, 2 * SIDE + 1
        tokens, values = logit_effect(model, written, min(self.effect, tokenizer.size))
        device = written.device
        return ProfilesState(
            tops=Tops.empty(layers * width, self.k or MOST_ON_TOP, window, device),
            sample=Sample.empty(self.sample, window, layers, width, device),
            total=torch.zeros(layers, width, dtype=torch.float64, device=device),
            fired=torch.zeros(layers, width, dtype=torch.float64, device=device),
            seen=torch.zeros(tokenizer.size, dtype=torch.float64),
            effect_tokens=tokens,
            effect_values=values,
            pieces=tokenizer.pieces(range(tokenizer.size)),
            bos=tokenizer.bos,
            model=name_of(model),
        )

    def update(self, state: ProfilesState, activations: Mapping[str, Tensor], batch: Batch) -> ProfilesState:
        """Update the tops, the sample and the sums."""
        device = state.total.device
        mask = batch.mask.clone()
        mask[:, 0] &= self.bos
        read = mask.flatten().nonzero().flatten()
        state.n_tokens += len(read)
        state.n_stories += len(batch.texts)
        state.seen += torch.bincount(batch.tokens.flatten()[read], minlength=len(state.seen))
        layers = [activations[f"blocks.{i}.mlp.hook_post"] for i in range(len(state.total))]
        state.precision = str(layers[0].dtype).removeprefix("torch.")
        if len(read):
            stories = [(0 if self.bos else 1, length) for length in batch.mask.sum(1).tolist()]
            where = (read, draws_of(batch), prefixes_of(batch), places_of(batch), contexts(batch))
            read, keys, prefixes, *rest = (part.to(device) for part in where)
            read_layers(state, layers, stories, read, keys, prefixes, *rest)
            refresh(state.sample, [acts.flatten(0, 1) for acts in layers], read, keys, *rest)
        return state

    def merge(self, a: ProfilesState, b: ProfilesState) -> ProfilesState:
        """The state of both corpora; associative, and equal to one pass over both."""
        a.tops.merge(b.tops)
        a.sample.merge(b.sample)
        a.total += b.total
        a.fired += b.fired
        a.seen += b.seen
        a.n_tokens += b.n_tokens
        a.n_stories += b.n_stories
        a.precision = a.precision or b.precision
        return a

    def finish(self, state: ProfilesState) -> ProfilesResult:
        """The result."""
        return result_of(state, self.k or above_quantile(state.n_tokens))


def profiles(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    k: int | None = None,
    sample: int = 1000,
    effect: int = 8,
    bos: bool = False,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> ProfilesResult:
    """What each MLP neuron fires on and writes, over a corpus (see `Profiles` and `scan`).

    Raises:
        InputError: there is no story, or none with a word, or an argument is out of its range.
    """
    return scan(
        model,
        stories,
        Profiles(k, sample, effect, bos),
        context=context,
        batch_tokens=batch_tokens,
        precision=precision,
    )


def above_quantile(tokens: int) -> int:
    """How many tokens of a corpus count as those above a neuron's 99.9% quantile."""
    return min(max(-(-tokens // 1000), FEWEST_ON_TOP), MOST_ON_TOP)


def contexts(batch: Batch) -> Int[Tensor, "places window"]:
    """The tokens around each place of the batch, row after row; -1 outside the story."""
    tokens = batch.tokens.masked_fill(~batch.mask, -1).to(torch.int32)
    return F.pad(tokens, (SIDE, SIDE), value=-1).unfold(1, 2 * SIDE + 1, 1).flatten(0, 1)
