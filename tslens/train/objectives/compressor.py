"""Compressor: is a story half as long, read in pairs of tokens, as good?

The loss is that of language modelling, over the same tokens: each token after a row's first, given all before it, so
nats per token compare with any other model's. What differs is the model that is built (`models.CompressorSpec`).
"""

import dataclasses
from typing import Any, Literal

from tslens import models
from tslens.models import CompressorSpec, Spec
from tslens.tokenizer import Tokenizer
from tslens.train.objectives.language import LanguageModelling


@dataclasses.dataclass(frozen=True)
class Compressor(LanguageModelling):
    """Cross-entropy of each token given those before it, of a model that reads them in pairs."""

    sizes: Literal["matched", "published"] = "matched"
    """As many parameters as the recipe's shape has, within 2%, or the published three times as many."""
    encoder_layers: int | None = None
    trunk_layers: int | None = None
    decoder_layers: int | None = None
    """Other numbers of layers than those sizes say."""

    def __post_init__(self) -> None:
        for field, value in self._layers.items():
            if value < 1:
                raise ValueError(f"objective.{field} is {value}; it must be at least 1.")

    @property
    def _layers(self) -> dict[str, int]:
        fields = ("encoder_layers", "trunk_layers", "decoder_layers")
        return {field: value for field in fields if (value := getattr(self, field)) is not None}

    def shape(self, spec: Spec) -> CompressorSpec:
        """The compressor that is held against a model of this spec."""
        chosen = CompressorSpec.matched(spec) if self.sizes == "matched" else CompressorSpec.published(spec)
        return dataclasses.replace(chosen, **self._layers)

    def build(self, spec: Spec, *, seed: int, tokenizer: Tokenizer | None) -> Any:
        """A compressor in place of a HookedTransformer of this shape."""
        return models.build_compressor(self.shape(spec), seed=seed, tokenizer=tokenizer)
