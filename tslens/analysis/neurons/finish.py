"""The `ProfilesResult` of a pass, from its tops, sample and sums."""

import dataclasses
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import pos, stats
from tslens.analysis.neurons.labels import Preference, preference
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample
from tslens.analysis.neurons.state import ProfilesState
from tslens.analysis.neurons.tops import NOWHERE, Tops
from tslens.analysis.neurons.words import tags_of
from tslens.draws import draw
from tslens.errors import InputError
from tslens.pos.types import words

QUANTILES = (0.99, 0.95, 0.9, 0.75, 0.5)
EXAMPLES = 3  # about each quantile
RANDOM = 10  # examples without choice

Part = TypeVar("Part", Tops, Sample)


def result_of(state: ProfilesState, k: int) -> ProfilesResult:
    """The result with `k` top tokens of each neuron; InputError if the corpus had no token."""
    _check_read(state)
    tops, sample = _on_cpu(state.tops.ranked().first(k)), _on_cpu(state.sample.in_order())
    top_tokens, sample_tokens = (part.contexts[..., part.contexts.shape[-1] // 2] for part in (tops, sample))
    top_tags, sample_tags, same = _tags(tops, sample, state)
    values, word_of = sample.values.flatten(1).T.contiguous(), words(state.pieces)
    (stories, top_story, sample_story), quantiles = _stories(tops, sample), _examples(values)
    frequency, read = torch.bincount(word_of, weights=state.seen).long(), word_of[sample_tokens]
    found = preference(
        top_tags, word_of[top_tokens.clamp(min=0)], same, sample_tags, read, sample_story, values, frequency
    )
    by_neuron: dict[str, Tensor] = {
        **_labels(found, word_of, top_tokens),
        "max": tops.values.amax(1),
        "top_values": tops.values.masked_fill(tops.keys == NOWHERE, torch.nan),
        "top_tokens": top_tokens,
        "top_tags": top_tags,
        "top_story": top_story,
        "top_pos": tops.places[..., 2],
        "top_contexts": tops.contexts,
        "random_values": values[:, :RANDOM],
        "quantile_values": torch.take_along_dim(values, quantiles.flatten(1), 1).view(quantiles.shape),
        "quantile_samples": quantiles,
    }
    fields: dict[str, Any] = {name: x.unflatten(0, state.total.shape) for name, x in by_neuron.items()}
    return ProfilesResult(
        firing_rate=(state.fired / state.n_tokens).float().cpu(),
        mean=(state.total / state.n_tokens).float().cpu(),
        **fields,
        promoted_tokens=state.effect_tokens[0].cpu(),
        promoted_values=state.effect_values[0].cpu(),
        suppressed_tokens=state.effect_tokens[1].cpu(),
        suppressed_values=state.effect_values[1].cpu(),
        story_hashes=stories[:, 0],
        story_occurrences=stories[:, 1],
        tag_base=found.tag_base,
        sample_tokens=sample_tokens,
        sample_tags=sample_tags,
        sample_story=sample_story,
        sample_pos=sample.places[:, 2],
        sample_contexts=sample.contexts,
        quantiles=list(QUANTILES),
        tags=list(pos.TAGS),
        pieces=state.pieces,
        model=state.model,
        precision=state.precision,
        n_tokens=state.n_tokens,
        n_stories=state.n_stories,
    )


def _check_read(state: ProfilesState) -> None:
    if not state.n_tokens:
        raise InputError("No token was read: every story is empty. Give stories with words in them.")


def _on_cpu(part: Part) -> Part:
    return dataclasses.replace(part, **{name: x.cpu() for name, x in vars(part).items()})


def _stories(
    tops: Tops, sample: Sample
) -> tuple[Int[Tensor, "story 2"], Int[Tensor, "neurons rank"], Int[Tensor, " sample"]]:
    """Hash and occurrence of every story in use, and the row of each place's story among them (-1: no place)."""
    places = torch.cat([tops.places.flatten(0, 1), sample.places])
    filled = places[:, 2] >= 0
    seeds = draw(places[filled, 0], places[filled, 1]).numpy()  # one number for both, which is faster to sort
    _, first, inverse = np.unique(seeds, return_index=True, return_inverse=True)
    row = torch.full((len(places),), -1)
    row[filled] = torch.from_numpy(inverse)
    n = tops.keys.numel()
    return places[filled][first, :2], row[:n].view(tops.keys.shape), row[n:]


def _labels(
    found: Preference, word_of: Int[Tensor, " vocabulary"], top_tokens: Int[Tensor, "neurons rank"]
) -> dict[str, Tensor]:
    """What was found of each neuron, words as token ids."""
    fields = {name: x for name, x in vars(found).items() if name != "tag_base"}
    word, drawn = _example(found.word, word_of, top_tokens), _first(found.drawn_words, word_of)
    return fields | {"word": word, "drawn_words": drawn}


def _first(numbers: Int[Tensor, "neurons drawn"], word_of: Int[Tensor, " vocabulary"]) -> Int[Tensor, "neurons drawn"]:
    """For each word number the first token that is this word; -1 stays."""
    first = torch.full((len(word_of) + 1,), -1)
    first[word_of.flip(0)] = torch.arange(len(word_of)).flip(0)
    return first[numbers]  # the last entry, that of -1, is -1


def _example(
    word: Int[Tensor, " neurons"], word_of: Int[Tensor, " vocabulary"], tokens: Int[Tensor, "neurons rank"]
) -> Int[Tensor, " neurons"]:
    """The highest token of the word in each neuron's list; -1 where there is none."""
    fits = (word_of[tokens.clamp(min=0)] == word[:, None]) & (tokens >= 0)
    highest = tokens.gather(1, fits.int().argmax(1, keepdim=True))[:, 0]
    return torch.where(fits.any(1), highest, -1)


def _tags(
    tops: Tops, sample: Sample, state: ProfilesState
) -> tuple[Int[Tensor, "neurons rank"], Int[Tensor, " sample"], Int[Tensor, "neurons rank"]]:
    """Tags of the top places (-1 where empty) and of the sample, and a number for each top place's context.

    Neurons share many of their top tokens; each distinct context is tagged once.
    """
    both = torch.cat([tops.keys.flatten(), sample.keys]).numpy()
    rows = torch.cat([tops.contexts.flatten(0, 1), sample.contexts])
    _, first, where = np.unique(both, return_index=True, return_inverse=True)
    distinct, number = rows[first].unique(dim=0, return_inverse=True)
    known = distinct[:, distinct.shape[1] // 2] >= 0
    tags = torch.full((len(distinct),), -1, dtype=torch.int64)
    tags[known] = tags_of(distinct[known], state.pieces, state.bos)
    same = number[torch.from_numpy(where)]
    n, shape = tops.keys.numel(), tops.keys.shape
    return tags[same[:n]].view(shape), tags[same[n:]], same[:n].view(shape)


def _examples(values: Float[Tensor, "neurons sample"]) -> Int[Tensor, "neurons quantile example"]:
    """The tokens of the sample around each quantile of each neuron, the larger activation first."""
    n, order = values.shape[1], torch.from_numpy(stats.argsort_falling(values.numpy()))
    about = torch.tensor([round((1 - q) * (n - 1)) for q in QUANTILES])[:, None]
    places = (about + torch.arange(EXAMPLES) - EXAMPLES // 2).clamp(0, n - 1)
    examples: Tensor = order[:, places.flatten()].unflatten(1, places.shape)
    return examples
