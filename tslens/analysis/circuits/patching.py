"""Where in the model, and at which words, is the answer decided? (activation patching)

Heimersheim and Nanda 2024 (arXiv 2404.15255), Zhang and Nanda 2023 (arXiv 2309.16042).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import progress, stats
from tslens.analysis.circuits.agreement import agreement
from tslens.analysis.circuits.attribution import first_order
from tslens.analysis.circuits.clusters import over_clusters
from tslens.analysis.circuits.result import PatchingResult, having
from tslens.analysis.circuits.runs import Runs, pairs_for
from tslens.errors import InputError
from tslens.halves import FEWEST, GROUPS, halves
from tslens.models import Spec, name_of, spec_of
from tslens.stories.pairs import Pairs, Task

if TYPE_CHECKING:
    from tslens.models import LanguageModel

BATCH = 64  # pairs whose activations are held at a time
PARTS = {"residual": "hook_resid_pre", "attention": "hook_attn_out", "MLP": "hook_mlp_out"}
Place = tuple[str, str, int, int | None]
"""A name that is shown, an activation, its block, and its head if it is one."""


def patching(model: "LanguageModel", task: "str | Task | Pairs", *, n: int = 100, seed: int = 0) -> PatchingResult:
    """The effect of every residual stream, attention output, MLP output and head on the answer, by the role of the
    token in its pair: its clean value is put into the corrupt run.

    An effect is the change of the margin as a share of the whole difference between the runs: 0 leaves the corrupt
    answer, 1 restores the clean one. It is a ratio of means over pairs, with an interval over templates (`clusters`).
    The pairs are drawn in both directions, so the opposite exchange (corrupt into clean) has the same expected effect.

    Raises:
        InputError: there is no such task, or too few pairs of it, or the model's answers do not differ at all.
    """
    found = pairs_for(model, task, n, seed)
    spec, (roles, _) = spec_of(model), found.roles()
    places = list(_places(spec))
    rows = [
        _batch(model, found[part], roles, places)
        for part in progress.track(torch.arange(len(found)).split(BATCH), "patching")
    ]
    exact, linear, base = (torch.cat(part) for part in zip(*rows, strict=True))
    whole = base[:, 1] - base[:, 0]
    if not float(whole.mean().abs()) > 1e-9:
        raise InputError("The clean and the corrupt prompts give the same margins: there is nothing to patch.")
    template = found.template.numpy()
    effect, estimate = (_share(values, whole, template) for values in (exact, linear))
    names = [name for name, *_ in places]
    return PatchingResult(
        model=name_of(model),
        task=found.task,
        pairs=len(found),
        margin_clean=float(base[:, 1].mean()),
        margin_corrupt=float(base[:, 0].mean()),
        places=names,
        roles=[*roles, "all"],
        effect=torch.as_tensor(effect.estimate).float(),
        low=torch.as_tensor(effect.low).float(),
        high=torch.as_tensor(effect.high).float(),
        attribution=torch.as_tensor(estimate.estimate).float(),
        attribution_low=torch.as_tensor(estimate.low).float(),
        attribution_high=torch.as_tensor(estimate.high).float(),
        agreement=[
            row
            for kind, chosen in _kinds(places)
            for row in [agreement(kind, exact[:, chosen], linear[:, chosen], template)]
        ],
        of_halves=_on_halves(names, exact, whole, template),
    )


def _places(spec: Spec) -> Iterator[Place]:
    """Every place that is patched, in the order of the table."""
    for kind, part in PARTS.items():
        for layer in range(spec.n_layers) if kind != "MLP" or spec.has_mlp else ():
            yield f"{kind} {layer}", part, layer, None
    for layer in range(spec.n_layers):
        for head in range(spec.n_heads):
            yield f"head {layer}.{head}", "attn.hook_z", layer, head


def _kinds(places: list[Place]) -> Iterator[tuple[str, list[int]]]:
    """The places of each kind that the model has."""
    for kind in (*PARTS, "head"):
        if chosen := [i for i, (name, *_) in enumerate(places) if name.startswith(kind)]:
            yield kind, chosen


def _batch(
    model: "LanguageModel", pairs: Pairs, roles: tuple[str, ...], places: list[Place]
) -> tuple[Float[Tensor, "pair place role"], Float[Tensor, "pair place role"], Float[Tensor, "pair 2"]]:
    """The change of every pair's margin by place and role (the last: all of them), exact and to first order, and the
    margins of its corrupt and of its clean run."""
    names = sorted({f"blocks.{layer}.{part}" for _, part, layer, _ in places})
    with torch.inference_mode():
        runs = Runs.of(model, pairs)
        base, corrupt = runs.activations(runs.corrupt, names)
        top, clean = runs.activations(runs.clean, names)
        masks = _masks(pairs, roles).to(base.device)
        exact = torch.zeros(len(pairs), len(places), len(masks), dtype=torch.float64)
        for i, (_, part, layer, head) in enumerate(places):
            name, start = f"blocks.{layer}.{part}", corrupt[f"blocks.{layer}.hook_resid_pre"]
            for j, mask in enumerate(masks):
                if mask.any():
                    there = patched(corrupt[name], clean[name], mask, head)
                    exact[:, i, j] = (runs.margins(start, {name: there}, first=layer) - base).cpu()
    slopes = first_order(model, pairs, names)
    linear = torch.zeros_like(exact)
    for i, (_, part, layer, head) in enumerate(places):
        found = slopes[f"blocks.{layer}.{part}"]
        found = (found if head is None else found[:, :, head]).sum(-1).double().cpu()
        linear[:, i] = torch.einsum("bp,rbp->br", found, masks.double().cpu())
    return exact, linear, torch.stack([base, top], 1).cpu()


def patched(
    into: Float[Tensor, "pair pos ..."],
    value: Float[Tensor, "pair pos ..."],
    mask: Bool[Tensor, "pair pos"],
    head: int | None,
) -> Float[Tensor, "pair pos ..."]:
    """One activation with the other's values at the marked positions, in one head or as a whole."""
    made = into.clone()
    if head is None:
        made[mask] = value[mask]
    else:
        made[:, :, head][mask] = value[:, :, head][mask]
    return made


def _masks(pairs: Pairs, roles: tuple[str, ...]) -> Bool[Tensor, "role pair pos"]:
    """Where each of these roles stands, and where any of them does."""
    there, found = pairs.roles()
    none = torch.zeros_like(found[0])
    masks = torch.stack([found[there.index(role)] if role in there else none for role in roles])
    return torch.cat([masks, masks.any(0, keepdim=True)])


def _share(
    values: Float[Tensor, "pair place role"], whole: Float[Tensor, " pair"], template: Int[np.ndarray, " pair"]
) -> stats.Interval:
    """The mean change as a share of the mean whole difference, with its interval over templates."""
    flat = torch.cat([values.flatten(1), whole[:, None]], dim=1).numpy()
    found = over_clusters(flat, template, _ratios)
    estimate, low, high = (np.reshape(part, values.shape[1:]) for part in (found.estimate, found.low, found.high))
    return stats.Interval(estimate, low, high, found.level, found.method)


def _on_halves(
    names: list[str],
    exact: Float[Tensor, "pair place role"],
    whole: Float[Tensor, " pair"],
    template: Int[np.ndarray, " pair"],
) -> list[dict[str, int]]:
    """The counts on halves of the pairs; none of too few pairs."""
    row, counts = torch.arange(len(whole)), []
    for groups in halves() if len(row) >= FEWEST else ():
        half = torch.isin(row % GROUPS, torch.tensor(groups))
        found = _share(exact[half][:, :, -1:], whole[half], template[half.numpy()])
        counts.append(having(names, *(torch.as_tensor(end)[:, 0].float() for end in (found.low, found.high))))
    return counts


def _ratios(rows: Float[np.ndarray, "pair column"]) -> Float[np.ndarray, " ratio"]:
    """The means of all columns but the last, over that of the last."""
    means = rows.mean(0)
    return np.asarray(means[:-1] / means[-1])
