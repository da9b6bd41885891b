"""What a neuron may be called, and which neurons a table shows: of a layer, with a label, or excited by a word."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool
from torch import Tensor

from tslens import pos
from tslens.analysis.neurons.labels import NEARLY
from tslens.errors import InputError
from tslens.nearest import did_you_mean

if TYPE_CHECKING:
    from tslens.analysis.neurons.result import ProfilesResult

TOKEN, UNRESOLVED = "token", "unresolved"
PREDICTS, TAIL, UNTESTED = "predicts", "tail selector", "untested"
"""What other stories say of a label."""
RARE = "rare word"
"""Said of a neuron of one word that the random tokens do not test."""


def check(n_layers: int, pieces: Sequence[str], layer: int | None, label: str | None, word: str | None) -> None:
    """InputError for a layer that the model does not have, an unknown label, or a word that is no token of its own."""
    if layer is not None and not 0 <= layer < n_layers:
        raise InputError(f"--layer is {layer}; layers run from 0 to {n_layers - 1}.")
    known = (*pos.TAGS, TOKEN, UNRESOLVED)
    if label is not None and label.casefold() not in map(str.casefold, known):
        near = did_you_mean(label.upper(), known)
        raise InputError(f"--label is {label!r}; it may be {', '.join(known[:-1])} or {known[-1]}.{near}")
    if word is not None and not (word.strip() and _tokens(pieces, word)):
        raise InputError(f"--word is {word!r}, which is no token of this model: give one that is, or a piece of it.")


def is_too_rare(found: "ProfilesResult") -> Bool[Tensor, "layer neuron"]:
    """Which neurons have no label, and on top nearly one word alone, of which the random sample has fewer than 10
    tokens: too few to test it."""
    return ~found.is_labelled & (found.word_share >= NEARLY) & found.word_q.isnan()


def choose(
    found: "ProfilesResult", layer: int | None = None, label: str | None = None, word: str | None = None
) -> "ProfilesResult":
    """The answer with a table of these neurons only: of a layer, with a label, or with the word among their top tokens,
    those with the largest share of it first. InputError as for `check`."""
    check(len(found.label), found.pieces, layer, label, word)
    tokens = torch.tensor(_tokens(found.pieces, word) if word else [-2])
    there = found.top_tokens >= 0
    share = (torch.isin(found.top_tokens, tokens) & there).sum(-1) / there.sum(-1).clamp(min=1)
    chosen: Iterable[tuple[int, int]] = ((i, j) for i, row in enumerate(share) for j in range(len(row)))
    if layer is not None:
        chosen = (place for place in chosen if place[0] == layer)
    if label is not None:
        chosen = (place for place in chosen if _kind(found, *place) == label.casefold())
    if word is not None:
        of_word = [place for place in chosen if share[place] > 0]
        chosen = sorted(of_word, key=lambda place: (-float(share[place]), place))
    return replace(found, chosen=[list(place) for place in chosen], of_word=(word or "").strip())


def _tokens(pieces: Sequence[str], word: str) -> list[int]:
    """The tokens that are the word, with or without a space before it, in any case."""
    return [i for i, piece in enumerate(pieces) if piece.strip().casefold() == word.strip().casefold()]


def _kind(found: "ProfilesResult", layer: int, neuron: int) -> str:
    return found.name_of(layer, neuron).partition(":")[0].casefold()
