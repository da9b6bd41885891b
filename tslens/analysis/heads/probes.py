"""Do a head's queries and keys carry the part of speech? (linear probes)

A probe reads a head's query or key vector at the last token of a word, where the whole word has been read, and says the
word's part of speech. It is judged on stories *and* on words that it was not fitted on, both at once: stories and word
types are halved by hashes, and each of the four corners is predicted by the probe of the opposite corner. So a probe
that has learnt a list of words by heart is at chance.

Two baselines read the same tokens in the same way. *Shuffled labels* give each word type the part of speech of another
type of like frequency (a control task, Hewitt and Liang 2019, arXiv 1909.03368, by word type), five times: the one that
is read best counts. *The embedding alone* is the token's embedding, whole or cut to as many dimensions as a head has by
principal components, whichever is read better.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, pos
from tslens.analysis.heads.probes_fit import fit
from tslens.analysis.heads.probes_result import ProbesResult
from tslens.analysis.heads.replaced import texts_of
from tslens.draws import draw
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass
class ProbesState:
    """The sampled words so far, in the order of their keys."""

    model: str
    spec: Spec
    tokenizer: Tokenizer
    embedding: Float[Tensor, "token d_model"]
    keys: Int[Tensor, " word"]
    """A draw for each word, by which the sample is chosen."""
    seeds: Int[Tensor, " word"]
    """Its story's seed."""
    tags: Int[Tensor, " word"]
    """Its part of speech, as its place in `pos.TAGS`."""
    tokens: Int[Tensor, " word"]
    """Its last token."""
    types: list[str]
    """The word without capitals."""
    vectors: Float[Tensor, "word part layer head d_head"]
    """Query and key of every head."""

    def kept(self, n: int) -> "ProbesState":
        """The state with the `n` words of the smallest keys."""
        order = self.keys.argsort(stable=True)[:n]
        self.types = [self.types[i] for i in order.tolist()]
        for name in ("keys", "seeds", "tags", "tokens", "vectors"):
            setattr(self, name, getattr(self, name)[order])
        return self

    def add(self, keys: Tensor, seeds: Tensor, tags: Tensor, tokens: Tensor, types: list[str], vectors: Tensor) -> None:
        """Appends words."""
        new = {"keys": keys, "seeds": seeds, "tags": tags, "tokens": tokens, "vectors": vectors}
        for name, values in new.items():
            setattr(self, name, torch.cat([getattr(self, name), values]))
        self.types = self.types + types


@dataclass(frozen=True)
class Probes:
    """The reducer for `ProbesResult`. Keeps a sample of `words` words, chosen by hashes, with every head's vectors."""

    words: int = 6000

    def __post_init__(self) -> None:
        if self.words < 1:
            raise InputError(f"words={self.words} leaves nothing to probe; give 1 or more.")

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Queries and keys of every layer, before any rotation."""
        return [f"blocks.{i}.attn.hook_{part}" for i in range(spec.n_layers) for part in "qk"]

    def start(self, model: "LanguageModel") -> ProbesState:
        """An empty sample, with the model's token embeddings."""
        spec, none = spec_of(model), torch.zeros(0, dtype=torch.long)
        vectors = torch.zeros(0, 2, spec.n_layers, spec.n_heads, spec.d_head)
        embedding = forward.embeddings(model).detach().float().cpu()
        tokenizer = story_tokenizer_of(model)
        return ProbesState(name_of(model), spec, tokenizer, embedding, none, none, none, none, [], vectors)

    def update(self, state: ProbesState, activations: Mapping[str, Tensor], batch: Batch) -> ProbesState:
        """Sample the words of a batch."""
        rows, at, tags, types = [], [], [], []
        texts = texts_of(batch.texts, state.tokenizer, batch.tokens.shape[1])
        for row, text in enumerate(texts):
            for place in text.places:
                rows.append(row)
                at.append(place.first + len(place.word) - 1)
                tags.append(pos.TAGS.index(place.kind[0]))
                types.append("".join(state.tokenizer.pieces(place.word)).strip().casefold())
        story, last = torch.tensor(rows, dtype=torch.long), torch.tensor(at, dtype=torch.long)
        seeds = batch.seeds[story]
        keys = draw(seeds, last)
        chosen = keys.argsort(stable=True)[: self.words]  # no more of a batch can stay
        story, last = story[chosen], last[chosen]
        vectors = torch.zeros(len(chosen), *state.vectors.shape[1:])
        for layer in range(state.spec.n_layers):
            for part, letter in enumerate("qk"):
                found = activations[f"blocks.{layer}.attn.hook_{letter}"][story, last].float().cpu()
                vectors[:, part, layer] = found.repeat_interleave(state.spec.n_heads // found.shape[1], dim=1)
        kept = [types[i] for i in chosen.tolist()]
        state.add(
            keys[chosen],
            seeds[chosen],
            torch.tensor(tags, dtype=torch.long)[chosen],
            batch.tokens[story, last],
            kept,
            vectors,
        )
        return state.kept(self.words)

    def merge(self, a: ProbesState, b: ProbesState) -> ProbesState:
        """The sample of both."""
        a.add(b.keys, b.seeds, b.tags, b.tokens, b.types, b.vectors)
        return a.kept(self.words)

    def finish(self, state: ProbesState) -> ProbesResult:
        """Fit and judge the probes."""
        of_embedding = state.embedding[state.tokens]
        to_a_key = state.spec.n_heads // state.spec.key_value_heads
        return fit(state.model, state.vectors, of_embedding, state.tags, state.types, state.seeds, to_a_key)


def probes(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    words: int = 6000,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> ProbesResult:
    """How well a linear probe reads the part of speech from every head's queries and keys (see `Probes` and `scan`).

    Raises:
        InputError: no story, too few words of two parts of speech, or a compressor.
    """
    return scan(model, stories, Probes(words), context=context, batch_tokens=batch_tokens, precision=precision)
