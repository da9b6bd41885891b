"""Compressor: next-token loss of a model that reads tokens in pairs.

A row `x_0 x_1 x_2 ...` is read as pairs, `(- x_0) (x_1 x_2) (x_3 x_4) ...`. With h_i the trunk's output after the i
pairs before `(x_2i-1 x_2i)`, the decoder predicts that pair's tokens one after the other:

    L = -sum_i [log p(x_2i-1 | h_i) + log p(x_2i | h_i, x_2i-1)] = -sum_t log p(x_t | x_<t)

That is the loss of language modelling, over the same tokens: each after a row's first, given all earlier ones, so nats
per token are comparable with any other model's. Only the model differs (`models.CompressorSpec`); it is similar to
MegaByte (Yu et al. 2023, arXiv 2305.07185) with patches of two tokens.
"""

import dataclasses
from typing import Literal

from tslens import models
from tslens.models import CompressorSpec, LanguageModel, Spec
from tslens.tokenizer import Tokenizer
from tslens.train.objectives.language import LanguageModelling
from tslens.train.settings import Count, settings


@settings("objective")
class CompressorObjective(LanguageModelling):
    """Cross-entropy of each token given those before it, for a model that reads them in pairs."""

    sizes: Literal["matched", "published"] = "matched"
    """As many parameters as the recipe's shape has, within 2%, or the published three times as many."""
    encoder_layers: Count | None = None
    trunk_layers: Count | None = None
    decoder_layers: Count | None = None
    """Numbers of layers other than those of these sizes."""

    @property
    def _layers(self) -> dict[str, int]:
        fields = ("encoder_layers", "trunk_layers", "decoder_layers")
        return {field: value for field in fields if (value := getattr(self, field)) is not None}

    def shape(self, spec: Spec) -> CompressorSpec:
        """The compressor that is compared with a model of this spec."""
        chosen = CompressorSpec.matched(spec) if self.sizes == "matched" else CompressorSpec.published(spec)
        return dataclasses.replace(chosen, **self._layers)

    def build(self, spec: Spec, *, seed: int, tokenizer: Tokenizer | None) -> LanguageModel:
        """A compressor in place of a HookedTransformer of this shape."""
        return models.build(self.shape(spec), seed=seed, tokenizer=tokenizer)
