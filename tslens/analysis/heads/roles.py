"""The rule that assigns a role to a head from its evidence.

A head's attention differs from uniform by KL(pattern || uniform) nats, and a role explains a share of these. The unit
is relative to the head, so one rule serves small and large models: in a small story model a head may put only a seventh
of its mass on the previous token and still do nothing else; a mass threshold taken from large models would miss it.

- `diffuse`: the entropy is above 95% of that of uniform attention. There is almost nothing to explain.
- `duplicate token`, `induction`: those keys explain more than half of the nats among the keys other than BOS, they
  get more mass than their null keys (`null.py`), *and* the head does the same on repeated random tokens, where only
  repetition can attract it. Where no key has a null key, or the model does not copy repeated random tokens at all
  (`tslens.copying`), these roles are not assigned.
- `previous token`, `self`: those keys explain more than half of the nats among the keys other than BOS.
  These four roles also require that attention among the keys other than BOS has at least 5% of all nats.
- `BOS sink`: mass on BOS explains more than half of the nats.
- `positional` or `content-dependent`: none of these, and the positional fraction is above 0.6 or below 0.4. Nearer one
  half neither decides: words that are swapped there change about as much of the pattern as they leave.
- `unresolved`: the interval does not decide between these.

The whole 95% interval must lie beyond a threshold; above one half nothing else explains as much. All p-values, over
all heads and roles, are corrected together by Benjamini and Hochberg; a role needs q < 0.05.

The sums come from float32, so their last digits depend on how stories are batched. A head is therefore `unresolved`
where a role depends on a value within `NEAR` of its threshold; rounding never decides a tie.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.evidence import GroupEstimate
from tslens.analysis.heads.nearest import DECIDES, DESCRIBED, MAJORITY
from tslens.analysis.heads.result import CLASSES, ROLES

NEXT_TO_NOTHING = 0.05
DIFFUSE = 1 - NEXT_TO_NOTHING
Q = 0.05
NEAR = 1e-5  # ten times what the batches change in a share
PREFERENCE = (
    "diffuse",
    "induction",
    "duplicate token",
    "previous token",
    "self",
    "BOS sink",
    "positional",
    "content-dependent",
)
"""Where several roles hold, the head gets the first of them: the most specific."""
UNRESOLVED = ROLES.index("unresolved")


@dataclass(frozen=True)
class Decision:
    """The role of every head, and the evidence for each role that was tried."""

    code: Int[Tensor, "layer head"]
    effect: Float[Tensor, "layer head"]
    low: Float[Tensor, "layer head"]
    high: Float[Tensor, "layer head"]
    q: Float[Tensor, "layer head"]
    claim_q: Float[Tensor, "claim layer head"]
    described_q: dict[str, list[list[float]]]
    """Of `DESCRIBED`, which are no class of keys."""


def decide(
    fraction: GroupEstimate,
    entropy_share: GroupEstimate,
    claims: GroupEstimate,
    claim_p: Float[np.ndarray, "claim layer head"],
    off_bos: Float[Tensor, "layer head"],
) -> Decision:
    """The role of every head. `claims` has the classes on its last axis, `claim_p` on its first; `off_bos` is the
    share of the KL divergence from uniform attention that lies among the keys other than BOS."""
    varying = GroupEstimate(1 - fraction.value, 1 - fraction.without)
    by_class = [GroupEstimate(claims.value[..., i], claims.without[..., i]) for i in range(len(CLASSES))]
    tried = dict(zip(CLASSES, by_class, strict=True)) | {
        "positional": fraction,
        "content-dependent": varying,
        "diffuse": entropy_share,
    }
    least = dict.fromkeys(CLASSES, MAJORITY) | dict.fromkeys(DESCRIBED, DECIDES)
    least["diffuse"] = DIFFUSE
    p = np.stack([*claim_p, *(tried[role].p_above(least[role]) for role in list(tried)[len(CLASSES) :])])
    q = dict(zip(tried, torch.as_tensor(stats.benjamini_hochberg(p)), strict=True))

    code = torch.full(fraction.value.shape, UNRESOLVED)
    effect, effect_low, effect_high, effect_q = (
        torch.full(code.shape, torch.nan, dtype=torch.float64) for _ in range(4)
    )
    for role in reversed(PREFERENCE):  # so that the most preferred has the last word
        low, high = tried[role].interval
        verdict = torch.minimum(exceeds(low, least[role]), -exceeds(q[role], Q, missing=1))
        if role in CLASSES and role != "BOS sink":
            verdict = torch.minimum(verdict, exceeds(off_bos, NEXT_TO_NOTHING))
        won, doubtful = verdict == 1, verdict == 0
        code[won], code[doubtful] = ROLES.index(role), UNRESOLVED
        values = (*(x.clamp(0, 1) for x in (tried[role].value, low, high)), q[role])
        for kept, new in zip((effect, effect_low, effect_high, effect_q), values, strict=True):
            kept[won], kept[doubtful] = new[won], torch.nan
    claim_q, described = torch.stack([q[role] for role in CLASSES]), {role: q[role].tolist() for role in DESCRIBED}
    return Decision(code, effect, effect_low, effect_high, effect_q, claim_q, described)


def exceeds(values: Float[Tensor, "*axes"], threshold: float, *, missing: int = -1) -> Int[Tensor, "*axes"]:
    """1 where the values lie above the threshold, -1 where below, 0 within `NEAR` of it, `missing` where NaN."""
    far = (values - threshold).abs() > NEAR
    sign = torch.where(far, (values - threshold).sign(), 0.0)
    return torch.where(values.isnan(), missing, sign).long()
