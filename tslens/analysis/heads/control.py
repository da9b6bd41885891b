"""What controls score for each kind: the thresholds of kinds of keys and of written classes."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.errors import InputError


@dataclass(frozen=True)
class Control:
    """What the heads of untrained twins, and those turned at random, score (`tslens.twins.control`)."""

    thresholds: tuple[float, ...] = ()
    """The 99th percentile of each kind's score over all heads of one of both, the larger; empty where none was read."""
    named: tuple[int, ...] = ()
    """For each twin the number of its heads that have a kind, by the thresholds of the other twins."""
    turned: tuple[int, ...] = ()
    """The same of each copy of the model whose heads are turned at random (`tslens.models.twins`)."""

    def threshold(self, kinds: int) -> Float[Tensor, " kind"]:
        """The thresholds of so many kinds, NaN where no twin was read. InputError if they are of other kinds."""
        if len(self.thresholds) not in (0, kinds):
            raise InputError(f"{len(self.thresholds)} thresholds were given for {kinds} kinds. Give one for each.")
        return torch.tensor(self.thresholds or [torch.nan] * kinds).float()


NO_TWINS = Control()
