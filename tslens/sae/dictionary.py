"""Dictionaries: directions in which an activation is written, as plain data; the neurons of one layer are one too."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

NEURONS, TRAINED, FROZEN = "neurons", "features", "random features"
KINDS = (NEURONS, TRAINED, FROZEN)
"""The neurons of a block; features of a trained sparse autoencoder; those of a frozen one with random weights."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """A sparse autoencoder with the `k` largest features of each token, or the neurons of one layer."""

    kind: str
    """One of `KINDS`."""
    hook: str
    """The activation that it reads, by TransformerLens's name."""
    encoder: Float[Tensor, "d_in feature"]
    """Empty for neurons, which are read as they are."""
    encoder_bias: Float[Tensor, " feature"]
    decoder: Float[Tensor, "written d_model"]
    """What each feature or neuron writes to the residual stream."""
    decoder_bias: Float[Tensor, " d_in"]
    k: int
    """Features that are active on a token, at most; 0 for neurons."""
    explained: float
    """Share of the activation's variance that the features explain, on stories that they were not trained on; NaN for
    neurons."""

    def encode(self, activation: Float[Tensor, "*place d_read"]) -> Float[Tensor, "*place written"]:
        """The features of every token: the `k` largest, and none below 0."""
        if not self.k:
            return activation
        centred = activation.float() - self.decoder_bias
        values, at = (centred @ self.encoder + self.encoder_bias).topk(self.k, dim=-1)
        return values.new_zeros(*at.shape[:-1], len(self.encoder_bias)).scatter_(-1, at, values.relu())

    def rebuilt(self, activation: Float[Tensor, "*place d_in"]) -> Float[Tensor, "*place d_in"]:
        """The activation, as far as the features explain it."""
        return self.decode(self.encode(activation))

    def decode(self, features: Float[Tensor, "*place written"]) -> Float[Tensor, "*place d_in"]:
        """What these features write, together with the mean."""
        return features @ self.decoder + self.decoder_bias

    def on(self, device: torch.device) -> "Dictionary":
        """The dictionary in a device's memory."""
        parts: dict[str, Any] = {name: x.to(device) for name, x in vars(self).items() if isinstance(x, Tensor)}
        return dataclasses.replace(self, **parts)
