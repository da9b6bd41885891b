"""Twins of a model: untrained controls of its shape, freshly initialised or with the values of every weight permuted.

A label that a twin earns too says nothing about training (Adebayo et al. 2018, arXiv 1810.03292; Heap et al. 2025,
arXiv 2501.17727). A fresh twin has the scale of initial weights and attends almost evenly; a permuted one has the
trained distribution of every weight and none of its structure.
"""

from dataclasses import dataclass

import torch

from tslens.errors import InputError
from tslens.models.building import build, from_weights
from tslens.models.hooked import story_tokenizer_of, weights
from tslens.models.protocols import LanguageModel
from tslens.models.validation import spec_of

KINDS = ("permuted", "fresh")


@dataclass(frozen=True)
class Twin:
    """Which twin of a model: its kind, one of `KINDS`, and the seed of what is drawn."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} twin {self.seed}"

    def of(self, model: LanguageModel) -> LanguageModel:
        """The twin of this model, on the model's device, with its tokenizer; the model itself is not changed.

        Raises:
            InputError: the kind is unknown, the model is a compressor, or it has no tokenizer of text.
        """
        if self.kind not in KINDS:
            raise InputError(f"there is no {self.kind!r} twin; the kinds are {', '.join(KINDS)}")
        spec, tokenizer = spec_of(model), story_tokenizer_of(model)
        device = next(model.parameters()).device
        if self.kind == "fresh":
            made = build(spec, seed=self.seed, tokenizer=tokenizer)
        else:
            generator = torch.Generator().manual_seed(self.seed)
            permuted = {
                name: weight.flatten()[torch.randperm(weight.numel(), generator=generator)].reshape(weight.shape)
                for name, weight in weights(model).items()
            }
            made = from_weights(spec, permuted, tokenizer, origin=str(self))
        return made.to(device, print_details=False)


def twins(n: int = 19) -> list[Twin]:
    """`n` twins, the kinds in turns: with 19, the most that a count exceeds all of them by chance is p = 0.05."""
    return [Twin(KINDS[i % len(KINDS)], i // len(KINDS)) for i in range(n)]
