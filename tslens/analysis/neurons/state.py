"""The state of a pass over the neurons: tops, sample and sums."""

import dataclasses

from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.neurons.sample import Sample
from tslens.analysis.neurons.tops import Tops


@dataclasses.dataclass
class ProfilesState:
    """What was seen so far; `neurons` counts through all layers. Every tensor has its final size from the start."""

    tops: Tops
    sample: Sample
    total: Float[Tensor, "layer neuron"]
    fired: Float[Tensor, "layer neuron"]
    effect_tokens: Int[Tensor, "sign layer neuron effect"]
    effect_values: Float[Tensor, "sign layer neuron effect"]
    pieces: list[str]
    bos: int
    model: str
    precision: str = ""
    n_tokens: int = 0
    n_stories: int = 0
