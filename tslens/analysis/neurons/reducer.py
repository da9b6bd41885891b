"""How are all neurons read in one pass, at hardly more than the cost of running the model?

Beside each neuron's tops a random sample of tokens is kept, the same for all neurons: those with the smallest hashes of
(story, position). Both are associative and do not grow with the corpus. Sums, counts and the largest values of a story
are taken while its activations are still in the processor's cache.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.neurons.finish import answer
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.state import POSITIONS, State
from tslens.analysis.neurons.threads import in_threads
from tslens.analysis.neurons.tops import BLOCK, NOWHERE, Tops, reaching
from tslens.errors import InputError
from tslens.models import Spec, name_of, readout, spec_of, tokenizer_of
from tslens.scan import BATCH_TOKENS, Batch, scan

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

MOST = 1000  # top tokens of a neuron
SIDE = 5  # tokens of context either side


@dataclasses.dataclass(frozen=True)
class Profiles:
    """The reducer behind `ProfilesResult`.

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
                raise InputError(f"{name}={getattr(self, name)} leaves nothing to show; give 1 or more.")
        if self.k > MOST:
            raise InputError(f"k={self.k} tokens of every neuron would not fit in memory; give {MOST:,} at most.")

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Each layer's neurons after the nonlinearity (and the gate, where there is one)."""
        return [f"blocks.{i}.mlp.hook_post" for i in range(spec.n_layers)]

    def start(self, model: "HookedTransformer") -> State:
        """The empty state, with the vocabulary and each neuron's effect on the logits."""
        spec, tokenizer = spec_of(model), tokenizer_of(model)
        layers, width, window = spec.n_layers, spec.mlp_width, 2 * SIDE + 1
        device = next(model.parameters()).device
        tokens, values = logit_effect(model, min(self.effect, tokenizer.size))

        def full(*shape: int, of: float, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.full(shape, of, dtype=dtype, device=device)

        return State(
            tops=Tops.empty(layers * width, self.k, window, device),
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
        place = batch.indices[:, None] * POSITIONS + torch.arange(batch.tokens.shape[1])
        state.n_tokens += len(read)
        state.n_stories += len(batch.texts)
        layers = [activations[f"blocks.{i}.mlp.hook_post"] for i in range(len(state.total))]
        state.precision = str(layers[0].dtype).removeprefix("torch.")
        if len(read):
            stories = [(0 if self.bos else 1, length) for length in batch.mask.sum(1).tolist()]
            places, windows = place.flatten().to(device), contexts(batch).to(device)
            _read_layers(state, layers, stories, places, windows)
            _refresh_sample(state, [acts.flatten(0, 1) for acts in layers], read.to(device), places, windows)
        return state

    def merge(self, a: State, b: State) -> State:
        """Both corpora; associative, and equal to one pass over both."""
        a.tops.merge(b.tops)
        _draw(a, b.sample_hashes, b.sample_places, b.sample_contexts, lambda rows: b.sample_values[rows])
        a.total += b.total
        a.fired += b.fired
        a.n_tokens += b.n_tokens
        a.n_stories += b.n_stories
        a.precision = a.precision or b.precision
        return a

    def finish(self, state: State) -> ProfilesResult:
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


def _read_layers(
    state: State,
    layers: Sequence[Float[Tensor, "batch pos neuron"]],
    stories: Sequence[tuple[int, int]],
    places: Int[Tensor, " row"],
    windows: Int[Tensor, "row window"],
) -> None:
    """Sums, counts and tops. `stories` are the positions `[begin, end)` that are read of each row of the batch."""
    _, length, width = layers[0].shape
    device = layers[0].device
    blocks = [
        (row * length + at, row * length + min(at + BLOCK, end))
        for row, (begin, end) in enumerate(stories)
        for at in range(begin, end, BLOCK)
    ]
    floor, last = state.tops.bounds()

    def read(i: int) -> tuple[Tensor, Tensor, Tensor]:
        room = torch.empty(2, length, width, device=device)
        peaks = torch.empty(len(blocks), width, device=device)
        filled = 0
        for row, (begin, end) in enumerate(stories):
            n = len(range(begin, end, BLOCK))
            _read_story(layers[i][row, begin:end], state.total[i], state.fired[i], peaks[filled : filled + n], room)
            filled += n
        own = floor[i * width : (i + 1) * width]
        at, column, values = reaching(layers[i].flatten(0, 1), blocks, peaks, own, state.tops.values.shape[1])
        neurons = column + i * width
        better = (values > floor[neurons]) | (places[at] <= last[neurons])
        return neurons[better], values[better], at[better]

    every = range(len(layers))
    found = in_threads(read, every) if device.type == "cpu" else [read(i) for i in every]
    neurons, values, at = (torch.cat(parts) for parts in zip(*found, strict=True))
    state.tops.admit(neurons, values, places[at], windows[at])


def _read_story(acts: Tensor, total: Tensor, fired: Tensor, peaks: Tensor, room: Tensor) -> None:
    """Add one story's activations `[pos neuron]` to the sums, and write the largest value of each block of them."""
    n = len(acts)
    if not n:
        return
    ones = acts.new_ones(n, dtype=torch.float32)
    exact = acts if acts.dtype is torch.float32 else room[1, :n].copy_(acts)
    total += torch.mv(exact.T, ones)
    fired += torch.mv(torch.gt(exact, 0, out=room[0, :n]).T, ones)
    whole = n // BLOCK
    torch.amax(exact[: whole * BLOCK].unflatten(0, (whole, BLOCK)), 1, out=peaks[:whole])
    if n % BLOCK:
        torch.amax(exact[whole * BLOCK :], 0, out=peaks[whole])


def _refresh_sample(state: State, layers: list[Tensor], read: Tensor, places: Tensor, windows: Tensor) -> None:
    hashes = hashed(places[read])
    hot = (hashes < state.sample_hashes.max()).nonzero().flatten()
    if len(hot) > len(state.sample_hashes):
        hot = hot[hashes[hot].argsort()[: len(state.sample_hashes)]]
    at = read[hot]
    _draw(
        state,
        hashes[hot],
        places[at],
        windows[at],
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


def profiles(
    model: "HookedTransformer",
    stories: Iterable[str],
    *,
    k: int = 20,
    sample: int = 1000,
    effect: int = 8,
    bos: bool = False,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
    progress: bool = True,
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
        progress=progress,
    )
