"""What FADE's measures rest on: activations on natural and on generated stories, and what the steered model writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward
from tslens.analysis.neurons.halved import is_tested, rows_of, tags_in
from tslens.analysis.neurons.held_out_result import HeldOutResult
from tslens.batching import Batch, chosen
from tslens.draws import draw
from tslens.models import story_tokenizer_of
from tslens.pos.types import tag_of_words, words
from tslens.progress import track
from tslens.stories.generator import generate

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MADE_SEED = 1618
"""Seed of the generated stories."""
STRENGTHS = (0.0, -5.0, -1.0, 1.0, 5.0)
"""What a steered activation is set to, in units of the neuron's own large activation; 0 is what others are compared
with."""
LARGE = 0.999
"""Quantile of a neuron's activations on natural stories that counts as its large activation."""
STEERED = 64  # tokens of a story that is read with a steered neuron
AT_ONCE = 16  # rows whose activations of whole layers exist at a time
LOGITS = 512  # positions whose probabilities exist at a time

Place = tuple[int, int]
Concept = tuple[bool, int]
"""Whether a label is one word, and the number of that word (see `words`) or of the part of speech."""


@dataclass(frozen=True)
class ReadTokens:
    """The tokens of stories, without BOS and padding."""

    ids: Int[np.ndarray, " token"]
    tags: Int[np.ndarray, " token"]
    """Parts of speech, as indices into `pos.TAGS`."""
    row: Int[np.ndarray, " token"]
    """The story of each token."""
    values: Float[np.ndarray, "unit token"]
    """Activations."""


@dataclass(frozen=True)
class FadeEvidence:
    """Activations and steered predictions of labelled neurons and of others, for all measures.

    A unit is a neuron: first those of `places`, then those of `others`.
    """

    labels: HeldOutResult
    places: list[Place]
    """The labelled neurons."""
    others: list[Place]
    """Neurons without a label of the same layers."""
    concepts: list[Concept]
    """The label of each place."""
    natural: ReadTokens
    made: ReadTokens
    """Tokens of generated stories, with their true parts of speech."""
    mass: Float[np.ndarray, "unit strength row concept"]
    """Probability of the next token on the tokens of each different label (`columns`), summed over the positions of a
    story."""
    columns: list[Concept]
    scored: Int[np.ndarray, " row"]
    """Positions of each story that was read with steered neurons."""


def gathered(
    model: "LanguageModel",
    natural: Batch,
    labels: HeldOutResult,
    places: Sequence[Place],
    *,
    prompts: int,
    made: int,
    controls: int,
    context: int,
) -> FadeEvidence:
    """Read natural stories (`other_half`) and `made` generated ones, and steer in the first `prompts` natural ones."""
    if not places:
        empty = np.zeros(0, dtype=np.int64)
        none = ReadTokens(empty, empty, empty, np.zeros((0, 0)))
        return FadeEvidence(labels, [], [], [], none, none, np.zeros((0, len(STRENGTHS), 0, 0)), [], empty)
    tokenizer, word_of = story_tokenizer_of(model), words(labels.pieces)
    truth = {story.text: story.tags for story in generate(made, MADE_SEED)}
    generated = chosen([*truth], tokenizer, rows=made, context=context)
    others = _others(labels, sorted({layer for layer, _ in places}), controls)
    units = [*places, *others]
    read = _read(model, natural, units, tags_in(natural, tokenizer))
    concepts = [
        (False, int(labels.label[at])) if labels.label[at] >= 0 else (True, int(word_of[labels.word[at]]))
        for at in places
    ]
    columns = list(dict.fromkeys(concepts))
    tag = tag_of_words(read.ids, read.tags, len(word_of))
    of_concept = np.stack([(word_of.numpy() if by_word else tag) == number for by_word, number in columns])
    spare = model.unembed.W_U.shape[1] - len(word_of)  # columns of the unembedding that are no token
    of_vocabulary = F.pad(torch.from_numpy(of_concept).float(), (0, spare))
    mass, scored = _steered(model, natural, units, np.quantile(read.values, LARGE, axis=1), of_vocabulary, prompts)
    return FadeEvidence(
        labels=labels,
        places=list(places),
        others=others,
        concepts=concepts,
        natural=read,
        made=_read(model, generated, units, tags_in(generated, tokenizer, [truth[text] for text in generated.texts])),
        mass=mass,
        columns=columns,
        scored=scored,
    )


def other_half(stories: Batch, rows: int) -> Batch:
    """The first `rows` of these stories that gave no label (see `halved`)."""
    return rows_of(stories, is_tested(stories).nonzero().flatten()[:rows])


def _others(labels: HeldOutResult, layers: Sequence[int], n: int) -> list[Place]:
    """Of each layer `n` neurons without a label, or as many as there are, drawn by their numbers."""
    found: list[Place] = []
    for layer in layers:
        free = ((labels.label[layer] < 0) & ~labels.by_word[layer]).nonzero().flatten()
        order = draw(torch.tensor(layer), free).argsort(stable=True)[:n]
        found += [(layer, int(neuron)) for neuron in free[order]]
    return found


def _read(model: "LanguageModel", stories: Batch, units: Sequence[Place], tags: Int[Tensor, "batch pos"]) -> ReadTokens:
    """The tokens of stories with the activations of these neurons."""
    mask, device = stories.mask.clone(), next(model.parameters()).device
    mask[:, 0] = False
    names = [f"blocks.{layer}.mlp.hook_post" for layer in sorted({layer for layer, _ in units})]
    parts = []
    with torch.inference_mode():
        for tokens, real in zip(stories.tokens.split(AT_ONCE), mask.split(AT_ONCE), strict=True):
            acts = forward.activations(model, tokens.to(device), names)
            kept = {name: part[real.to(device)] for name, part in acts.items()}
            parts.append(torch.stack([kept[f"blocks.{layer}.mlp.hook_post"][:, at] for layer, at in units]).cpu())
    return ReadTokens(
        ids=stories.tokens[mask].numpy(),
        tags=tags[mask].numpy(),
        row=mask.nonzero()[:, 0].numpy(),
        values=torch.cat(parts, 1).float().numpy(),
    )


def _steered(
    model: "LanguageModel",
    stories: Batch,
    units: Sequence[Place],
    large: Float[np.ndarray, " unit"],
    concepts: Float[Tensor, "concept d_vocab"],
    prompts: int,
) -> tuple[Float[np.ndarray, "unit strength row concept"], Int[np.ndarray, " row"]]:
    """The probability on the tokens of each concept, summed over a story's positions, where an activation is set at
    every position; and the number of positions.

    What lies before a neuron is computed once: setting its activation moves the residual stream after its block along
    one direction, and only the blocks above run again.
    """
    device = next(model.parameters()).device
    tokens, real = (part[:prompts, :STEERED].to(device) for part in (stories.tokens, stories.mask))
    scored = real[:, 1:] & real[:, :-1]
    row, wanted = scored.nonzero()[:, 0], concepts.T.to(device)
    mass = torch.zeros(len(units), len(STRENGTHS), len(tokens), len(concepts), device=device)
    used = sorted({layer for layer, _ in units})
    names = [f"blocks.{layer}.{part}" for layer in used for part in ("mlp.hook_post", "hook_resid_post")]
    with torch.inference_mode():
        run = forward.EditedForward.of(model)
        _, seen = run(run.embedded(tokens), keep=names, last=used[-1])
        for i, (layer, neuron) in enumerate(track(units, "steering neurons")):
            post = seen[f"blocks.{layer}.mlp.hook_post"]
            for j, strength in enumerate(STRENGTHS):
                change = forward.neuron_change(model, layer, post, neuron, torch.as_tensor(strength * float(large[i])))
                after, _ = run(seen[f"blocks.{layer}.hook_resid_post"] + change, first=layer + 1)
                final = run.normed(after[:, :-1][scored])
                shares = [forward.unembed(model, part).softmax(-1) @ wanted for part in final.split(LOGITS)]
                mass[i, j].index_add_(0, row, torch.cat(shares))
    return mass.double().cpu().numpy(), scored.sum(1).cpu().numpy()


def has(
    concept: Concept, tags: Int[np.ndarray, " token"], of_word: Int[np.ndarray, " token"]
) -> Bool[np.ndarray, " token"]:
    """Which tokens are of a label."""
    by_word, number = concept
    return np.asarray((of_word if by_word else tags) == number)
