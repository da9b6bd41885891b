"""What the place of keys in the story explains of the attention to each kind of key.

Stories begin alike: "Once upon a time," has its comma at the fifth place. A head that looks at this place whatever is
there would seem to choose commas. So its attention is also replaced by the mean, over natural stories, of what queries
as far into the story give the key at the same place; a head has a kind only if its own attention exceeds this. Places
are told apart up to the 64th, from there on to a fifth, and queries by octave.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.kinds_weights import ROWS, StoryWeights
from tslens.analysis.heads.sums import AddedSums
from tslens.models import Spec

EXACT, KEYS = 64, 128
"""Keys whose places are told apart, and places of keys, from 0."""


@dataclass
class PlaceSums(AddedSums):
    """Sums by place: how far a query is into the story, and where its key is."""

    weights: Float[Tensor, "group layer row place"]
    """The weights of keys of a kind, less those of null keys."""
    mass: Float64[Tensor, "layer head place"]
    """Attention, of natural stories."""
    pairs: Float64[Tensor, "layer place"]
    """Their queries and keys."""

    @classmethod
    def empty(cls, spec: Spec, groups: int) -> "PlaceSums":
        """No sums yet."""
        places = KEYS * spec.n_ctx.bit_length()
        return cls(
            torch.zeros(groups, spec.n_layers, len(ROWS), places),
            torch.zeros(spec.n_layers, spec.n_heads, places, dtype=torch.float64),
            torch.zeros(spec.n_layers, places, dtype=torch.float64),
        )

    def add(
        self,
        group: int,
        layer: int,
        pattern: Float[Tensor, "head query key"],
        weights: Float[Tensor, "row place"],
    ) -> None:
        """Add one natural story's attention in one layer, and its weights by place."""
        n = pattern.shape[-1]
        self.weights[group, layer, :, : weights.shape[1]] += weights
        of_octave = self.mass[layer].unflatten(1, (-1, KEYS))
        for octave in range((n - 1).bit_length()):
            queries = slice(1 << octave if octave else 0, 2 << octave)
            of_octave[:, octave].index_add_(1, keys_of(n), pattern[:, queries].sum(1).double())
        self.pairs[layer] += torch.bincount(places_of(n)[1], minlength=self.pairs.shape[1])

    def explained(self) -> Float64[Tensor, "group layer head row"]:
        """What the mean attention by place gives the keys of each kind, less what it gives their null keys."""
        mean = (self.mass / self.pairs.clamp(min=1)[:, None]).float()
        return torch.einsum("glrp,lhp->glhr", self.weights, mean).double()


def by_place(weights: StoryWeights, n: int) -> Float[Tensor, "row place"]:
    """The sums of a story's weights by place."""
    from scipy.sparse import csr_array

    pair, place = (part.numpy() for part in places_of(n))
    shape = (n * n, KEYS * n.bit_length())
    return torch.from_numpy(
        (weights.matrix @ csr_array((np.ones(len(pair), np.float32), (pair, place)), shape)).toarray()
    )


@lru_cache(maxsize=64)
def places_of(n: int) -> tuple[Int[Tensor, " pair"], Int[Tensor, " pair"]]:
    """Every pair of a query and a key that is not after it among `n` tokens, as `query * n + key`, and its place."""
    octave = torch.arange(n).clamp(min=1).double().log2().floor().long()
    pair = torch.ones(n, n).tril().flatten().nonzero()[:, 0]
    return pair, octave[pair // n] * KEYS + keys_of(n)[pair % n]


@lru_cache(maxsize=64)
def keys_of(n: int) -> Int[Tensor, " key"]:
    """The place of each of `n` keys."""
    at = np.arange(n)
    return torch.from_numpy(np.where(at < EXACT, at, stats.octave_bins(np.maximum(at - EXACT + 1, 1)) + EXACT - 1))
