"""The reducer for the role of every head, and the function that runs it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tslens import forward
from tslens.analysis.heads.finish import finish
from tslens.analysis.heads.keys import Keys, keys_of
from tslens.analysis.heads.repeated import RepetitionScores, repetition_scores
from tslens.analysis.heads.result import RolesResult
from tslens.analysis.heads.sums import Sums, add_batch, add_layer, attend
from tslens.models import Spec, name_of, spec_of
from tslens.scan import BATCH_TOKENS, Batch, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

HIDDEN = torch.finfo(torch.float32).min  # finite, so that weight times score is 0 and not NaN where none may look


@dataclass
class RolesState:
    """Sums so far, and the model's scores on repeated random tokens."""

    model: str
    spec: Spec
    sums: Sums
    scores: RepetitionScores


@dataclass(frozen=True)
class Roles:
    """A reducer for `RolesResult`: the role of every head, with its evidence.

    Reads queries and keys, not patterns, from the scan, so patterns exist for one layer at a time.
    """

    positions: int = 128
    """Positions that the positional fraction and the mass by offset are measured on; memory grows with its square."""
    groups: int = 16
    """Groups of stories behind the intervals."""
    seed: int = 0
    """Seed of the random tokens that are repeated."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Queries and keys of every layer, as they enter the dot product (rotated where the model rotates them)."""
        return [name for i in range(spec.n_layers) for name in forward.score_hooks(spec, i)]

    def start(self, model: "LanguageModel") -> RolesState:
        """Empty sums, and the scores on repeated random tokens, which need no stories."""
        spec = spec_of(model)
        positions = min(self.positions, spec.n_ctx)
        sums = Sums.zeros(self.groups, spec.n_layers, spec.n_heads, positions, next(model.parameters()).device)
        return RolesState(name_of(model), spec, sums, repetition_scores(model, seed=self.seed))

    def update(self, state: RolesState, activations: Mapping[str, Tensor], batch: Batch) -> RolesState:
        """Add the stories of a batch, layer by layer."""
        spec, keys, device = state.spec, dict[int | None, Keys](), state.sums.pattern.device
        for layer in range(spec.n_layers):
            window = forward.window_of(spec, layer)
            if window not in keys:
                visible = forward.causal_mask(batch.tokens.shape[1], window, device)
                of_batch = (batch.groups(self.groups).to(device), self.groups, batch.seeds.to(device))
                keys[window] = keys_of(batch.tokens.to(device), batch.mask.to(device), visible, *of_batch)
            scores = forward.scores(spec, layer, activations, HIDDEN)
            add_layer(state.sums, layer, *attend(scores), keys[window])
        add_batch(state.sums, next(iter(keys.values())))
        return state

    def merge(self, a: RolesState, b: RolesState) -> RolesState:
        """Add the sums; both states have the same scores on random tokens."""
        return RolesState(a.model, a.spec, a.sums + b.sums, a.scores)

    def finish(self, state: RolesState) -> RolesResult:
        """Numbers, intervals, roles."""
        return finish(state.spec, state.sums.present(), state.scores, state.model)


def roles(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    positions: int = 128,
    groups: int = 16,
    seed: int = 0,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> RolesResult:
    """The role of every head over stories: a scan with the reducer `Roles`; its options come first.

    Raises:
        InputError: no stories, or a context with no room for two tokens twice.
    """
    reducer = Roles(positions, groups, seed)
    return scan(model, stories, reducer, context=context, batch_tokens=batch_tokens, precision=precision)
