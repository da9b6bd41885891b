"""Does a neuron fire on one word of which the random tokens hold too few to tell? A second pass draws tokens of it.

A label of one word is held against random tokens (see `labels`), of which a word that is not one token in a hundred has
fewer than 10 among 1,000: *dog* then labels no neuron, however clear it is. Here up to `TOKENS` tokens of every such
word are drawn from the stories, by hashes as the random ones are, and held against these as there: AUROC by story, q
over all neurons that are asked. A neuron's own top tokens, which chose the word, do not count. Both draws are the same
for every order of the stories, batch size and number of parts.

These neurons are not among the counts of labels, which untrained twins have by random tokens alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.neurons.choice import is_too_rare
from tslens.analysis.neurons.labels import ENOUGH, is_clear
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.sample import Sample, draws_of, places_of, refresh
from tslens.models import Spec
from tslens.pos.types import words
from tslens.scan import Batch, Reducer, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

TOKENS = 60
"""Tokens of a word at most."""
Place = tuple[int, int]


@dataclass
class DrawnTokens:
    """Random tokens with the activations of all neurons in question, and tokens of each word with those of its own."""

    word_of: Int[Tensor, " vocabulary"]
    random: Sample
    of_words: dict[int, Sample]


@dataclass(frozen=True)
class WordTokens:
    """A reducer that draws tokens of these words and random ones, with the activations of these neurons."""

    places: tuple[Place, ...]
    """Layer and number of each neuron."""
    words: tuple[int, ...]
    """The word of each (`pos.types.words`)."""
    sample: int = 1000

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """The numbers of the neurons of each word."""
        return {word: [i for i, of in enumerate(self.words) if of == word] for word in dict.fromkeys(self.words)}

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The neurons of the layers in question."""
        return [f"blocks.{layer}.mlp.hook_post" for layer in sorted({layer for layer, _ in self.places})]

    def start(self, model: "LanguageModel") -> DrawnTokens:
        """Empty draws."""
        from tslens.models import tokenizer_of

        tokenizer = tokenizer_of(model)
        empty = partial(Sample.empty, window=1, layers=1, device=torch.device("cpu"))
        of_words = {word: empty(TOKENS, width=len(its)) for word, its in self.members.items()}
        word_of = words(tokenizer.pieces(range(tokenizer.size)))
        return DrawnTokens(word_of, empty(self.sample, width=len(self.places)), of_words)

    def update(self, state: DrawnTokens, activations: Mapping[str, Tensor], batch: Batch) -> DrawnTokens:
        """Draw from the tokens of a batch."""
        mask, tokens = batch.mask.clone(), batch.tokens.flatten()
        mask[:, 0] = False
        acts = [activations[f"blocks.{layer}.mlp.hook_post"][..., neuron].flatten() for layer, neuron in self.places]
        values = torch.stack(acts, dim=1).float().cpu()
        read, keys, where = mask.flatten().nonzero().flatten(), draws_of(batch), places_of(batch)
        ids = tokens[:, None].int()
        refresh(state.random, [values], read, keys, where, ids)
        word = state.word_of[tokens[read]]
        for number in word.unique().tolist():
            if number in state.of_words:
                its = [values[:, self.members[number]]]
                refresh(state.of_words[number], its, read[word == number], keys, where, ids)
        return state

    def merge(self, a: DrawnTokens, b: DrawnTokens) -> DrawnTokens:
        """The draws of both corpora."""
        a.random.merge(b.random)
        for word, drawn in b.of_words.items():
            a.of_words[word].merge(drawn)
        return a

    def finish(self, state: DrawnTokens) -> DrawnTokens:
        """The draws."""
        return state

    def measured(self, drawn: DrawnTokens, found: ProfilesResult) -> Float[np.ndarray, "neuron measure"]:
        """AUROC of each neuron, the lower end of its interval, and p, without its own top tokens of `found`, which
        chose the word; NaN where too few others are left."""
        others = drawn.random.in_order()
        word_of_other = drawn.word_of[others.contexts[:, 0].long()]
        own = {word: tokens.in_order() for word, tokens in drawn.of_words.items()}
        rows = []
        for i, (place, word) in enumerate(zip(self.places, self.words, strict=True)):
            chose = _tops(found, place)
            fresh = torch.tensor([tuple(at) not in chose for at in own[word].places.tolist()], dtype=torch.bool)
            other = word_of_other != word
            values = torch.cat([own[word].values[fresh, 0, self.members[word].index(i)], others.values[other, 0, i]])
            story = torch.cat([own[word].places[fresh, 0], others.places[other, 0]])
            positive = np.arange(len(values)) < int(fresh.sum())
            apart = stats.auroc(values.numpy()[None], positive[None], clusters=story.numpy(), enough=ENOUGH)
            rows.append([float(part[0]) for part in (apart.estimate, apart.low, apart.p)])
        return np.array(rows)


def _tops(found: ProfilesResult, place: Place) -> set[tuple[int, int, int]]:
    """Hash and occurrence of the story, and the position in it, of a neuron's top tokens."""
    there = found.top_story[place] >= 0
    story, position = found.top_story[place][there], found.top_pos[place][there]
    columns = (found.story_hashes[story], found.story_occurrences[story], position)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def rare_words(
    model: "LanguageModel",
    stories: Iterable[str],
    found: ProfilesResult,
    scanned: Callable[[Sequence[Reducer[Any, Any]]], list[Any]] | None = None,
) -> ProfilesResult:
    """The profiles with `rare_words`: the neurons that fire on one word of which the random tokens of `found` hold too
    few. It reads the same stories once more, by `scanned` where that is given.

    Raises:
        InputError: as `scan` does.
    """
    places = [(layer, neuron) for layer, neuron in is_too_rare(found).nonzero().tolist()]
    if not places:
        return replace(found, rare_words=[])
    word_of = words(found.pieces)
    of_places = tuple(int(word_of[found.word[place]]) for place in places)
    reducer = WordTokens(tuple(places), of_places, len(found.sample_tokens))
    measured = reducer.measured((scanned or partial(scan, model, stories))([reducer])[0], found)
    q = stats.benjamini_hochberg(measured[:, 2])
    clear = is_clear(q, measured[:, 1])
    return replace(
        found, rare_words=[list(place) for place, fires in zip(places, clear.tolist(), strict=True) if fires]
    )
