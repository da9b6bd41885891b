"""The reducer for the prediction after each layer, and the function that runs it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.lens.means import Means, means
from tslens.analysis.lens.result import ByDepthResult
from tslens.analysis.lens.unembedding import ROWS, FinalPrediction, Unembedding, depth_names, hooks, likeliest
from tslens.draws import below, draw
from tslens.models import Spec
from tslens.scan import BATCH_TOKENS, Batch, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

_PLACE = 1  # what a draw is for


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

    Every next token within the story is predicted, or of `every` one; logits exist for a few hundred positions at a
    time.
    """

    groups: int = 32
    """Groups of stories behind the intervals (delete-a-group jackknife)."""
    every: int = 1
    """Of so many positions of a story one is read (see `predicted`)."""

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
        rows, targets = predicted_rows(activations, hooks(state.unembedding.spec), batch, self.every)
        groups = groups_of_rows(batch, self.groups, self.every)
        for part, found, _ in measured(state.unembedding, rows, targets):
            state.sums.index_add_(0, groups[part], found.double().cpu())
        state.tokens.index_add_(0, groups, torch.ones(len(groups), dtype=torch.float64))
        state.stories.index_add_(0, batch.groups(self.groups), torch.ones(len(batch.texts), dtype=torch.float64))
        return state

    def merge(self, a: DepthSums, b: DepthSums) -> DepthSums:
        """Add the sums."""
        return DepthSums(a.unembedding, a.stories + b.stories, a.tokens + b.tokens, a.sums + b.sums)

    def finish(self, state: DepthSums) -> ByDepthResult:
        """Means per token, with intervals over groups of stories (NaN where fewer than four stories were read)."""
        found = means(state.sums, state.tokens[:, None, None])
        fields: dict[str, Any] = {}
        for i, name in enumerate(("loss", "kl", "agreement")):
            fields |= Means(*(part[i] for part in found)).named(name)
        return ByDepthResult(
            model=state.unembedding.model,
            stories=int(state.stories.sum()),
            tokens=int(state.tokens.sum()),
            depths=depth_names(state.unembedding.spec),
            **fields,
        )


def measured(
    unembedding: Unembedding, rows: Sequence[Tensor], targets: Tensor
) -> Iterator[tuple[slice, Float[Tensor, "row 3 depth"], Float[Tensor, "row d_vocab"]]]:
    """Loss, KL from each of these residuals to the last of them, and agreement with it, a few rows at a time; and the
    log-probabilities of the last.

    With the last's probabilities p, KL is E_p[log p] + log Z - E_p[logit] (`FinalPrediction`); no log-probability
    is written out.
    """
    for start in range(0, len(targets), ROWS):
        part = slice(start, min(start + ROWS, len(targets)))
        reference, target = FinalPrediction.of(unembedding, rows[-1][part]), targets[part, None]
        own, best = reference.own, likeliest(reference.final)
        loss = -reference.final.gather(1, target)[:, 0]
        last = torch.stack([loss, torch.zeros_like(own), torch.ones_like(own)], dim=1)
        found = []
        for residual in rows:
            if residual is rows[-1]:
                found.append(last)
                continue
            normed = unembedding.normed(residual[part])
            logits = unembedding.logits(normed)
            first = likeliest(logits)
            highest, of_target = logits.gather(1, first[:, None]), logits.gather(1, target)[:, 0]
            mean = reference.mean_logit(normed, logits)
            log_z = highest[:, 0] + logits.sub_(highest).exp_().sum(-1).log()
            kl = own + log_z - mean
            found.append(torch.stack([log_z - of_target, kl, (first == best).float()], dim=1))
        yield part, torch.stack(found, dim=2), reference.final


def predicted(batch: Batch, every: int = 1) -> Bool[Tensor, "batch pos_minus_1"]:
    """Where the next token is in the story; of `every` positions one, from a place that the story's identity draws."""
    there = batch.mask[:, 1:]
    if every == 1:
        return there
    first = below(torch.tensor(every), draw(batch.seeds, torch.tensor(_PLACE)))
    return there & (torch.arange(there.shape[1]) % every == first[:, None])


def predicted_rows(
    activations: Mapping[str, Tensor], names: Sequence[str], batch: Batch, every: int = 1
) -> tuple[list[Float[Tensor, "row d_model"]], Int[Tensor, " row"]]:
    """The residuals of these names where `predicted`, and the next token there."""
    first = activations[names[0]]
    read = predicted(batch, every).to(first.device)
    targets = batch.tokens[:, 1:].to(first.device)[read]
    return [activations[name][:, :-1][read] for name in names], targets


def groups_of_rows(batch: Batch, groups: int, every: int = 1) -> Int[Tensor, " row"]:
    """The group of each row of `predicted_rows`."""
    read = predicted(batch, every)
    return batch.groups(groups)[:, None].expand(read.shape)[read]


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
