"""The least effect that a role takes, and the role that an unresolved head is nearest to."""

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from tslens.analysis.heads.result import RolesResult

MAJORITY = 0.5
"""Least share of the KL divergence from uniform attention that the keys of a role explain."""
DECIDES = 0.6
"""Least positional fraction of a positional head, and least share of the rest in a content-dependent one."""
DESCRIBED = ("positional", "content-dependent")
"""Roles that are no class of keys."""


class Nearest(NamedTuple):
    """A role, the share of the KL divergence from uniform attention that it explains, with its interval, and its q."""

    role: str
    effect: float
    effect_low: float
    effect_high: float
    q: float
    """NaN where the role was not tested: no key of its class has a null key, or the model does not copy; and in results
    of before it was kept, for `DESCRIBED`."""


def nearest(found: "RolesResult") -> list[Nearest]:
    """For each head, layer by layer, the role whose effect is the largest part of what the role takes."""
    classes = found.axis_names["claim"]
    low, high = found.positional_low, found.positional_high
    unknown = torch.full_like(low, math.nan)
    q = [torch.tensor(found.described_q[role]) if found.described_q else unknown for role in DESCRIBED]
    tried = [
        (DESCRIBED[0], DECIDES, found.positional_fraction, low, high, q[0]),
        (DESCRIBED[1], DECIDES, 1 - found.positional_fraction, 1 - high, 1 - low, q[1]),
    ]
    for i, role in enumerate(classes):
        tried.append((role, MAJORITY, found.claim_effect[i], found.claim_low[i], found.claim_high[i], found.claim_q[i]))
    reached = torch.stack([effect / least for _, least, effect, *_ in tried]).flatten(1)
    best = reached.nan_to_num(-math.inf).argmax(0).tolist()
    flat = [(role, [values.flatten().tolist() for values in of]) for role, _, *of in tried]
    return [Nearest(flat[k][0], *(values[head] for values in flat[k][1])) for head, k in enumerate(best)]
