"""Sums over stories of the attention to each kind of key."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.analysis.heads.kinds_places import PlaceSums, by_place
from tslens.analysis.heads.kinds_types import TypeSums
from tslens.analysis.heads.kinds_weights import StoryWeights, story_weights
from tslens.analysis.heads.kinds_words import TokenMarks
from tslens.analysis.heads.reducer import HIDDEN
from tslens.analysis.heads.repeated import RepetitionScores
from tslens.models import Spec
from tslens.tokenizer import Tokenizer


@dataclass
class KindsState:
    """Sums so far, and the model's scores on repeated random tokens."""

    model: str
    spec: Spec
    tokenizer: Tokenizer
    scores: RepetitionScores
    stories: Int[Tensor, " group"]
    """Stories of each group."""
    queries: Float[Tensor, "group layer row"]
    """Queries that have a key of the row's kind with a null key."""
    excess: Float[Tensor, "group layer head row"]
    """Mass on such keys less that on their null keys."""
    types: TypeSums
    """How the heads like each token, of natural stories."""
    places: PlaceSums
    """How they attend by place, of natural stories."""


@dataclass(frozen=True)
class MarkedStory:
    """A story's tokens with what its words say of them, and the weights once they were asked for."""

    tokens: Int[Tensor, " pos"]
    marks: TokenMarks
    of_window: dict[int | None, StoryWeights] = field(default_factory=dict)
    """By the number of tokens that a query sees, None if all."""
    placed: dict[int | None, Float[Tensor, "row place"]] = field(default_factory=dict)
    """The same weights by place."""

    def weights(self, window: int | None) -> StoryWeights:
        """The weights where a query sees so many tokens."""
        if window not in self.of_window:
            visible = forward.causal_mask(len(self.tokens), window, torch.device("cpu"))
            self.of_window[window] = story_weights(self.tokens, self.marks, visible)
        return self.of_window[window]

    def by_place(self, window: int | None) -> Float[Tensor, "row place"]:
        """The sums of these weights by place."""
        if window not in self.placed:
            self.placed[window] = by_place(self.weights(window), len(self.tokens))
        return self.placed[window]


def add_story(state: KindsState, group: int, activations: Mapping[str, Tensor], story: MarkedStory) -> None:
    """Add one story's attention, layer by layer."""
    spec = state.spec
    count_story(state, group, story)
    for layer in range(spec.n_layers):
        pattern = forward.scores(spec, layer, activations, HIDDEN).softmax(-1)[0]
        add_pattern(state, group, layer, pattern, story, forward.window_of(spec, layer))


def count_story(state: KindsState, group: int, story: MarkedStory) -> None:
    """Count one story and its words."""
    state.stories[group] += 1
    if story.marks.natural:
        state.types.read(story.tokens, story.marks)


def add_pattern(
    state: KindsState,
    group: int,
    layer: int,
    pattern: Float[Tensor, "head query key"],
    story: MarkedStory,
    window: int | None = None,
) -> None:
    """Add one story's attention in one layer, whose queries see `window` tokens."""
    weights = story.weights(window)
    state.excess[group, layer] += weights.excess(pattern)
    state.queries[group, layer] += weights.queries.double()
    if story.marks.natural:
        state.types.add(layer, pattern, weights, story.tokens)
        state.places.add(group, layer, pattern, story.by_place(window))
