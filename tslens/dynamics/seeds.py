"""Runs of one recipe beside one another, as seeds: the steps that they share, and bands over them."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.corpus import Corpus
from tslens.dynamics.measure import STORIES, read_texts, snapshots
from tslens.dynamics.points import folder_of
from tslens.dynamics.result import DynamicsResult
from tslens.dynamics.snapshot import SnapshotResult, units_of, within
from tslens.dynamics.untrained import beside_twins
from tslens.errors import InputError
from tslens.halves import joined, warn_of_few
from tslens.progress import note
from tslens.result import read_on
from tslens.twins.counting import TWINS


def dynamics(
    runs: Sequence[str | Path],
    stories: Iterable[str],
    *,
    limit: int = STORIES,
    checkpoints: bool = False,
    n: int = TWINS,
) -> DynamicsResult:
    """Every score at every snapshot of runs that differ in their seed, on the first `limit` stories, beside `n`
    untrained twins of the first run's finished model.

    Each snapshot is read once and kept in its run's folder. Only steps at which all runs have a snapshot are shown.

    Raises:
        InputError: no run, a run named twice or without snapshots, runs of different shapes or without a step in
            common, fewer stories than give an interval.
    """
    names = names_of(runs)
    read = stories if isinstance(stories, Corpus) else list(islice(stories, limit))
    warn_of_few(len(read_texts(read, limit)))
    found = [snapshots(run, read, limit=limit, checkpoints=checkpoints) for run in runs]
    if n:
        found[0] = beside_twins(runs[0], found[0], read, n=n, limit=limit)
    return cast(DynamicsResult, read_on(together(names, found), stories))


def names_of(runs: Sequence[str | Path]) -> list[str]:
    """The names of the runs' folders; InputError for none, or for one that is named twice."""
    folders = [folder_of(run).resolve() for run in runs]
    if not folders:
        raise InputError("no run was named; give one or more, which are then seeds of one recipe.")
    if len(set(folders)) < len(folders):
        raise InputError("a run was named twice; as a seed it counts once.")
    return [folder.name for folder in folders]


def together(names: Sequence[str], found: Sequence[Sequence[SnapshotResult]]) -> DynamicsResult:
    """The result for runs of which the snapshots were measured."""
    check_alike(names, [each[0] for each in found])
    common = sorted(set.intersection(*({snapshot.step for snapshot in each} for each in found)))
    if not common:
        raise InputError(f"{' and '.join(names)} have no step in common at which all keep a snapshot.")
    if left := sorted({snapshot.step for each in found for snapshot in each} - set(common)):
        note(f"Steps of which not every run has a snapshot are left out: {', '.join(map(str, left))}.")
    chosen = [[snapshot for snapshot in each if snapshot.step in common] for each in found]
    first = chosen[0][0]

    def stacked(field: str) -> Tensor:
        return torch.stack([torch.stack([getattr(snapshot, field) for snapshot in each]) for each in chosen])

    value, low, high = (stacked(field) for field in ("value", "low", "high"))
    low, high = (within(ends, first.scores) for ends in (low, high))
    of = units_of(first.scores, first.role_code, first.label)
    mean, *ends = over_runs(value, low, high, of.expand_as(value[0]))
    below, above = (within(end, first.scores).T.contiguous() for end in ends)
    lens = over_runs(*(stacked(field) for field in ("lens", "lens_low", "lens_high")))
    return DynamicsResult(
        runs=list(names),
        steps=common,
        stories=first.stories,
        scores=first.scores,
        mean=mean.T.contiguous(),
        low=below,
        high=above,
        value=value,
        value_low=low,
        value_high=high,
        depths=first.depths,
        lens=lens[0],
        lens_low=lens[1],
        lens_high=lens[2],
        role_code=stacked("role_code"),
        measured=stacked("measured"),
        labels=first.labels,
        label=stacked("label"),
        of_twins=first.of_twins,
    )


def check_alike(names: Sequence[str], firsts: Sequence[SnapshotResult]) -> None:
    """InputError for runs whose models have different shapes or were read on different stories."""
    for name, other in zip(names[1:], firsts[1:], strict=True):
        for what in ("layers and heads", "neurons", "scores"):
            if _alike(other)[what] != _alike(firsts[0])[what]:
                raise InputError(
                    f"{names[0]} and {name} differ in their {what}: seeds are runs of one recipe. Give each alone."
                )


def _alike(found: SnapshotResult) -> dict[str, object]:
    """What all runs must have in common, by name."""
    return {
        "layers and heads": tuple(found.role_code.shape),
        "neurons": tuple(found.label.shape),
        "scores": (found.scores, found.stories),
    }


def over_runs(
    value: Float[Tensor, "run *axes"],
    low: Float[Tensor, "run *axes"],
    high: Float[Tensor, "run *axes"],
    of: Int[Tensor, "*axes"] | None = None,
) -> tuple[Float[Tensor, "*axes"], Float[Tensor, "*axes"], Float[Tensor, "*axes"]]:
    """The mean over runs with its interval; of one run its own interval. What is a count `of` so many heads or neurons
    varies at least as a binomial count does (`halves.joined`): runs that agree by chance leave a width."""
    if len(value) == 1:
        return value[0], low[0], high[0]
    found = stats.mean_interval(value.double().numpy())
    mean, below, above = (torch.as_tensor(part) for part in (found.estimate, found.low, found.high))
    if of is not None:
        ends = joined(mean, above - mean, of, runs=len(value))
        below, above = (torch.where(of > 0, *pair) for pair in zip(ends, (below, above), strict=True))
    return mean.float(), below.float(), above.float()
