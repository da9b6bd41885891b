"""What does the model lose without a head? (the causal check of a role)

A head's output z is replaced at every position, BOS included, by one of

- `zero`: nothing, which gives a residual stream that never occurs;
- `mean`: its mean over all positions and rows (BOS included), one vector for all (after Wang et al. 2022, arXiv
  2211.00593);
- `position mean`: its mean over rows at the same position, which keeps what the head says of the position;
- `resample`: its output at the same position of another row (after Chan et al. 2022, causal scrubbing): the next row
  long enough, in the order of the stories' hashes. A row longer than all others keeps its own beyond their ends.

The answers differ, often by a factor of several, so a claim needs all of those that were asked for.

A pass without a head begins where the head's block reads its heads' outputs: what lies before is computed once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens import forward, progress, stats
from tslens.analysis.heads.ablation_result import AblationResult, matters
from tslens.analysis.heads.evidence import MIN_GROUPS, GroupEstimate, ratio
from tslens.analysis.heads.kinds_result import KindsResult, WritesResult
from tslens.analysis.heads.names import names
from tslens.analysis.heads.result import RolesResult
from tslens.analysis.heads.role_tokens import labels_of, predicted_by
from tslens.analysis.heads.rows import TokenRows, partners, repeated_rows, story_rows
from tslens.batching import contrast_weights
from tslens.copying import copying
from tslens.errors import InputError
from tslens.halves import FEWEST, halves, twice
from tslens.models import name_of, spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

KINDS = ("zero", "mean", "position mean", "resample")
DEFAULT = ("zero", "mean", "resample")


def ablation(
    model: "LanguageModel",
    stories: Iterable[str] | None = None,
    *,
    roles: RolesResult | None = None,
    keys: KindsResult | None = None,
    writes: WritesResult | None = None,
    kinds: Sequence[str] = DEFAULT,
    rows: int = 32,
    context: int = 128,
    seed: int = 0,
) -> AblationResult:
    """Ablate each head in turn and measure the loss: on `stories`, or on the second half of repeated random tokens,
    where only copying helps.

    Of the stories it reads the `rows` that a hash of their text chooses, each to `context` tokens, so the cost is
    (heads x kinds) passes over half a model on average and does not grow with the corpus; the intervals are over these
    rows. With `roles`, `keys` (the kinds of keys) or `writes` (word classes), each head is also measured on the tokens
    that each of these labels predicts (`role_tokens`), against others of the same stories and frequency.

    Raises:
        InputError: fewer than four rows, an unknown kind, or roles of another model.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS] or ([] if kinds else [""]):
        raise InputError(f"There is no ablation {unknown[0]!r}; give one or more of {', '.join(KINDS)}.")
    for what, given in (("roles", roles), ("kinds of keys", keys), ("written classes", writes)):
        if given is not None and given.model != name_of(model):
            raise InputError(f"The {what} are those of {given.model}, not of {name_of(model)}. Give the model's own.")
    tests = labels_of(model, roles, keys, writes) if stories is not None else []
    if stories is None:
        read = repeated_rows(model, rows, seed)
    else:
        read = story_rows(model, stories, rows, context, tagged=bool(tests))
    if len(read.tokens) < MIN_GROUPS:
        raise InputError(f"An interval needs {MIN_GROUPS} rows or more; there are {len(read.tokens)}. Give more.")
    baseline, gained = _passes(model, read, kinds, tests, _weights(read, tests))
    spec = spec_of(model)
    named = names((spec.n_layers, spec.n_heads), roles, keys, writes)
    if stories is not None:
        return _result(model, read, kinds, named, baseline, gained, tests)
    full = torch.zeros(read.tokens.shape, dtype=torch.float64)
    with torch.inference_mode():
        full[:, 1:] = forward.token_losses(model, read.tokens).double().cpu()
    copied = copying(full[:, 1:], spec.d_vocab)
    return _result(model, read, kinds, named, baseline, gained, [], str(copied), copied.copies)


@dataclass(frozen=True)
class Gained:
    """Sums by row of the loss that an ablation adds."""

    overall: Float[Tensor, "row kind layer head"]
    """Over the scored tokens."""
    on: Float[Tensor, "row kind test"]
    """Over the tokens that a head's label predicts."""
    off: Float[Tensor, "row kind test"]
    """Over the matched others, weighted."""
    predicted: Float[Tensor, "row test"]
    """Number of the predicted tokens that are matched."""


Tests = Sequence[tuple[int, int, str]]
"""Layer, head and name of the labels that predict tokens (`role_tokens.labels_of`)."""


def _weights(read: TokenRows, tests: Tests) -> dict[str, tuple[Tensor, Tensor]]:
    """The weights of the tokens that each label predicts and of the matched others, over the scored tokens."""
    tokens, real, scored = (part.cpu() for part in (read.tokens, read.real, read.scored))
    found = {}
    for label in sorted({label for *_, label in tests}):
        assert read.classes is not None and read.queries is not None
        predicted = predicted_by(label, tokens, real, read.classes, read.queries)
        pair = contrast_weights(tokens, scored, predicted)
        found[label] = (pair[0][:, 1:][scored[:, 1:]], pair[1][:, 1:][scored[:, 1:]])
    return found


def _passes(
    model: "LanguageModel",
    read: TokenRows,
    kinds: Sequence[str],
    tests: Tests,
    weights: dict[str, tuple[Tensor, Tensor]],
) -> tuple[Float[Tensor, " row"], Gained]:
    """The mean loss of every row with all heads, and what is gained without each."""
    spec, n = spec_of(model), len(read.tokens)
    scored = read.scored[:, 1:]
    names = [f"blocks.{i}.{part}" for i in range(spec.n_layers) for part in ("hook_resid_pre", "attn.hook_z")]
    row = read.scored[:, 1:].nonzero()[:, 0].cpu()
    overall = torch.zeros(n, len(kinds), spec.n_layers, spec.n_heads, dtype=torch.float64)
    on, off = (torch.zeros(n, len(kinds), len(tests), dtype=torch.float64) for _ in range(2))
    of_head: dict[tuple[int, int], list[int]] = {}
    for test, (layer, head, _) in enumerate(tests):
        of_head.setdefault((layer, head), []).append(test)

    def by_row(losses: Tensor) -> Tensor:
        return torch.zeros(n, dtype=torch.float64).index_add_(0, row, losses)

    counted = [by_row(weights[label][0]) for *_, label in tests]
    gained = Gained(overall, on, off, torch.stack(counted, 1) if counted else torch.zeros(n, 0, dtype=torch.float64))

    with torch.inference_mode():
        edited, seen = forward.EditedForward.of(model), forward.activations(model, read.tokens, names)
        full = edited.losses(edited(seen[names[0]])[0], read.tokens, scored).cpu()
        for layer in progress.track(range(spec.n_layers), "ablating"):
            start, z = (seen[f"blocks.{layer}.{part}"] for part in ("hook_resid_pre", "attn.hook_z"))
            for head in range(spec.n_heads):
                for i, kind in enumerate(kinds):
                    instead = _instead(kind, z[:, :, head], read.real)
                    without = z.clone()
                    without[:, :, head] = instead
                    after, _ = edited(start, {f"blocks.{layer}.attn.hook_z": without}, first=layer)
                    more = edited.losses(after, read.tokens, scored).cpu() - full
                    gained.overall[:, i, layer, head] = by_row(more)
                    for test in of_head.get((layer, head), ()):
                        gained.on[:, i, test], gained.off[:, i, test] = (
                            by_row(more * weight) for weight in weights[tests[test][2]]
                        )
    return by_row(full) / read.scored[:, 1:].sum(1).cpu(), gained


def _instead(
    kind: str, z: Float[Tensor, "row pos d_head"], real: Bool[Tensor, "row pos"]
) -> Float[Tensor, "*row_pos d_head"]:
    """What replaces a head's output."""
    if kind == "zero":
        return torch.zeros_like(z[0, 0])
    if kind == "mean":
        return z[real].mean(0)
    if kind == "position mean":
        return (z * real[..., None]).sum(0) / real.sum(0).clamp(min=1)[:, None]
    return z[partners(real), torch.arange(z.shape[1], device=z.device)]


def _result(
    model: "LanguageModel",
    read: TokenRows,
    kinds: Sequence[str],
    called: list[list[str]],
    baseline: Float[Tensor, " row"],
    gained: Gained,
    tests: Tests,
    copied: str = "",
    evidence: bool = True,
) -> AblationResult:
    """Estimates over rows. Every token counts the same, so a row counts by its tokens."""
    scored = read.scored.sum(1).double().cpu()
    of_rows = scored[:, None, None, None].expand_as(gained.overall)
    predicted = gained.predicted[:, None].expand_as(gained.on)
    increase = ratio(gained.overall, of_rows)
    on, off = ratio(gained.on, predicted), ratio(gained.off, predicted)
    contrast = on - off
    tokens = int(scored.sum())
    return AblationResult(
        model=name_of(model),
        on="repeated random tokens" if copied else "stories",
        copying=copied,
        kinds=tuple(kinds),
        rows=len(read.tokens),
        tokens=tokens,
        baseline=float((baseline * scored).sum() / tokens),
        roles=called,
        increase=increase.value.float(),
        low=increase.interval[0].float(),
        high=increase.interval[1].float(),
        q=_q(increase, evidence),
        contrast=contrast.value.float(),
        contrast_low=contrast.interval[0].float(),
        contrast_high=contrast.interval[1].float(),
        contrast_q=_q(contrast, evidence),
        on_predicted=on.value.float(),
        on_others=off.value.float(),
        predicted=gained.predicted.sum(0).float(),
        tests=[f"{layer}.{head} {label}" for layer, head, label in tests],
        of_halves=_on_halves(gained.overall, of_rows) if evidence else [],
    )


def _on_halves(gained: Float[Tensor, "row kind layer head"], scored: Float[Tensor, "row kind layer head"]) -> list[int]:
    """How many heads matter on halves of the rows, which are in the order of their hashes, each row read twice
    (`halves.twice`); none of too few rows."""
    counts = []
    for groups in halves() if len(gained) >= FEWEST else ():
        half = twice(len(gained), groups)
        found = ratio(gained[half], scored[half])
        counts.append(int(matters(found.value, found.interval[0], _q(found, True)).sum()))
    return counts


def _q(found: GroupEstimate, evidence: bool) -> Float[Tensor, "kind *axes"]:
    """The q of each kind that the number is not 0; NaN without evidence."""
    q = np.stack([stats.benjamini_hochberg(p) for p in found.p_other(0.0)])
    return torch.as_tensor(q if evidence else np.full_like(q, np.nan)).float()
