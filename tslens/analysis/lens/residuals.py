"""How long is the residual stream after each block, and what do attention and MLP add to it?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.lens.means import FEWEST, means
from tslens.analysis.lens.residuals_result import LEVELS, STREAMS, ResidualsResult
from tslens.analysis.lens.unembedding import depth_names, hooks
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of
from tslens.scan import BATCH_TOKENS, Batch, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

OCTAVE = 64  # bins of a factor of two: a norm is known to 0.6%
LOWEST, HIGHEST = -20, 20  # norms as powers of two; what is shorter counts as 0
BINS = OCTAVE * (HIGHEST - LOWEST)


@dataclass
class NormSums:
    """Counts of norms in logarithmic bins, and sums of cosines, by group of stories; those of BOS apart."""

    model: str
    spec: Spec
    stories: Int[Tensor, " group"]
    tokens: Int[Tensor, " group"]
    counts: Int[Tensor, "group stream depth bin"]
    cosine: Float[Tensor, "group depth"]
    bos: Float[Tensor, "group stream depth"]


@dataclass(frozen=True)
class Residuals:
    """A reducer for `ResidualsResult`; memory depends on the model's depth alone."""

    groups: int = 32
    """Groups of stories behind the intervals."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The residual stream at every depth, and what attention and MLP add."""
        return [*hooks(spec), *(name for stream in writes(spec) for name in stream)]

    def start(self, model: "LanguageModel") -> NormSums:
        """Empty sums."""
        spec, g = spec_of(model), self.groups
        shape = (g, len(STREAMS), spec.n_layers + 1)
        none = torch.zeros(g, dtype=torch.int64)
        counts = torch.zeros(*shape, BINS, dtype=torch.int32)
        cosine, bos = torch.zeros(g, spec.n_layers + 1, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
        return NormSums(name_of(model), spec, none, none.clone(), counts, cosine, bos)

    def update(self, state: NormSums, activations: Mapping[str, Tensor], batch: Batch) -> NormSums:
        """Add the tokens of a batch."""
        groups, read = batch.groups(self.groups), batch.mask.clone()
        read[:, 0] = False
        of_tokens = groups[:, None].expand(read.shape)[read]
        after = hooks(state.spec)
        for stream, names in enumerate((after, *writes(state.spec))):
            for depth, name in enumerate(names, start=len(after) - len(names)):
                norms = activations[name].float().norm(dim=-1).cpu()
                state.bos[:, stream, depth].index_add_(0, groups, norms[:, 0].double())
                cell = of_tokens * BINS + bins_of(norms[read])
                added = torch.bincount(cell, minlength=self.groups * BINS).view(self.groups, BINS)
                state.counts[:, stream, depth] += added.int()
        at = read.to(activations[after[0]].device)
        rows = [activations[name][at].float() for name in after]
        for depth, (before, now) in enumerate(pairwise(rows), start=1):
            found = torch.nn.functional.cosine_similarity(before, now, dim=-1).double().cpu()
            state.cosine[:, depth].index_add_(0, of_tokens, found)
        state.tokens.index_add_(0, of_tokens, torch.ones_like(of_tokens))
        state.stories.index_add_(0, groups, torch.ones_like(groups))
        return state

    def merge(self, a: NormSums, b: NormSums) -> NormSums:
        """Add the sums."""
        sums = {name: getattr(a, name) + getattr(b, name) for name in ("stories", "tokens", "counts", "cosine", "bos")}
        return NormSums(a.model, a.spec, **sums)

    def finish(self, state: NormSums) -> ResidualsResult:
        """Medians with intervals, quantiles and cosines. InputError if no story has a token after BOS."""
        if not state.tokens.any():
            raise InputError("No story has a token after BOS: there is nothing to measure. Give stories of a word.")
        cosine = means(state.cosine, state.tokens[:, None].double())
        nothing = torch.tensor(torch.nan)
        for part in cosine:
            part[0] = nothing  # before the first block there is no earlier residual
        shape = state.counts.shape[1:3]
        quantiles, ends = torch.full((*shape, len(LEVELS)), torch.nan), torch.full((*shape, 2), torch.nan)
        for stream in range(shape[0]):
            for depth in range(0 if stream == 0 else 1, shape[1]):
                counts = state.counts[state.tokens > 0, stream, depth].double()
                if counts.any():
                    quantiles[stream, depth] = quantiles_of(counts.sum(0), torch.tensor(LEVELS))
                    ends[stream, depth] = median_interval(counts)
        bos = (state.bos.sum(0) / state.stories.sum()).float()
        bos[1:, 0] = nothing
        bos[state.counts.sum((0, 2, 3)) == 0] = nothing
        return ResidualsResult(
            model=state.model,
            stories=int(state.stories.sum()),
            tokens=int(state.tokens.sum()),
            streams=list(STREAMS),
            depths=depth_names(state.spec),
            median=quantiles[..., LEVELS.index(0.5)],
            median_low=ends[..., 0],
            median_high=ends[..., 1],
            quantile=quantiles,
            bos=bos,
            cosine=cosine.mean,
            cosine_low=cosine.low,
            cosine_high=cosine.high,
        )


def writes(spec: Spec) -> tuple[list[str], list[str]]:
    """What attention and what MLP add to the residual stream, by layer; nothing for an MLP that is not there."""
    attention, mlp = ([f"blocks.{i}.hook_{part}_out" for i in range(spec.n_layers)] for part in ("attn", "mlp"))
    return attention, mlp if spec.has_mlp else []


def bins_of(norms: Float[Tensor, " token"]) -> Int[Tensor, " token"]:
    """The logarithmic bin of each norm."""
    return ((norms.log2() - LOWEST) * OCTAVE).floor().clamp(0, BINS - 1).nan_to_num(0).long()


def quantiles_of(counts: Float[Tensor, " bin"], levels: Float[Tensor, " level"]) -> Float[Tensor, " level"]:
    """The quantiles of binned norms, interpolated within the bin; the first bin is 0."""
    below = counts.cumsum(0)
    wanted = (levels.double() * below[-1]).clamp(min=1e-9)
    found = torch.searchsorted(below, wanted).clamp(max=BINS - 1)
    within = (wanted - (below[found] - counts[found])) / counts[found].clamp(min=1)
    values = torch.exp2(LOWEST + (found + within) / OCTAVE)
    return torch.where(found == 0, 0.0, values).float()


def median_interval(counts: Float[Tensor, "group bin"]) -> Float[Tensor, " end"]:
    """The 95% interval of a median by Woodruff's method (1952, JASA 47): the share of tokens up to the median varies
    over groups of stories; the quantiles at the ends of that share's interval are those of the median."""
    if len(counts) < FEWEST:
        return torch.full((2,), torch.nan)
    whole, tokens = counts.sum(0), counts.sum(1)
    cut = int(torch.searchsorted(whole.cumsum(0), whole.sum() / 2).clamp(max=BINS - 1))
    below = counts[:, : cut + 1].sum(1)
    share, without = below.sum() / tokens.sum(), (below.sum() - below) / (tokens.sum() - tokens)
    reach = float(stats.jackknife(share.numpy(), without.numpy()).halfwidth)
    return quantiles_of(whole, torch.tensor([max(0.0, 0.5 - reach), min(1.0, 0.5 + reach)]))


def residuals(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    groups: int = 32,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> ResidualsResult:
    """Norms of the residual stream and of what is added to it, by layer, over a corpus (see `Residuals` and `scan`).

    Raises:
        InputError: there is no story, or none with a token after BOS.
    """
    asked = Residuals(groups)
    return scan(model, stories, asked, context=context, batch_tokens=batch_tokens, precision=precision)
