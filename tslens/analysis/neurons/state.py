"""The state of a pass over the neurons: tops, sample and sums."""

import dataclasses

from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.neurons.sample import Sample
from tslens.analysis.neurons.tops import Tops


@dataclasses.dataclass
class ProfilesState:
    """Tops, sample and sums so far; the axis `neurons` runs over all layers. No tensor changes its size."""

    tops: Tops
    sample: Sample
    total: Float[Tensor, "layer neuron"]
    fired: Float[Tensor, "layer neuron"]
    seen: Float[Tensor, " vocabulary"]
    effect_tokens: Int[Tensor, "sign layer neuron effect"]
    effect_values: Float[Tensor, "sign layer neuron effect"]
    pieces: list[str]
    bos: int
    model: str
    precision: str = ""
    n_tokens: int = 0
    n_stories: int = 0
