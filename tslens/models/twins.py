"""Twins of a model: untrained controls of its shape, freshly initialised or with the values of every weight permuted.

A label that a twin earns too says nothing about training (Adebayo et al. 2018, arXiv 1810.03292; Heap et al. 2025,
arXiv 2501.17727). A fresh twin has the scale of initial weights and attends almost evenly; a permuted one has the
trained distribution of every weight and none of its structure.

A third control is trained but for its heads: those of a *turned* twin compare queries with keys, and write values, in
directions that are rotated at random. What its heads choose comes from the embedding and the neurons, which sort words
by themselves. It counts by itself, and not among the untrained.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.models.building import build, from_weights
from tslens.models.hooked import story_tokenizer_of, weights
from tslens.models.protocols import LanguageModel
from tslens.models.validation import spec_of

KINDS = ("permuted", "fresh")
TURNED = "turned"
MOST = 9_999
"""Twins of a model; with as many the smallest p is 0.0001."""


@dataclass(frozen=True)
class Twin:
    """Which twin of a model: its kind, one of `KINDS` or `TURNED`, and the seed of what is drawn."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} twin {self.seed}"

    def of(self, model: LanguageModel) -> LanguageModel:
        """The twin of this model, on the model's device, with its tokenizer; the model itself is not changed.

        Raises:
            InputError: the kind is unknown, or the model has no tokenizer of text or, for a turned twin, no heads of
                its own.
        """
        if self.kind not in (*KINDS, TURNED):
            raise InputError(f"there is no {self.kind!r} twin; the kinds are {', '.join((*KINDS, TURNED))}")
        spec, tokenizer = spec_of(model, compressors=self.kind != TURNED), story_tokenizer_of(model)
        device = next(model.parameters()).device
        if self.kind == "fresh":
            made = build(spec, seed=self.seed, tokenizer=tokenizer)
        else:
            generator = torch.Generator().manual_seed(self.seed)
            drawn = (_turned if self.kind == TURNED else _permuted)(weights(model), generator)
            made = from_weights(spec, drawn, tokenizer, origin=str(self))
        return made.to(device, print_details=False)


def _permuted(own: dict[str, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
    """Every weight with its values in random order."""
    return {
        name: weight.flatten()[torch.randperm(weight.numel(), generator=generator)].reshape(weight.shape)
        for name, weight in own.items()
    }


def _turned(own: dict[str, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
    """The weights with the keys of every head rotated at random, and the values (Haar, by QR of normal draws)."""
    found, turns = dict(own), {}
    for name, weight in own.items():
        block, _, part = name.rpartition(".")
        if part.removeprefix("_") in ("W_K", "W_V"):
            drawn = torch.randn(weight.shape[0], *[weight.shape[-1]] * 2, generator=generator)
            turns[f"{block}.{part.replace('W', 'b')}"] = turn = torch.linalg.qr(drawn)[0]
            found[name] = weight @ turn.to(weight.dtype)
    for name, turn in turns.items():
        if name in own:
            found[name] = (own[name][:, None] @ turn.to(own[name].dtype))[:, 0]
    return found


def twins(n: int = 19) -> list[Twin]:
    """`n` twins, the kinds in turns: with 19, the most that a count exceeds all of them by chance is p = 0.05.

    InputError for more than `MOST`, which no machine measures.
    """
    if n > MOST:
        raise InputError(f"{n:,} twins are too many: give {MOST:,} or fewer; with 19 p is 0.05 at best.")
    return [Twin(KINDS[i % len(KINDS)], i // len(KINDS)) for i in range(n)]
