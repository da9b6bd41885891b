"""The evidence for a circuit and against it, in rows: its faithfulness, its controls and its tests."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.analysis.circuits import hypotheses
from tslens.analysis.circuits.controls import Found, donors, jaccard, jaccard_by_chance, random_sets


def of_itself(found: Found) -> dict[str, Any]:
    """The circuit itself: its size, its faithfulness on both halves, and the effect that there is to explain."""
    kept, effect = found.faithfulness(), found.effect()
    return {
        "control": "the circuit",
        "size": int(found.members.sum()),
        "keeps": found.keeps,
        "faithfulness": kept.estimate,
        "low": kept.low,
        "high": kept.high,
        "effect": effect.estimate,
        "effect_low": effect.low,
        "effect_high": effect.high,
    }


def at_random(found: Found, n: int, seed: int) -> dict[str, Any]:
    """Random sets of its size: their median, their central 95%, and the rank of the circuit among them."""
    kept = random_sets(found, n, seed)
    own = found.faithfulness().estimate
    low, middle, high = (float(kept.quantile(q)) for q in (0.025, 0.5, 0.975))
    return {
        "control": f"{n} random sets of as many heads and MLPs",
        "size": int(found.members.sum()),
        "faithfulness": middle,
        "low": low,
        "high": high,
        "percentile": float((kept < own).double().mean() * 100),
        "p": (1 + int((kept >= own).sum())) / (1 + n),
    }


def donated(found: Found, n: int, seed: int) -> list[dict[str, Any]]:
    """Other resample ablations of what is outside: the mean over donors, and each pair's worst (adversarial)."""
    worst = f"outside from each pair's worst of {n + 1} donors (adversarial)"
    names = (f"outside from other pairs ({n} donors)", worst)
    return [
        {"control": name, "faithfulness": kept.estimate, "low": kept.low, "high": kept.high}
        for name, kept in zip(names, donors(found, n, seed), strict=True)
    ]


def overlap(sets: list[Bool[Tensor, " node"]], seed: int) -> dict[str, Any]:
    """How alike the circuits of different samples of pairs are."""
    found = jaccard(sets)
    sizes = [int(members.sum()) for members in sets]
    return {
        "control": f"Jaccard overlap of {len(sets)} samples' circuits (sizes {min(sizes)} to {max(sizes)})",
        "overlap": found.estimate,
        "low": found.low,
        "high": found.high,
        "by_chance": jaccard_by_chance(sizes, len(sets[0]), seed),
    }


def tests(found: Found) -> tuple[list[dict[str, Any]], Float[np.ndarray, " member"]]:
    """The three tests of Shi et al. on the half that the circuit was not found on, and the p-value of every member."""
    held, members = found.held, found.members
    own, whole = (held.margins(part).numpy() for part in (members, torch.ones_like(members)))
    nothing, rest = (held.margins(part).numpy() for part in (torch.zeros_like(members), ~members))
    share, p_equal = hypotheses.equivalence(own, whole)
    p_apart = hypotheses.independence(rest - nothing, whole - nothing)

    def changed(node: int, inside: bool) -> float:
        other = members.clone()
        other[node] = not inside
        return float(held.margins(other).mean() - own.mean())

    inside = np.array([changed(node, True) for node in members.nonzero().flatten().tolist()])
    outside = np.array([changed(node, False) for node in (~members).nonzero().flatten().tolist()])
    p_needed = hypotheses.minimality(inside, outside)
    tests = [
        {"control": "test of equivalence: share of pairs above the model", "share": share, "p": p_equal},
        {"control": "test of independence of all outside of it", "p": p_apart},
        {
            "control": "test of minimality: the smallest p of a member, times their number",
            "p": float(np.fmin(1.0, np.nanmin(p_needed) * len(p_needed))) if len(outside) else float("nan"),
        },
    ]
    return tests, p_needed


def alone(found: Found) -> Float[Tensor, " node"]:
    """What is lost of the circuit's margin on the other half without a member, or gained with a further node; a share
    of the whole effect."""
    base, effect = found.held.margins(found.members).mean(), found.effect().estimate
    changes = []
    for node in range(len(found.members)):
        other = found.members.clone()
        other[node] = ~other[node]
        change = float(found.held.margins(other).mean() - base) / effect
        changes.append(-change if found.members[node] else change)
    return torch.tensor(changes)


def at_members(members: Bool[Tensor, " node"], p: Float[np.ndarray, " member"]) -> Float[Tensor, " node"]:
    """The p-values of the members at their places, NaN elsewhere."""
    found = torch.full((len(members),), float("nan"))
    found[members] = torch.as_tensor(p).float()
    return found
