"""The closed form of a tuned lens: ridge regression of the last residual on an earlier one, from one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.lens.reducer import predicted_rows
from tslens.analysis.lens.translators import CLOSED, IDENTITY, TranslatorsResult
from tslens.analysis.lens.unembedding import Unembedding, depth_names, hooks
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.models import Spec
from tslens.scan import Batch

if TYPE_CHECKING:
    from tslens.models import LanguageModel

CHECK = 5  # one story of so many, by its hash, is a check story
PENALTIES = tuple(10.0**power for power in range(-6, 2))


def is_check(hashes: Int[Tensor, " story"]) -> Bool[Tensor, " story"]:
    """Whether each story, by the hash of its text, is a check story: the same for every occurrence and every corpus."""
    return below(torch.tensor(CHECK), draw(hashes, torch.tensor(0x7E57))) == 0


@dataclass
class Moments:
    """Sums over tokens, of the stories to fit (0) and the check stories (1).

    h is the residual of a depth and u what the later blocks add to it, both as the model can read them.
    """

    unembedding: Unembedding
    stories: Int[Tensor, " story"]
    """Hash of each story's text."""
    tokens: Int[Tensor, " part"]
    h: Float[Tensor, "part depth d_model"]
    u: Float[Tensor, "part depth d_model"]
    hh: Float[Tensor, "part depth d_model d_model"]
    hu: Float[Tensor, "part depth d_model d_model"]
    uu: Float[Tensor, "part depth"]


@dataclass(frozen=True)
class Translators:
    """A reducer for `TranslatorsResult`: the closed form alone."""

    ridge: float | None = None
    """The penalty, as in the Result, for all depths; chosen by depth if None."""

    def __post_init__(self) -> None:
        if self.ridge is not None and self.ridge <= 0:
            raise InputError(f"ridge={self.ridge} must be above 0, or None to choose it on the check stories.")

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The residual stream at every depth."""
        return hooks(spec)

    def start(self, model: "LanguageModel") -> Moments:
        """Empty sums, and the model's unembedding."""
        unembedding = Unembedding.of(model)
        depths, d = unembedding.spec.n_layers, unembedding.spec.d_model

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(2, *shape, dtype=torch.float64)

        none = torch.zeros(0, dtype=torch.int64)
        sums = (zeros(depths, d), zeros(depths, d), zeros(depths, d, d), zeros(depths, d, d), zeros(depths))
        return Moments(unembedding, none, torch.zeros(2, dtype=torch.int64), *sums)

    def update(self, state: Moments, activations: Mapping[str, Tensor], batch: Batch) -> Moments:
        """Add the tokens of a batch that have a next token."""
        unembedding, names = state.unembedding, hooks(state.unembedding.spec)
        rows, _ = predicted_rows(activations, names, batch)
        check = is_check(batch.hashes)[:, None].expand(batch.mask[:, 1:].shape)[batch.mask[:, 1:]].to(rows[0].device)
        last = unembedding.readable(rows[-1]).double()
        for part, chosen in enumerate((~check, check)):
            state.tokens[part] += int(chosen.sum())
            for depth, residual in enumerate(rows[:-1]):
                h = unembedding.readable(residual[chosen]).double()
                u = last[chosen] - h
                state.h[part, depth] += h.sum(0).cpu()
                state.u[part, depth] += u.sum(0).cpu()
                state.hh[part, depth] += (h.T @ h).cpu()
                state.hu[part, depth] += (h.T @ u).cpu()
                state.uu[part, depth] += (u * u).sum().cpu()
        state.stories = torch.cat([state.stories, batch.hashes])
        return state

    def merge(self, a: Moments, b: Moments) -> Moments:
        """Add the sums."""
        fields = ("tokens", "h", "u", "hh", "hu", "uu")
        sums = {name: getattr(a, name) + getattr(b, name) for name in fields}
        return Moments(a.unembedding, torch.cat([a.stories, b.stories]), **sums)

    def finish(self, state: Moments) -> TranslatorsResult:
        """The closed form of every depth. InputError if there is no story to fit."""
        spec = state.unembedding.spec
        if not state.tokens[0]:
            raise InputError(
                "There is no story to fit a tuned lens on: all of them are check stories, a fifth by the hash of their "
                "text. Give more stories."
            )
        depths, d = spec.n_layers + 1, spec.d_model
        nothing, hashes = torch.full((depths,), torch.nan), state.stories.unique()
        penalties, weight, bias = nothing.clone(), torch.zeros(depths, d, d), torch.zeros(depths, d)
        for depth in range(spec.n_layers):
            penalties[depth], weight[depth], bias[depth] = _best(state, depth, self.ridge)
        return TranslatorsResult(
            model=state.unembedding.model,
            depths=depth_names(spec),
            weight=weight,
            bias=bias,
            ridge=penalties,
            closed_kl=nothing,
            tuned_kl=nothing,
            gain_low=nothing,
            gain_high=nothing,
            how=[CLOSED] * spec.n_layers + [IDENTITY],
            story_hashes=hashes,
            check_stories=int(is_check(hashes).sum()),
            tokens=int(state.tokens[0]),
            steps=0,
            seed=0,
        )


def _best(state: Moments, depth: int, ridge: float | None) -> tuple[float, Tensor, Tensor]:
    """The penalty with the smallest squared error on the check stories (the smallest without any), and its solution."""
    found = []
    for penalty in (ridge,) if ridge is not None else PENALTIES:
        a, b = _solved(state, depth, penalty)
        found.append((_error(state, depth, a, b) if state.tokens[1] else penalty, penalty, a, b))
    _, penalty, a, b = min(found, key=lambda each: each[0])
    return penalty, a.float(), b.float()


def _solved(state: Moments, depth: int, penalty: float) -> tuple[Tensor, Tensor]:
    """The ridge regression of u on h, as `sklearn.linear_model.Ridge` with `alpha` the penalty times the summed
    variance of the coordinates over their number."""
    n, h, u = state.tokens[0], state.h[0, depth], state.u[0, depth]
    covariance = state.hh[0, depth] - torch.outer(h, h) / n
    alpha = penalty * covariance.diagonal().mean().clamp(min=1e-30)  # what does not vary is solved by zeros
    covariance.diagonal().add_(alpha)
    a = torch.linalg.solve(covariance, state.hu[0, depth] - torch.outer(h, u) / n)
    return a, u / n - h / n @ a


def _error(state: Moments, depth: int, a: Tensor, b: Tensor) -> float:
    """The squared error of u on the check stories, from their sums."""
    n, h, u = state.tokens[1], state.h[1, depth], state.u[1, depth]
    predicted = (a * (state.hh[1, depth] @ a)).sum() + n * b @ b + 2 * (h @ a) @ b
    return float(predicted - 2 * (a * state.hu[1, depth]).sum() - 2 * u @ b + state.uu[1, depth])
