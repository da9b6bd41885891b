"""The question to a scan: what is the role of every head?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from tslens import forward
from tslens.analysis.heads.evidence import offset_mass, positional_fraction, present, ratio
from tslens.analysis.heads.repeated import Scores, repetition_scores
from tslens.analysis.heads.result import Heads
from tslens.analysis.heads.roles import content_fraction, decide
from tslens.analysis.heads.sums import (
    BOS,
    DUPLICATE,
    INDUCTION,
    PREVIOUS,
    SELF,
    Keys,
    Sums,
    add_batch,
    add_layer,
    attend,
    keys_of,
    zeros,
)
from tslens.models import Spec, name_of, spec_of
from tslens.scan import Batch

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

HIDDEN = torch.finfo(torch.float32).min  # finite, so that weight times score is 0 and not NaN where none may look


@dataclass
class State:
    """Sums so far, and what the model does on repeated random tokens."""

    model: str
    spec: Spec
    sums: Sums
    scores: Scores


@dataclass(frozen=True)
class Roles:
    """A reducer for `Heads`: the role of every head, with its evidence.

    Takes queries and keys, not patterns, from the scan: patterns exist one layer at a time.
    """

    positions: int = 128
    """Positions that the positional fraction and the mass by offset look at; memory grows with its square."""
    groups: int = 16
    """Groups of stories behind the intervals."""
    seed: int = 0
    """Seed of the random tokens that are repeated."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Queries and keys of every layer, as they meet."""
        return [name for i in range(spec.n_layers) for name in forward.query_key_hooks(spec, i)]

    def start(self, model: "HookedTransformer") -> State:
        """No stories yet; the scores on repeated random tokens need none, and are taken here."""
        spec = spec_of(model)
        positions = min(self.positions, spec.n_ctx)
        sums = zeros(self.groups, spec.n_layers, spec.n_heads, positions, next(model.parameters()).device)
        return State(name_of(model), spec, sums, repetition_scores(model, seed=self.seed))

    def update(self, state: State, activations: Mapping[str, Tensor], batch: Batch) -> State:
        """Add the stories of a batch, layer by layer."""
        spec, keys = state.spec, dict[int | None, Keys]()
        for layer in range(spec.n_layers):
            q, k = (activations[name] for name in forward.query_key_hooks(spec, layer))
            window = forward.window_of(spec, layer)
            if window not in keys:
                device, visible = q.device, forward.causal_mask(q.shape[1], window, q.device)
                groups = batch.groups(self.groups).to(device)
                keys[window] = keys_of(batch.tokens.to(device), batch.mask.to(device), visible, groups, self.groups)
            scores = forward.attention_scores(spec, layer, q.float(), k.float(), HIDDEN)
            add_layer(state.sums, layer, *attend(scores), keys[window])
        add_batch(state.sums, next(iter(keys.values())))
        return state

    def merge(self, a: State, b: State) -> State:
        """Sums add up; both took the same scores on random tokens."""
        sums = {name: total + b.sums[name].to(total.device) for name, total in a.sums.items()}
        return State(a.model, a.spec, sums, a.scores)

    def finish(self, state: State) -> Heads:
        """Numbers, intervals, roles."""
        return answer(state.spec, present(state.sums), state.scores, state.model)


def answer(spec: Spec, sums: Sums, scores: Scores, model: str | None = None) -> Heads:
    """The `Heads` that these sums say, of the model so called (by its shape, unless a name is given)."""
    positions = sums["pattern"].shape[-1]
    windows = [forward.window_of(spec, i) for i in range(spec.n_layers)]
    visible = torch.stack([forward.causal_mask(positions, w, torch.device("cpu")) for w in windows]).float()
    queries, squares = sums["queries"][:, None, None], sums["squares"][:, None, None]
    log_visible = sums["log_visible"][..., None]

    fraction = positional_fraction(sums, visible)
    entropy_share = ratio(sums["entropy"], log_visible)
    claims = ratio(sums["class_explained"], sums["class_departure"])
    mass = ratio(sums["class_mass"], sums["class_queries"][:, :, None])
    fair = ratio(sums["class_fair"], sums["class_queries"]).value[:, None]
    among = sums["class_departure"]
    off_bos = ratio(among[..., SELF], among[..., BOS]).value
    decision = decide(fraction, entropy_share, claims, _claim_p(sums, scores), off_bos)
    r_full, r_causal = (ratio(sums[name], squares).value for name in ("r_full", "r_causal"))
    claim_low, claim_high = claims.interval

    arrays = {
        "effect": decision.effect,
        "effect_low": decision.low,
        "effect_high": decision.high,
        "q": decision.q,
        "positional_fraction": fraction.value,
        "positional_low": fraction.interval[0],
        "positional_high": 1 - content_fraction(fraction).interval[0],
        "r_full": r_full,
        "r_causal": r_causal,
        "departure": ratio(log_visible - sums["entropy"], queries).value,
        "entropy": ratio(sums["entropy"], queries).value,
        "entropy_share": entropy_share.value,
        "mean_distance": ratio(sums["distance"], queries).value,
        "on_bos": mass.value[..., 0],
        "on_self": mass.value[..., SELF],
        "previous": mass.value[..., PREVIOUS],
        "duplicate": mass.value[..., DUPLICATE],
        "induction": mass.value[..., INDUCTION],
        "previous_times_fair": (mass.value / fair)[..., PREVIOUS],
        "duplicate_times_fair": (mass.value / fair)[..., DUPLICATE],
        "induction_times_fair": (mass.value / fair)[..., INDUCTION],
        "previous_random": scores.previous.mean(0),
        "duplicate_random": scores.duplicate.mean(0),
        "induction_random": scores.induction.mean(0),
        "offset_mass": offset_mass(sums),
        "claim_effect": claims.value.movedim(-1, 0),
        "claim_low": claim_low.movedim(-1, 0),
        "claim_high": claim_high.movedim(-1, 0),
        "claim_q": decision.claim_q,
    }
    return Heads(
        model=model or spec.name,
        stories=int(sums["stories"].sum()),
        queries=int(sums["queries"].sum()),
        groups=len(sums["stories"]),
        role_code=decision.code,
        published_positional=r_full > 0.5,
        causal_positional=r_causal.abs() > 0.5,
        **{name: values.float().contiguous() for name, values in arrays.items()},
    )


def _claim_p(sums: Sums, scores: Scores) -> np.ndarray:
    """p-values of each class of keys, `[claim layer head]`: is more mass there than the null puts there?

    The null of BOS, self and previous token is uniform attention. That of the content classes is twofold, and the
    worse p counts: the keys where another story has its duplicates, and uniform attention on repeated random tokens.
    """
    times_fair = ratio(sums["class_mass"], sums["class_fair"][:, :, None])
    p = np.moveaxis(times_fair.p_above(1.0), -1, 0).copy()
    content = slice(DUPLICATE, INDUCTION + 1)
    mass = ratio(sums["class_mass"][..., content], sums["class_queries"][:, :, None, content])
    null = ratio(sums["null_mass"], sums["null_queries"][:, :, None])
    natural = np.moveaxis((mass - null).p_above(0.0), -1, 0)
    random = np.stack([_rows(scores.duplicate, scores.duplicate_fair), _rows(scores.induction, scores.induction_fair)])
    p[content] = np.maximum(natural, random)
    return p


def _rows(score: Tensor, fair: Tensor) -> np.ndarray:
    """p-values of a score over rows of random tokens, each its own group, against uniform attention."""
    excess = score - fair[:, None]
    return ratio(excess, torch.ones_like(excess)).p_above(0.0)
