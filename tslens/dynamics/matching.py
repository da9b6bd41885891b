"""Which head and which neuron of one seed is which of another: matched by what they do on the same tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.analysis.heads.repeated import patterns
from tslens.batching import batches
from tslens.errors import InputError
from tslens.models import name_of, spec_of, story_tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

BATCH_TOKENS = 2048


def similarity(
    a: "LanguageModel", b: "LanguageModel", texts: Sequence[str]
) -> tuple[Float[Tensor, "layer head head2"], Float[Tensor, "layer neuron neuron2"]]:
    """How alike every head and every neuron of one model and of another are, on the same tokens, layer by layer.

    Of heads, the attention that they have in common: the sum over keys of the smaller weight, a mean over queries. Of
    neurons, Pearson's correlation of activations over tokens, BOS aside. InputError for two tokenizers.
    """
    if story_tokenizer_of(a).hash != story_tokenizer_of(b).hash:
        raise InputError(f"{name_of(a)} and {name_of(b)} have different tokenizers: they do not read the same tokens.")
    spec = spec_of(a)
    shared = torch.zeros(spec.n_layers, spec.n_heads, spec.n_heads, dtype=torch.float64)
    moments = [_Moments(spec.mlp_width) for _ in range(spec.n_layers)]
    hooks, queries = [f"blocks.{layer}.mlp.hook_post" for layer in range(spec.n_layers)], 0
    with torch.inference_mode():
        for batch in batches(texts, story_tokenizer_of(a), context=spec.n_ctx, batch_tokens=BATCH_TOKENS):
            read = batch.mask.clone()
            read[:, 0] = False
            queries += int(read.sum())
            ours, theirs = (forward.activations(model, batch.tokens, hooks, dtype=torch.float32) for model in (a, b))
            for hook, moment in zip(hooks, moments, strict=True):
                moment.add(ours[hook][read], theirs[hook][read])
            for layer, (p, q) in enumerate(zip(patterns(a, batch.tokens), patterns(b, batch.tokens), strict=True)):
                for head in range(spec.n_heads):
                    least = torch.minimum(p[:, head, None], q).sum(-1)  # [row, head2, query]
                    shared[layer, head] += (least * read[:, None]).sum((0, 2)).double()
    return (shared / queries).float(), torch.stack([moment.correlation() for moment in moments])


class _Moments:
    """Sums from which two sets of neurons are correlated."""

    def __init__(self, width: int) -> None:
        self.n = 0
        self.sums = torch.zeros(2, width, dtype=torch.float64)
        self.squares = torch.zeros(2, width, dtype=torch.float64)
        self.products = torch.zeros(width, width, dtype=torch.float64)

    def add(self, x: Float[Tensor, "token neuron"], y: Float[Tensor, "token neuron2"]) -> None:
        self.n += len(x)
        self.sums += torch.stack([x.double().sum(0), y.double().sum(0)])
        self.squares += torch.stack([x.double().square().sum(0), y.double().square().sum(0)])
        self.products += x.double().T @ y.double()

    def correlation(self) -> Float[Tensor, "neuron neuron2"]:
        mean = self.sums / self.n
        spread = (self.squares / self.n - mean.square()).clamp(min=0).sqrt()
        under = spread[0][:, None] * spread[1][None]
        over = self.products / self.n - mean[0][:, None] * mean[1][None]
        return torch.where(under > 1e-12, over / under, 0.0).float()


def matched(similar: Float[Tensor, "layer unit unit2"]) -> Int[Tensor, "layer unit"]:
    """The unit of the other model that each unit is matched with: one to one within the layer, the sum of their
    similarities as large as possible (Li et al. 2015, arXiv 1511.07543)."""
    from scipy.optimize import linear_sum_assignment

    return torch.stack([torch.as_tensor(linear_sum_assignment(-np.asarray(layer))[1]) for layer in similar])
