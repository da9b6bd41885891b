"""Which heads and MLPs does the answer need, and would the same search find as much where there is nothing?

A circuit is claimed only of a task that the model does; it is found on one half of the pairs and measured on the
other, beside its controls (`controls`) and its tests (`hypotheses`).
"""

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool
from torch import Tensor

from tslens import progress
from tslens.analysis.circuits import evidence
from tslens.analysis.circuits.accuracy import AccuracyResult, accuracy
from tslens.analysis.circuits.circuit_result import CircuitResult
from tslens.analysis.circuits.clusters import over_clusters
from tslens.analysis.circuits.controls import Found, as_control, found_on, nonsense
from tslens.analysis.circuits.edges import edges_of
from tslens.analysis.circuits.nodes import Circuits, node_names, screen
from tslens.analysis.circuits.runs import Runs, pairs_for
from tslens.analysis.circuits.search import halves, search
from tslens.errors import InputError
from tslens.models import Spec, spec_of
from tslens.models.twins import Twin
from tslens.stories.pairs import Pairs, Task

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FEWEST_RANDOM = 20
EDGES_ON = 64  # pairs on which the edges are measured


def circuit(
    model: "LanguageModel",
    task: "str | Task | Pairs",
    *,
    n: int = 200,
    seed: int = 0,
    random: int = 100,
    others: int = 3,
    donated: int = 8,
    resamples: int = 8,
) -> CircuitResult:
    """The heads and MLPs that keep 90% of the model's answer when all others see the corrupt prompt, with controls.

    `random` sets of the circuit's size, `others` nonsense tasks and as many permuted twins, on which the same search
    runs, `donated` donors of other activations for what is outside, and `resamples` further samples of pairs, on which
    the search runs again. A model that does not do the task has no circuit, and the Result says so.

    Raises:
        InputError: there is no such task, or too few pairs of it, or fewer than 20 random sets were asked for.
    """
    if random < FEWEST_RANDOM or others < 1 or resamples < 2:
        raise InputError(
            f"A circuit needs {FEWEST_RANDOM} random sets, 1 other task and 2 resamples or more; "
            f"got {random}, {others} and {resamples}."
        )
    started, pairs = time.perf_counter(), pairs_for(model, task, n, seed)
    able, spec = accuracy(model, pairs), spec_of(model)
    if not able.does:
        return _none(able, spec)
    on, held = halves(len(pairs), seed)
    with progress.stage("searching for the circuit"):
        found = found_on(model, pairs, on, held)
    rows = [evidence.of_itself(found), evidence.at_random(found, random, seed)]
    rows += [*evidence.donated(found, donated, seed), *_elsewhere(model, pairs, on, held, others)]
    sets = [found.members, *_again(model, task, pairs, seed, resamples)]
    tests, minimal = evidence.tests(found)
    return CircuitResult(
        **_common(able, spec),
        members=found.members,
        screen=found.order.float(),
        alone=evidence.alone(found),
        frequency=torch.stack(sets).float().mean(0),
        minimality_p=evidence.at_members(found.members, minimal),
        evidence=[_json(row) for row in (*rows, evidence.overlap(sets, seed), *tests)],
        **_edges(model, pairs[held], found),
        seconds=time.perf_counter() - started,
    )


def _common(able: AccuracyResult, spec: Spec) -> dict[str, Any]:
    shared = ("model", "task", "question", "pairs", "dropped", "accuracy", "low", "high")
    return {"nodes": node_names(spec), "does": able.does} | {name: getattr(able, name) for name in shared}


def _none(able: AccuracyResult, spec: Spec) -> CircuitResult:
    """The answer about a model that does not do the task."""
    missing, no_edges = torch.full((len(node_names(spec)),), float("nan")), torch.zeros(0)
    return CircuitResult(
        **_common(able, spec),
        members=torch.zeros(len(missing), dtype=torch.bool),
        screen=missing,
        alone=missing,
        frequency=missing,
        minimality_p=missing,
        evidence=[],
        edges=[],
        edge_effect=no_edges,
        edge_low=no_edges,
        edge_high=no_edges,
        seconds=0.0,
    )


def _elsewhere(model: "LanguageModel", pairs: Pairs, on: Tensor, held: Tensor, others: int) -> Iterator[dict[str, Any]]:
    """What the same search finds where there is nothing to find."""
    for i in progress.track(range(others), "the same search on nonsense and on permuted twins"):
        yield as_control(f"nonsense task {i}", model, nonsense(model, pairs, i), on, held)
        yield as_control(f"permuted twin {i}", Twin("permuted", i).of(model), pairs, on, held)


def _json(row: dict[str, Any]) -> dict[str, Any]:
    """A row in which what is undefined is None: JSON has no NaN."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def _again(
    model: "LanguageModel", task: "str | Task | Pairs", pairs: Pairs, seed: int, n: int
) -> list[Bool[Tensor, " node"]]:
    """The circuits of further samples of pairs: new ones where the task can be drawn again, else random halves."""
    sets = []
    for i in progress.track(range(1, n + 1), "the same search on other pairs"):
        half = halves(len(pairs), seed, i)[0]
        sample = pairs[half] if isinstance(task, Pairs) else pairs_for(model, task, max(8, len(half)), seed + 7919 * i)
        sets.append(search(Circuits.of(model, sample), screen(model, sample).mean(0)))
    return sets


def _edges(model: "LanguageModel", held: Pairs, found: Found) -> dict[str, Any]:
    """The direct paths of the circuit, and what each carries as a share of the difference between the two runs."""
    with progress.stage("measuring its edges"):
        edges = edges_of(Runs.of(model, held[torch.arange(min(EDGES_ON, len(held)))]), found.members)
        n, runs = len(edges.lost), found.held.runs
        with torch.inference_mode():
            corrupt = runs.margins(runs.corrupt)[:n].cpu()
    whole = found.held.margins(torch.ones_like(found.members))[:n] - corrupt
    rows = torch.cat([edges.lost, whole[:, None]], dim=1).numpy()
    share = over_clusters(rows, found.template[:n], lambda part: part[:, :-1].mean(0) / part[:, -1].mean())
    return {
        "edges": [f"{a} → {b}" for a, b in zip(edges.sources, edges.targets, strict=True)],
        "edge_effect": torch.as_tensor(share.estimate).float(),
        "edge_low": torch.as_tensor(share.low).float(),
        "edge_high": torch.as_tensor(share.high).float(),
    }
