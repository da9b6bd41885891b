"""How are all neurons read in one pass, at hardly more than the cost of running the model?

The top of every neuron is kept with a threshold, its k-th value: of a batch only what exceeds it is ever looked at. A
random sample of tokens, the same for all neurons, is kept by the smallest hashes of (story, position). Both are
associative and do not grow with the corpus.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.neurons.answer import answer
from tslens.analysis.neurons.result import Neurons
from tslens.models import Spec, name_of, readout, spec_of, tokenizer_of
from tslens.scan import Batch

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

SIDE = 5  # tokens of context either side
NOWHERE = torch.iinfo(torch.int64).max
BLOCK = 16  # rows that are first compared by their largest value
POSITIONS = 1 << 20  # a place is story * POSITIONS + position


@dataclasses.dataclass
class State:
    """What was seen so far; `neurons` counts through all layers. Every tensor has its final size from the start."""

    top_values: Float[Tensor, "neurons rank"]
    top_places: Int[Tensor, "neurons rank"]
    top_contexts: Int[Tensor, "neurons rank window"]
    sample_hashes: Int[Tensor, " sample"]
    sample_places: Int[Tensor, " sample"]
    sample_contexts: Int[Tensor, "sample window"]
    sample_values: Float[Tensor, "sample layer neuron"]
    total: Float[Tensor, "layer neuron"]
    fired: Float[Tensor, "layer neuron"]
    effect_tokens: Int[Tensor, "sign layer neuron effect"]
    effect_values: Float[Tensor, "sign layer neuron effect"]
    pieces: list[str]
    bos: int
    model: str
    precision: str = ""
    n_tokens: int = 0
    n_stories: int = 0


@dataclasses.dataclass(frozen=True)
class Profiles:
    """The reducer behind `Neurons`.

    `k` top tokens and `effect` promoted and suppressed tokens a neuron; a random sample of `sample` tokens. BOS is no
    word, and on it many neurons are larger than anywhere else: it is left out unless `bos`.
    """

    k: int = 20
    sample: int = 1000
    effect: int = 8
    bos: bool = False

    def __post_init__(self) -> None:
        for name in ("k", "sample", "effect"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} leaves nothing to show; give 1 or more.")

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Each layer's neurons after the nonlinearity (and the gate, where there is one)."""
        return [f"blocks.{i}.mlp.hook_post" for i in range(spec.n_layers)]

    def start(self, model: "HookedTransformer") -> State:
        """The empty state, with the vocabulary and each neuron's effect on the logits."""
        spec, tokenizer = spec_of(model), tokenizer_of(model)
        layers, width, window = spec.n_layers, spec.mlp_width, 2 * SIDE + 1
        n = layers * width
        device = next(model.parameters()).device
        tokens, values = logit_effect(model, min(self.effect, tokenizer.size))

        def full(*shape: int, of: float, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.full(shape, of, dtype=dtype, device=device)

        return State(
            top_values=full(n, self.k, of=-torch.inf, dtype=torch.float32),
            top_places=full(n, self.k, of=NOWHERE),
            top_contexts=full(n, self.k, window, of=-1, dtype=torch.int32),
            sample_hashes=full(self.sample, of=NOWHERE),
            sample_places=full(self.sample, of=NOWHERE),
            sample_contexts=full(self.sample, window, of=-1, dtype=torch.int32),
            sample_values=full(self.sample, layers, width, of=0, dtype=torch.float32),
            total=full(layers, width, of=0, dtype=torch.float64),
            fired=full(layers, width, of=0, dtype=torch.float64),
            effect_tokens=tokens,
            effect_values=values,
            pieces=tokenizer.pieces(range(tokenizer.size)),
            bos=tokenizer.bos,
            model=name_of(model),
        )

    def update(self, state: State, activations: Mapping[str, Tensor], batch: Batch) -> State:
        """Raise the tops, refresh the sample, add to the sums."""
        device = state.total.device
        mask = batch.mask.clone()
        mask[:, 0] &= self.bos
        read = mask.flatten().nonzero().flatten()
        place = batch.stories[:, None] * POSITIONS + torch.arange(batch.tokens.shape[1])
        places, windows = place.flatten()[read].to(device), contexts(batch)[read].to(device)
        state.n_tokens += len(read)
        state.n_stories += len(batch.stories)
        layers = [activations[f"blocks.{i}.mlp.hook_post"].flatten(0, 1) for i in range(len(state.total))]
        state.precision = str(layers[0].dtype).removeprefix("torch.")
        read = read.to(device)
        if len(read):
            _read_layers(state, layers, read, places, windows)
            _refresh_sample(state, layers, read, places, windows)
        return state

    def merge(self, a: State, b: State) -> State:
        """Both corpora; associative, and equal to one pass over both."""
        n, k = b.top_values.shape
        every = torch.arange(n, device=b.top_values.device).repeat_interleave(k)
        _admit(a, every, b.top_values.flatten(), b.top_places.flatten(), b.top_contexts.flatten(0, 1))
        _draw(a, b.sample_hashes, b.sample_places, b.sample_contexts, lambda rows: b.sample_values[rows])
        a.total += b.total
        a.fired += b.fired
        a.n_tokens += b.n_tokens
        a.n_stories += b.n_stories
        a.precision = a.precision or b.precision
        return a

    def finish(self, state: State) -> Neurons:
        """The answer."""
        return answer(state)


def logit_effect(
    model: "HookedTransformer", n: int
) -> tuple[Int[Tensor, "sign layer neuron effect"], Float[Tensor, "sign layer neuron effect"]]:
    """The `n` tokens whose logits each neuron raises most (sign 0) and lowers most (sign 1), with the change.

    Direct logit attribution: `W_out` through the final norm's gain to `W_U` (the weights as trained, nothing folded;
    layer norm's centring applied, the division by its scale not, for that depends on the token), less the mean over
    the vocabulary, which softmax does not see.
    """
    named = readout(model)[:, : tokenizer_of(model).size]  # a model may have room for more tokens than there are
    unembed = model.ln_final.w[:, None] * named
    tokens, values = [], []
    for block in model.blocks:
        out = block.mlp.W_out
        if spec_of(model).style == "gpt2":
            out = out - out.mean(-1, keepdim=True)
        for rows in out.split(512):
            logits = rows @ unembed
            logits = logits - logits.mean(-1, keepdim=True)
            ends = [logits.topk(n, largest=largest) for largest in (True, False)]
            tokens.append(torch.stack([end.indices for end in ends]))
            values.append(torch.stack([end.values for end in ends]))
    shape = (2, len(model.blocks), -1, n)
    return torch.cat(tokens, 1).view(shape), torch.cat(values, 1).detach().view(shape)


def contexts(batch: Batch) -> Int[Tensor, "places window"]:
    """The tokens around each place of the batch, row after row; -1 outside the story."""
    tokens = batch.tokens.masked_fill(~batch.mask, -1).to(torch.int32)
    return F.pad(tokens, (SIDE, SIDE), value=-1).unfold(1, 2 * SIDE + 1, 1).flatten(0, 1)


def _read_layers(state: State, layers: list[Tensor], read: Tensor, places: Tensor, windows: Tensor) -> None:
    """Sums and tops, a layer at a time while its activations are at hand."""
    width = layers[0].shape[1]
    rows = torch.empty(len(read), width, dtype=layers[0].dtype, device=read.device)
    positive = torch.empty(len(read), width, device=read.device)
    found = []
    for i, acts in enumerate(layers):
        torch.index_select(acts, 0, read, out=rows)
        state.total[i] += rows.sum(0, dtype=torch.float32)
        state.fired[i] += torch.gt(rows, 0, out=positive).sum(0)
        mine = slice(i * width, (i + 1) * width)
        at, column, values = _reaching(rows, state.top_values[mine], places, state.top_places[mine, -1])
        found.append((at, column + i * width, values))
    at, neurons, values = (torch.cat(parts) for parts in zip(*found, strict=True))
    _admit(state, neurons, values, places[at], windows[at])


def _reaching(
    rows: Float[Tensor, "places neuron"],
    tops: Float[Tensor, "neuron rank"],
    places: Int[Tensor, " places"],
    last: Int[Tensor, " neuron"],
) -> tuple[Tensor, Tensor, Tensor]:
    """Row, neuron and value of what belongs into the lists `tops`, whose last entries stand at the places `last`.

    Blocks of rows are compared by their largest values, so that nearly all rows are passed over in one reading. While
    the lists are not full, the k-th largest block bounds the k-th largest value from below.
    """
    n, k = len(rows), tops.shape[1]
    size = BLOCK if n >= BLOCK * k else 1
    whole = n // size * size
    peaks = rows[:whole].unflatten(0, (-1, size)).amax(1) if size > 1 else rows
    floor = tops[:, -1]
    if bool(floor.isneginf().any()):
        floor = torch.maximum(floor, peaks.topk(min(k, len(peaks)), dim=0).values[-1].float())
    block, column = (peaks >= floor).nonzero(as_tuple=True)
    inside = torch.arange(size, device=rows.device)
    at, column = (block[:, None] * size + inside).flatten(), column.repeat_interleave(size)
    rest, every = (rows[whole:] >= floor).nonzero(as_tuple=True)
    at, column = torch.cat([at, rest + whole]), torch.cat([column, every])
    values = rows[at, column].float()
    better = (values > floor[column]) | ((values == floor[column]) & (places[at] <= last[column]))
    return at[better], column[better], values[better]


def _admit(state: State, neurons: Tensor, values: Tensor, places: Tensor, windows: Tensor) -> None:
    """Sort candidates into their neurons' lists: by value, and where values tie, the earlier place first."""
    if not len(neurons):
        return
    k = state.top_values.shape[1]
    touched, owner = neurons.unique(return_inverse=True)
    n = len(touched)
    owner = torch.cat([torch.arange(n, device=owner.device).repeat_interleave(k), owner])
    values = torch.cat([state.top_values[touched].flatten(), values])
    places = torch.cat([state.top_places[touched].flatten(), places])
    order = places.argsort(stable=True)
    order = order[values[order].argsort(stable=True, descending=True)]
    order = order[owner[order].argsort(stable=True)]
    owner = owner[order]
    first = torch.searchsorted(owner, torch.arange(n, device=owner.device))
    rank = torch.arange(len(owner), device=owner.device) - first[owner]
    kept = order[rank < k].view(n, k)
    state.top_values[touched] = values[kept]
    state.top_places[touched] = places[kept]
    state.top_contexts[touched] = torch.cat([state.top_contexts[touched].flatten(0, 1), windows])[kept]


def _refresh_sample(state: State, layers: list[Tensor], read: Tensor, places: Tensor, windows: Tensor) -> None:
    hashes = hashed(places)
    hot = (hashes < state.sample_hashes.max()).nonzero().flatten()
    if len(hot) > len(state.sample_hashes):
        hot = hot[hashes[hot].argsort()[: len(state.sample_hashes)]]
    at = read[hot]
    _draw(
        state,
        hashes[hot],
        places[hot],
        windows[hot],
        lambda rows: torch.stack([acts[at[rows]] for acts in layers], dim=1).float(),
    )


def _draw(state: State, hashes: Tensor, places: Tensor, windows: Tensor, values: Callable[[Tensor], Tensor]) -> None:
    """Keep the smallest hashes of the sample and of these candidates; `values` gives the activations of a few."""
    size = len(state.sample_hashes)
    chosen = torch.cat([state.sample_hashes, hashes]).argsort(stable=True)[:size]
    fresh = chosen[chosen >= size] - size
    if not len(fresh):
        return
    leaving = torch.ones(size, dtype=torch.bool, device=hashes.device)
    leaving[chosen[chosen < size]] = False
    state.sample_hashes[leaving] = hashes[fresh]
    state.sample_places[leaving] = places[fresh]
    state.sample_contexts[leaving] = windows[fresh]
    state.sample_values[leaving] = values(fresh)


def hashed(places: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
    """A number from 0 to 2^63 - 1 for each place, as if drawn at random (splitmix64: Steele, Lea and Flood 2014)."""
    x = places * -7046029254386353131
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * -4658895280553007687
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * -7723592293110705685
    return (x ^ ((x >> 31) & ((1 << 33) - 1))) & NOWHERE
