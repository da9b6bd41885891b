"""What does a neuron do on every token of whole stories?"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward
from tslens.analysis.neurons.in_stories_result import InStoriesResult
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.models import name_of, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FIRST = 2
"""Neurons of a layer that are taken because they come first."""


def in_stories(
    model: "LanguageModel",
    stories: Iterable[str],
    chosen: Sequence[tuple[int, int]],
    *,
    reasons: Sequence[str] = (),
    precision: str = "float32",
) -> InStoriesResult:
    """The activation of each of the `chosen` neurons (layer, number) on every token of stories, which are cut to the
    context. `reasons` say why each was chosen.

    Raises:
        InputError: there is no story or no neuron, the model has no such neuron, or the precision is unknown.
    """
    spec, tokenizer, texts = spec_of(model), tokenizer_of(model), list(several_texts(stories))
    if not texts or not chosen:
        raise InputError(f"Activations need a story and a neuron; got {len(texts)} stories, {len(chosen)} neurons.")
    dtype = forward.resolve_dtype(precision, model)
    names = [f"blocks.{layer}.mlp.hook_post" for layer, _ in chosen]
    forward.check_hooks(spec, names)
    device, found = next(model.parameters()).device, []
    rows = [row[: spec.n_ctx] for row in tokenizer.encode(texts)]
    with torch.inference_mode():
        for row in rows:
            seen = forward.activations(model, torch.tensor([row], device=device), names, dtype=dtype)
            found.append(
                torch.stack([_of_neuron(seen[name][0], place) for name, place in zip(names, chosen, strict=True)])
            )
    return InStoriesResult(
        value=torch.cat(found, dim=1).float().cpu(),
        chosen=[list(place) for place in chosen],
        reasons=list(reasons) or [""] * len(chosen),
        tokens=[tokenizer.pieces(row) for row in rows],
        model=name_of(model),
    )


def usual_choice(largest: Float[Tensor, "layer neuron"]) -> dict[tuple[int, int], str]:
    """The neurons that were shown for models of TinyStories, each with the reason: the first of the last layer, the
    first of the layer before it, and the one with the largest activation of all (Eldan and Li 2023, arXiv 2305.07759).
    `largest` is that of each neuron (`ProfilesResult.max`).

    The order of a layer's neurons is arbitrary, so the first are a choice made without looking.
    """
    layers, width = largest.shape
    found: dict[tuple[int, int], str] = {}
    for layer in (layers - 1, layers - 2)[:layers]:
        found |= {(layer, neuron): f"first of layer {layer}" for neuron in range(min(FIRST, width))}
    most = divmod(int(largest.nan_to_num(-torch.inf).argmax()), width)
    among = f"{found[most]}, " if most in found else ""
    return found | {most: f"{among}largest activation of all"}


def _of_neuron(acts: Float[Tensor, "pos neuron"], place: tuple[int, int]) -> Float[Tensor, " pos"]:
    layer, neuron = place
    if not 0 <= neuron < acts.shape[-1]:
        raise InputError(f"There is no neuron {neuron} in layer {layer}: they run from 0 to {acts.shape[-1] - 1}.")
    return acts[:, neuron]
