"""Which role has a head earned? The rule, from evidence to a word.

A head departs from uniform attention by KL(pattern || uniform) nats, and a role is a share of that departure. This
unit is the head's own, so one rule serves small models and large ones: in a small story model a head may put only a
seventh of its mass on the previous token and still do nothing else, where a threshold on the mass, taken from large
models, would miss it.

- `diffuse`: the entropy is above 95% of what uniform attention has. There is next to nothing to explain.
- `duplicate token`, `induction`: those keys explain more than half of what attention does among the keys other than
  BOS, more mass lies on them than where another story has its own, *and* the head does the same on repeated random
  tokens, where nothing but repetition can draw it.
- `previous token`, `self`: those keys explain more than half of what attention does among the keys other than BOS.
  Of the last four: provided that attention among those keys is at least 5% of the departure.
- `BOS sink`: mass on BOS explains more than half of the departure.
- `positional` or `semantic`: none of these, and the positional fraction is above or below one half.
- `unresolved`: the interval does not settle it.

"More than half" means that the whole 95% interval is: nothing else then explains as much. Every p-value, over all
heads and all roles, goes through Benjamini and Hochberg together; a role needs q < 0.05.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.evidence import Estimate
from tslens.analysis.heads.result import CLASSES, ROLES

MAJORITY = 0.5
NEXT_TO_NOTHING = 0.05
DIFFUSE = 1 - NEXT_TO_NOTHING
Q = 0.05
PREFERENCE = ("diffuse", "induction", "duplicate token", "previous token", "self", "BOS sink", "positional", "semantic")
"""Where several roles hold, the first is the head's: the most particular."""


@dataclass(frozen=True)
class Decision:
    """The role of every head, and the evidence for each role that was tried."""

    code: Int[Tensor, "layer head"]
    effect: Float[Tensor, "layer head"]
    low: Float[Tensor, "layer head"]
    high: Float[Tensor, "layer head"]
    q: Float[Tensor, "layer head"]
    claim_q: Float[Tensor, "claim layer head"]


def content_fraction(fraction: Estimate) -> Estimate:
    """What the story decides: one minus the positional fraction, less what comes only of having few stories.

    A mean pattern over few stories is noisy, and the noise looks like content. The jackknife tells how much.
    """
    noise = (-fraction.bias).clamp(min=0)
    return Estimate(1 - fraction.value - noise, 1 - fraction.without - noise)


def decide(
    fraction: Estimate,
    entropy_share: Estimate,
    claims: Estimate,
    claim_p: Float[np.ndarray, "claim layer head"],
    off_bos: Float[Tensor, "layer head"],
) -> Decision:
    """The role of every head. `claims` has the classes on its last axis, `claim_p` on its first; `off_bos` is the
    share of the departure that lies among the keys other than BOS."""
    varying = content_fraction(fraction)
    tried: dict[str, tuple[Tensor, Tensor, Tensor, Tensor]] = {}

    def add(role: str, estimate: tuple[Tensor, Tensor, Tensor], holds: Tensor) -> None:
        value, low, high = (x.clamp(0, 1) for x in estimate)
        tried[role] = (value, low, high, holds)

    low, high = claims.interval
    for i, role in enumerate(CLASSES):
        active = (off_bos >= NEXT_TO_NOTHING) | torch.tensor(role == "BOS sink")
        add(role, (claims.value[..., i], low[..., i], high[..., i]), (low[..., i] > MAJORITY) & active)
    add("positional", (fraction.value, *fraction.interval), fraction.interval[0] > MAJORITY)
    add("semantic", (varying.value, *varying.interval), varying.interval[0] > MAJORITY)
    add("diffuse", (entropy_share.value, *entropy_share.interval), entropy_share.interval[0] > DIFFUSE)

    p = np.stack([*claim_p, fraction.p_above(MAJORITY), varying.p_above(MAJORITY), entropy_share.p_above(DIFFUSE)])
    q = dict(zip(tried, torch.as_tensor(stats.benjamini_hochberg(p)), strict=True))

    shape = fraction.value.shape
    code = torch.full(shape, ROLES.index("unresolved"))
    effect, effect_low, effect_high, effect_q = (torch.full(shape, torch.nan, dtype=torch.float64) for _ in range(4))
    for role in reversed(PREFERENCE):
        value, low, high, holds = tried[role]
        won = holds & (q[role] < Q)
        code[won] = ROLES.index(role)
        for kept, new in ((effect, value), (effect_low, low), (effect_high, high), (effect_q, q[role])):
            kept[won] = new[won]
    return Decision(code, effect, effect_low, effect_high, effect_q, torch.stack([q[role] for role in CLASSES]))
