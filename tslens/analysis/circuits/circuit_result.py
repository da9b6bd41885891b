"""The result about a circuit: its nodes, the evidence for it and against it, and its graph."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DRAWN = 24  # edges of the figure at most
TEST, REJECTED = "test of ", 0.05
WEAKEST = 0.02  # share of the effect below which an edge is not drawn


@dataclass(frozen=True, eq=False)
class CircuitResult(Result):
    """The smallest set found of heads and MLPs that keeps 90% of a model's answer when all others see the corrupt
    prompt, with its controls. Where the model does not do the task, there is no set and no evidence.

    Faithfulness is (m(circuit) - m(nothing)) / (m(model) - m(nothing)), m being the mean logit difference of right and
    wrong answer over clean prompts; above 1 the set does more than the model, since nodes that work against the answer
    are outside. A set that works because the rest still carries the answer is faithful too, so the controls decide.

    Intervals are 95%, over templates (`clusters`): a task has four to six, which say how far other wordings may differ.
    The tests of equivalence and of independence take pairs as independent: what they say is of pairs of these
    templates. Random sets have no interval but their central 95%.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("node",)
    axis_names: ClassVar[dict[str, str | tuple[str, ...]]] = {"node": "nodes", "edge": "edges"}

    model: str
    """The model's name."""
    task: str
    question: str
    pairs: int
    """Number of pairs: one half to find the circuit on, the other to measure it on."""
    dropped: dict[str, int]
    """Pairs that the tokenizer cannot express, by reason."""
    does: bool
    """Whether the model does the task: the interval of its accuracy lies above one half."""
    accuracy: float
    """Share of prompts answered rightly."""
    low: float
    """Lower end of its 95% interval."""
    high: float
    """Upper end of it."""
    nodes: list[str]
    """Heads (`layer.head`) and MLPs, in the order of the forward pass."""
    members: Bool[Tensor, " node"]
    """Whether a node is in the circuit."""
    screen: Float[Tensor, " node"]
    """What the node adds to the margin to first order (attribution patching), in logits; the order of the search."""
    alone: Float[Tensor, " node"]
    """Share of the effect that a member's removal costs the circuit, or that a further node adds, on the other half."""
    frequency: Float[Tensor, " node"]
    """Share of the samples of pairs whose circuit has this node."""
    minimality_p: Float[Tensor, " node"]
    """Of the hypothesis that a member matters more than 90% of the nodes outside; small where it is not needed."""
    evidence: list[dict[str, Any]]
    """The circuit, its controls and its tests, a row each. Faithfulness is that on pairs that it was not found on."""
    edges: list[str]
    """Direct paths between the input, members, and the logits."""
    edge_effect: Float[Tensor, " edge"]
    """Share of the difference between clean and corrupt margin that is lost without the path, on the other half."""
    edge_low: Float[Tensor, " edge"]
    """Lower end of its 95% interval, over templates."""
    edge_high: Float[Tensor, " edge"]
    """Upper end of it."""
    seconds: float
    """Time that the analysis took."""

    @property
    def chosen(self) -> list[str]:
        """The names of the members."""
        return [name for name, member in zip(self.nodes, self.members.tolist(), strict=True) if member]

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        over = f"{self.low:.3f} to {self.high:.3f} over templates"
        able = f"accuracy {self.accuracy:.3f} ({over}; chance 0.5; {self.pairs} pairs)"
        if not self.does:
            return f"{self.model} does not do this ({self.task}): {able}"
        own, random = self.evidence[0], self.evidence[1]
        nodes = f"{own['size']} of {len(self.nodes)} nodes ({', '.join(self.chosen)})"
        over = f"{own['low']:.2f} to {own['high']:.2f} over templates"
        kept = f"{own['faithfulness']:.2f} ({over}) of the answer on other pairs"
        among = f"95% of them {random['low']:.2f} to {random['high']:.2f}; p = {random['p']:.3f}"
        by_chance = f"random sets of that size {random['faithfulness']:.2f} in the median ({among})"
        return (
            f"{self.model}, {self.task}: {able}; {nodes} keep {kept}, {by_chance}; {self._tests()}; {self._elsewhere()}"
        )

    def _tests(self) -> str:
        """Which of the three tests speak against the circuit (Shi et al. 2024)."""
        tests = [row for row in self.evidence if row["control"].startswith(TEST)]
        against = [
            f"{row['control'].removeprefix(TEST).split()[0].rstrip(':')} ({_p(row['p'])})"
            for row in tests
            if row["p"] < REJECTED
        ]
        said = f"{', '.join(against) or 'none'} of {len(tests)}"
        return f"tests of an ideal circuit, on pairs of these templates, that reject it: {said}"

    def _elsewhere(self) -> str:
        """What the same search finds where the model answers nothing."""
        rows = [row for row in self.evidence if row["control"].startswith(("nonsense", "permuted"))]
        sizes = [row["size"] for row in rows]
        share = max(abs(row["effect"]) for row in rows) / abs(self.evidence[0]["effect"])
        return (
            f"the same search on nonsense and permuted twins finds {min(sizes)} to {max(sizes)} nodes, "
            f"for at most {share:.0%} of this effect"
        )

    def to_json(self) -> dict[str, Any]:
        """As of every result, with the verdict."""
        return super().to_json() | {"verdict": self.verdict}

    def headline(self) -> str:
        """What was found, or that the model does not do the task."""
        return self.verdict

    def __str__(self) -> str:
        return super().__str__() if self.does else self.verdict

    def summary(self) -> "pd.DataFrame":
        """The evidence, a row each; none for a model that does not do the task."""
        import pandas as pd

        table = pd.DataFrame(self.evidence if self.does else [{"control": self.verdict}]).astype(object)
        return table.where(table.notna(), "")

    def figure(self) -> "Figure":
        """The circuit as a graph, from the input below to the logits above; without a circuit the accuracy."""
        from tslens import plots

        if not self.does:
            return plots.bars(
                [self.task],
                [self.accuracy],
                low=[self.low],
                high=[self.high],
                baseline=0.5,
                title=f"{self.model} does not do this: {self.question}",
                x_label="share of prompts answered rightly (mark: chance)",
            )
        layers, last = self._shape()
        middle = (last + 1) / 2
        levels, names = [{"input": middle}], ["input"]
        for layer in range(layers):
            heads = {name: float(name.split(".")[1]) for name in self.chosen if name.startswith(f"{layer}.")}
            mlp = {name: last + 1.0 for name in self.chosen if name == f"MLP {layer}"}
            for here, shown in ((heads, f"heads {layer}"), (mlp, f"MLP {layer}")):
                if here:
                    levels.append(here)
                    names.append(shown)
        edges = dict(zip(self.edges, self.edge_effect.tolist(), strict=True))
        strongest = sorted((e for e in edges if abs(edges[e]) >= WEAKEST), key=lambda e: -abs(edges[e]))[:DRAWN]
        return plots.layered(
            [*levels, {"logits": middle}],
            {(edge.split(" → ")[0], edge.split(" → ")[1]): edges[edge] for edge in strongest},
            title=f"{self.model}: {self.question}",
            note="width: share of the answer lost without\nthe direct path (blue: for it, orange: against it)",
            level_names=[*names, "logits"],
        )

    def _shape(self) -> tuple[int, int]:
        """The number of layers, and the last head of each."""
        heads = [name.split(".") for name in self.nodes if not name.startswith("MLP")]
        return 1 + max(int(layer) for layer, _ in heads), max(int(head) for _, head in heads)


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
