"""The search for a circuit: a greedy set of nodes that keeps the answer, then pruned until no member can go.

Nodes join in the order of the screen (attribution patching) until the set keeps its share of the margin; then every
member whose loss the set survives is removed, the weakest first, until none is left.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.analysis.circuits.nodes import Circuits, in_block

KEEPS = 0.9
"""Share of (m(model) - m(nothing)) that a circuit keeps, m being the mean margin."""
FLAT = 1e-9  # logits


@dataclass(frozen=True)
class Scale:
    """The two ends of faithfulness on some pairs."""

    nothing: float
    """Mean margin with no node on the clean prompt."""
    model: float
    """Mean margin of the whole model."""

    @classmethod
    def of(cls, circuits: Circuits) -> "Scale":
        """The mean margins of the empty set and of all nodes."""
        n = circuits.runs.spec.n_layers * in_block(circuits.runs.spec)
        ends = (torch.zeros(n, dtype=torch.bool), torch.ones(n, dtype=torch.bool))
        return cls(*(float(circuits.margins(members).mean()) for members in ends))

    @property
    def flat(self) -> bool:
        """Whether there is nothing to keep: the two ends are the same."""
        return abs(self.model - self.nothing) < FLAT

    def faithfulness(self, margins: Float[Tensor, " pair"]) -> float:
        """(m(circuit) - m(nothing)) / (m(model) - m(nothing)); NaN where that is flat."""
        return float("nan") if self.flat else (float(margins.mean()) - self.nothing) / (self.model - self.nothing)


def search(circuits: Circuits, order: Float[Tensor, " node"], keeps: float = KEEPS) -> Bool[Tensor, " node"]:
    """A set of nodes that keeps this share of the margin on these pairs, and from which no member can go.

    `order` is each node's score; where the whole difference is negative the lowest come first, and where there is none
    the set is empty.
    """
    scale = Scale.of(circuits)
    score = order if scale.model >= scale.nothing else -order
    members = torch.zeros(len(order), dtype=torch.bool)
    if scale.flat:
        return members
    for node in score.argsort(descending=True, stable=True).tolist():
        if scale.faithfulness(circuits.margins(members)) >= keeps:
            break
        members[node] = True
    return pruned(circuits, members, score, scale, keeps)


def pruned(
    circuits: Circuits,
    members: Bool[Tensor, " node"],
    score: Float[Tensor, " node"],
    scale: Scale,
    keeps: float = KEEPS,
) -> Bool[Tensor, " node"]:
    """The set without the members that it does not need, tried from the lowest score up, again until none can go."""
    members = members.clone()
    while True:
        before = int(members.sum())
        for node in score.argsort(stable=True).tolist():
            if members[node]:
                members[node] = False
                if scale.faithfulness(circuits.margins(members)) < keeps:
                    members[node] = True
        if int(members.sum()) == before:
            return members


def halves(n: int, seed: int, round_: int = 0) -> tuple[Tensor, Tensor]:
    """Two random halves of `n` pairs: one to find a circuit on, one to measure it on."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(1_000_003 * seed + round_))
    return order[: n // 2].sort().values, order[n // 2 :].sort().values
