"""How does the prediction form with depth, over a corpus?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import stats
from tslens.analysis.lens.result import ByDepthResult
from tslens.analysis.lens.unembedding import ROWS, Unembedding, depth_names, hooks
from tslens.errors import InputError
from tslens.models import Spec
from tslens.scan import BATCH_TOKENS, Batch, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass
class DepthSums:
    """The model's unembedding, and sums over tokens by group of stories."""

    unembedding: Unembedding
    stories: Float[Tensor, " group"]
    tokens: Float[Tensor, " group"]
    sums: Float[Tensor, "group measure depth"]
    """Loss, KL and agreement."""


@dataclass(frozen=True)
class ByDepth:
    """A reducer for `ByDepthResult`: the logit lens over a corpus.

    Every next token within the story is predicted; logits exist for a few hundred positions at a time.
    """

    groups: int = 32
    """Groups of stories behind the intervals (delete-a-group jackknife)."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The residual stream at every depth."""
        return hooks(spec)

    def start(self, model: "LanguageModel") -> DepthSums:
        """Empty sums, and the model's unembedding."""
        unembedding, g = Unembedding.of(model), self.groups
        sums = torch.zeros(g, 3, unembedding.spec.n_layers + 1, dtype=torch.float64)
        return DepthSums(unembedding, torch.zeros(g, dtype=torch.float64), torch.zeros(g, dtype=torch.float64), sums)

    def update(self, state: DepthSums, activations: Mapping[str, Tensor], batch: Batch) -> DepthSums:
        """Add the tokens of a batch."""
        residuals = [activations[name] for name in hooks(state.unembedding.spec)]
        predicted = batch.mask[:, 1:].to(residuals[0].device)
        targets = batch.tokens[:, 1:].to(residuals[0].device)[predicted]
        groups = batch.groups(self.groups)[:, None].expand(batch.mask[:, 1:].shape)[batch.mask[:, 1:]]
        rows = [residual[:, :-1][predicted] for residual in residuals]
        for part, found in _measured(state.unembedding, rows, targets):
            state.sums.index_add_(0, groups[part], found.double().cpu())
        state.tokens.index_add_(0, groups, torch.ones(len(groups), dtype=torch.float64))
        state.stories.index_add_(0, batch.groups(self.groups), torch.ones(len(batch.texts), dtype=torch.float64))
        return state

    def merge(self, a: DepthSums, b: DepthSums) -> DepthSums:
        """Add the sums."""
        return DepthSums(a.unembedding, a.stories + b.stories, a.tokens + b.tokens, a.sums + b.sums)

    def finish(self, state: DepthSums) -> ByDepthResult:
        """Means per token, with intervals over groups of stories (NaN where fewer than four stories were read)."""
        some = state.tokens > 0
        sums, tokens = state.sums[some], state.tokens[some, None, None]
        if not len(sums):
            raise InputError("No story has two tokens: there is nothing to predict. Give stories of at least a word.")
        mean = sums.sum(0) / tokens.sum()
        low = high = torch.full_like(mean, torch.nan)
        if len(sums) >= 4:
            without = (sums.sum(0) - sums) / (tokens.sum() - tokens)
            interval = stats.jackknife(mean.numpy(), without.numpy())
            low, high = torch.as_tensor(interval.low), torch.as_tensor(interval.high)
        fields: dict[str, Any] = {
            f"{name}{end}": values[i].float()
            for i, name in enumerate(("loss", "kl", "agreement"))
            for end, values in (("", mean), ("_low", low), ("_high", high))
        }
        return ByDepthResult(
            model=state.unembedding.model,
            stories=int(state.stories.sum()),
            tokens=int(state.tokens.sum()),
            depths=depth_names(state.unembedding.spec),
            **fields,
        )


def _measured(
    unembedding: Unembedding, rows: list[Tensor], targets: Tensor
) -> Iterator[tuple[slice, Float[Tensor, "row 3 depth"]]]:
    """Loss, KL from this depth to the last, and agreement with the last, a few rows at a time."""
    for start in range(0, len(targets), ROWS):
        part = slice(start, min(start + ROWS, len(targets)))
        final = unembedding.log_probabilities(rows[-1][part])
        weights, best = final.exp(), final.argmax(-1)
        own = torch.linalg.vecdot(weights, final)
        found = []
        for residual in rows:
            logp = final if residual is rows[-1] else unembedding.log_probabilities(residual[part])
            loss = -logp.gather(1, targets[part, None])[:, 0]
            kl = own - torch.linalg.vecdot(weights, logp)
            found.append(torch.stack([loss, kl, (logp.argmax(-1) == best).float()], dim=1))
        yield part, torch.stack(found, dim=2)


def by_depth(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    groups: int = 32,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> ByDepthResult:
    """The logit lens over a corpus (see `ByDepth` and `scan`).

    Raises:
        InputError: there is no story, or none with two tokens.
    """
    return scan(
        model,
        stories,
        ByDepth(groups),
        context=context,
        batch_tokens=batch_tokens,
        precision=precision,
    )
