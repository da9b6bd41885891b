"""The last step of a pass over heads: from sums to every head's measures and, by `roles`, its role."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward
from tslens.analysis.heads.evidence import GroupEstimate, offset_mass, positional_fraction, ratio
from tslens.analysis.heads.keys import BOS, CONTENT, DUPLICATE, INDUCTION, PREVIOUS, SELF
from tslens.analysis.heads.repeated import RepetitionScores
from tslens.analysis.heads.result import RolesResult
from tslens.analysis.heads.roles import decide, exceeds
from tslens.analysis.heads.sums import Sums
from tslens.models import Spec


def finish(spec: Spec, sums: Sums, scores: RepetitionScores, model: str | None = None) -> RolesResult:
    """The `RolesResult` of these sums; `model` is the model's name (default: its shape)."""
    found, queries, log_visible = _estimates(spec, sums), sums.queries[:, None, None], sums.log_visible[..., None]
    fraction, claims, mass, lift = found.fraction, found.claims, found.mass.value, found.lift.value
    decision = decide(fraction, found.entropy_share, claims, _claim_p(sums, found.lift, scores), found.off_bos)
    r_full, r_causal = (ratio(total, sums.correlated[:, None, None]).value for total in (sums.r_full, sums.r_causal))
    return RolesResult(
        model=model or spec.name,
        stories=int(sums.stories.sum()),
        queries=int(sums.queries.sum()),
        groups=len(sums.stories),
        role_code=decision.code,
        effect=_single(decision.effect),
        effect_low=_single(decision.low),
        effect_high=_single(decision.high),
        q=_single(decision.q),
        positional_fraction=_single(fraction.value.clamp(max=1)),
        positional_low=_single(fraction.interval[0]),
        positional_high=_single(fraction.interval[1]),
        r_full=_single(r_full),
        r_causal=_single(r_causal),
        published_positional=exceeds(r_full, 0.5) > 0,
        causal_positional=exceeds(r_causal.abs(), 0.5) > 0,
        kl_from_uniform=_single(ratio(log_visible - sums.entropy, queries).value),
        entropy=_single(ratio(sums.entropy, queries).value),
        entropy_share=_single(found.entropy_share.value),
        mean_distance=_single(ratio(sums.distance, queries).value),
        on_bos=_single(mass[..., BOS]),
        on_self=_single(mass[..., SELF]),
        previous=_single(mass[..., PREVIOUS]),
        duplicate=_single(mass[..., DUPLICATE]),
        induction=_single(mass[..., INDUCTION]),
        previous_lift=_single(lift[..., PREVIOUS]),
        duplicate_lift=_single(lift[..., DUPLICATE]),
        induction_lift=_single(lift[..., INDUCTION]),
        previous_random=_single(scores.previous.mean(0)),
        duplicate_random=_single(scores.duplicate.mean(0)),
        induction_random=_single(scores.induction.mean(0)),
        offset_mass=_single(offset_mass(sums)),
        claim_effect=_single(claims.value.movedim(-1, 0)),
        claim_low=_single(claims.interval[0].movedim(-1, 0)),
        claim_high=_single(claims.interval[1].movedim(-1, 0)),
        claim_q=_single(decision.claim_q),
        described_q=decision.described_q,
    )


@dataclass(frozen=True)
class _Estimates:
    """The inputs of the role rule, and the mass on each class of keys."""

    fraction: GroupEstimate
    entropy_share: GroupEstimate
    claims: GroupEstimate
    mass: GroupEstimate
    lift: GroupEstimate
    off_bos: Float[Tensor, "layer head"]


def _estimates(spec: Spec, sums: Sums) -> _Estimates:
    windows = [forward.window_of(spec, i) for i in range(spec.n_layers)]
    positions = sums.pattern.shape[-1]
    visible = torch.stack([forward.causal_mask(positions, w, torch.device("cpu")) for w in windows]).float()
    return _Estimates(
        fraction=positional_fraction(sums, visible),
        entropy_share=ratio(sums.entropy, sums.log_visible[..., None]),
        claims=ratio(sums.class_explained, sums.class_kl),
        mass=ratio(sums.class_mass, sums.class_queries[:, :, None]),
        lift=ratio(sums.class_mass, sums.class_uniform[:, :, None]),
        off_bos=ratio(sums.class_kl[..., SELF], sums.class_kl[..., BOS]).value,
    )


def _single(values: Tensor) -> Tensor:
    """The values in single precision, as results keep them."""
    return values.float().contiguous()


def _claim_p(sums: Sums, lift: GroupEstimate, scores: RepetitionScores) -> Float[np.ndarray, "claim layer head"]:
    """The p-value of each class of keys: whether it gets more attention mass than under its null.

    The null of BOS, self and previous token is uniform attention. The content classes have two nulls, and the
    larger p counts: the null keys of the same story, and uniform attention on repeated random tokens. NaN where no key
    of a class has a null key, or the model does not copy, so that repeated random tokens are no evidence.
    """
    p = np.moveaxis(lift.p_above(1.0), -1, 0).copy()
    excess = ratio(sums.excess_mass, sums.matched_keys[:, :, None])
    natural = np.moveaxis(excess.p_above(0.0), -1, 0)
    pairs = ((scores.duplicate, scores.duplicate_uniform), (scores.induction, scores.induction_uniform))
    p[CONTENT] = np.maximum(natural, np.stack([_rows_p(*pair) for pair in pairs])) if scores.copies else np.nan
    return p


def _rows_p(score: Tensor, uniform: Tensor) -> Float[np.ndarray, "layer head"]:
    """p-values of a score over rows of random tokens (one group per row), against uniform attention."""
    excess = score - uniform[:, None]
    return ratio(excess, torch.ones_like(excess)).p_above(0.0)
