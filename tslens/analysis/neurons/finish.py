"""The last step of a pass: from tops, sample and sums to a `ProfilesResult`."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import pos
from tslens.analysis.neurons.evidence import preference, tags_of, words
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.state import POSITIONS, State
from tslens.analysis.neurons.tops import NOWHERE
from tslens.errors import InputError

QUANTILES = (0.99, 0.95, 0.9, 0.75, 0.5)
EXAMPLES = 3  # about each quantile
RANDOM = 10  # examples without choice


def answer(state: State) -> ProfilesResult:
    """The answer; ValueError where the corpus had no token."""
    if not state.n_tokens:
        raise InputError("No token was read: every story is empty. Give stories with words in them.")
    layers, width = state.total.shape
    tops = state.tops.ranked()
    places, contexts = tops.places.cpu(), tops.contexts.cpu()
    order = state.sample_hashes.cpu().argsort(stable=True)
    order = order[: int((state.sample_places != NOWHERE).sum())]
    drawn, around = state.sample_places.cpu()[order], state.sample_contexts.cpu()[order]
    values = state.sample_values.cpu()[order].flatten(1).T.contiguous()
    top_tags, sample_tags, same = _tags(places, contexts, drawn, around, state)
    middle = contexts.shape[-1] // 2
    top_tokens, sample_tokens = contexts[..., middle], around[:, middle]
    word_of = words(state.pieces)
    found = preference(top_tags, word_of[top_tokens.clamp(min=0)], same, sample_tags, word_of[sample_tokens], values)
    examples = _examples(values)

    def each(x: Tensor) -> Tensor:
        return x.cpu().unflatten(0, (layers, width))

    filled = places != NOWHERE
    tokens, effect = state.effect_tokens.cpu(), state.effect_values.cpu()
    return ProfilesResult(
        firing_rate=(state.fired / state.n_tokens).float().cpu(),
        mean=(state.total / state.n_tokens).float().cpu(),
        max=each(tops.values[:, 0]),
        label=each(found.label),
        best=each(found.best),
        share=each(found.share),
        share_low=each(found.share_low),
        share_high=each(found.share_high),
        lift=each(found.lift),
        q=each(found.q),
        auroc=each(found.auroc),
        auroc_low=each(found.auroc_low),
        auroc_high=each(found.auroc_high),
        distinct=each(found.distinct),
        by_word=each(found.by_word),
        word=each(_example(found.word, word_of, top_tokens)),
        word_share=each(found.word_share),
        word_q=each(found.word_q),
        word_auroc=each(found.word_auroc),
        word_auroc_low=each(found.word_auroc_low),
        tag_share=each(found.tag_share),
        tag_base=found.tag_base,
        top_values=each(tops.values.cpu().masked_fill(~filled, torch.nan)),
        top_tokens=each(top_tokens),
        top_tags=each(top_tags),
        top_story=each(torch.where(filled, places // POSITIONS, -1)),
        top_pos=each(torch.where(filled, places % POSITIONS, -1)),
        top_contexts=each(contexts),
        sample_tokens=sample_tokens,
        sample_tags=sample_tags,
        sample_story=drawn // POSITIONS,
        sample_pos=drawn % POSITIONS,
        sample_contexts=around,
        random_values=each(values[:, :RANDOM]),
        quantile_values=each(torch.take_along_dim(values, examples.flatten(1), 1).view(examples.shape)),
        quantile_samples=each(examples),
        promoted_tokens=tokens[0],
        promoted_values=effect[0],
        suppressed_tokens=tokens[1],
        suppressed_values=effect[1],
        quantiles=list(QUANTILES),
        tags=list(pos.TAGS),
        pieces=state.pieces,
        model=state.model,
        precision=state.precision,
        n_tokens=state.n_tokens,
        n_stories=state.n_stories,
    )


def _example(
    word: Int[Tensor, " neurons"], word_of: Int[Tensor, " vocabulary"], tokens: Int[Tensor, "neurons rank"]
) -> Int[Tensor, " neurons"]:
    """The token as which the word stands highest in each neuron's list; -1 where there is none."""
    fits = (word_of[tokens.clamp(min=0)] == word[:, None]) & (tokens >= 0)
    highest = tokens.gather(1, fits.int().argmax(1, keepdim=True))[:, 0]
    return torch.where(fits.any(1), highest, -1)


def _tags(
    places: Int[Tensor, "neurons rank"],
    contexts: Int[Tensor, "neurons rank window"],
    drawn: Int[Tensor, " sample"],
    around: Int[Tensor, "sample window"],
    state: State,
) -> tuple[Int[Tensor, "neurons rank"], Int[Tensor, " sample"], Int[Tensor, "neurons rank"]]:
    """Tags of the top places (-1 where empty) and of the sample, and a number for each top place's context.

    Neurons share many of their top tokens; each different context is tagged once.
    """
    both = torch.cat([places.flatten(), drawn]).numpy()
    rows = torch.cat([contexts.flatten(0, 1), around])
    _, first, where = np.unique(both, return_index=True, return_inverse=True)
    distinct, number = rows[first].unique(dim=0, return_inverse=True)
    known = distinct[:, distinct.shape[1] // 2] >= 0
    tags = torch.full((len(distinct),), -1, dtype=torch.int64)
    tags[known] = tags_of(distinct[known], state.pieces, state.bos)
    same = number[torch.from_numpy(where)]
    n = places.numel()
    return tags[same[:n]].view(places.shape), tags[same[n:]], same[:n].view(places.shape)


def _examples(values: Float[Tensor, "neurons sample"]) -> Int[Tensor, "neurons quantile example"]:
    """Which tokens of the sample lie about each quantile of each neuron, the larger activation first."""
    n = values.shape[1]
    order = values.argsort(dim=1, descending=True, stable=True)
    about = torch.tensor([round((1 - q) * (n - 1)) for q in QUANTILES])[:, None]
    places = (about + torch.arange(EXAMPLES) - EXAMPLES // 2).clamp(0, n - 1)
    return order[:, places.flatten()].unflatten(1, places.shape)
