"""The result about word sets and words before: what each pattern predicts on other stories."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.neurons.held_out_measures import AUROC, MEASURES
from tslens.analysis.neurons.held_out_result import LEAST, NEAR
from tslens.plots.text import shown
from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

KINDS = ("word set", "words before")
Q = 0.05


@dataclasses.dataclass(frozen=True, eq=False)
class PatternsResult(CountedResult):
    """Patterns that one half of the stories proposes for each neuron, tested on the other (see `patterns`).

    Intervals are 95%, by the jackknife over ten groups of stories. NaN where a neuron has no pattern, or too few tokens
    test it.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("kind", "layer", "neuron")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"kind": KINDS, "measure": MEASURES}

    words: Int[Tensor, "layer neuron word"]
    """The word set, as token ids, the commonest first; -1 where there is none."""
    before: Int[Tensor, "layer neuron place"]
    """The words before, as token ids, the nearest first; -1 where there is none."""
    share: Float[Tensor, "kind layer neuron"]
    """Share of the different top contexts that have the pattern."""
    base_rate: Float[Tensor, "kind layer neuron"]
    """Share of the tokens of the other half that have it."""
    value: Float[Tensor, "kind layer neuron measure"]
    """AUROC, precision, recall, purity and base rate on the other half (see `HeldOutResult.value`)."""
    low: Float[Tensor, "kind layer neuron measure"]
    """Lower end of its interval."""
    high: Float[Tensor, "kind layer neuron measure"]
    """Upper end of its interval."""
    q: Float[Tensor, "kind layer neuron"]
    """False discovery rate that the AUROC is at most 0.5 (Benjamini-Hochberg over all patterns)."""
    auroc_other_words: Float[Tensor, "layer neuron"]
    """The AUROC of the words before, without the words of the neuron's own top list."""
    auroc_other_words_low: Float[Tensor, "layer neuron"]
    """Lower end of its interval."""
    positives: Int[Tensor, "kind layer neuron"]
    """Tokens of the other half that have the pattern."""

    pieces: list[str]
    """The vocabulary as displayed text, by token id."""
    model: str
    """The model's name."""
    n_labelled: int
    """Stories that gave the patterns."""
    n_tested: int
    """Stories that tested them."""
    n_tokens: int
    """Tokens of these."""

    @property
    def predicts(self) -> Bool[Tensor, "kind layer neuron"]:
        """Whether the pattern predicts: q is at most 0.05, and the AUROC's interval above 0.7; of words before also
        that without the words of the neuron's own top list (no word is left to test some: these are untested)."""
        least = self.low[..., AUROC].clone()
        before = KINDS.index("words before")
        least[before] = torch.minimum(least[before], self.auroc_other_words_low)  # NaN if either is
        return (self.q <= Q) & (least > LEAST + NEAR)

    def pattern_of(self, kind: str, layer: int, neuron: int) -> str:
        """The pattern in words: `lilies, tulips`, or `after: smelled of`; empty where there is none."""
        ids = (self.words if kind == "word set" else self.before)[layer, neuron].tolist()
        named = [shown(self.pieces[i]).strip() for i in ids if i >= 0]
        return ", ".join(named) if kind == "word set" else f"after: {' '.join(named[::-1])}" if named else ""

    def counts(self) -> dict[str, int]:
        """The number of neurons with a pattern of each kind that predicts."""
        return {f"{kind} neurons": int(self.predicts[i].sum()) for i, kind in enumerate(KINDS)}

    def summary(self) -> "pd.DataFrame":
        """The patterns that predict, the best first."""
        import pandas as pd

        rows = []
        for i, layer, neuron in self.predicts.nonzero().tolist():
            at = (i, layer, neuron)
            measures = {
                f"{name}{end}": float(part[at][m])
                for m, name in enumerate(MEASURES)
                for end, part in (("", self.value), ("_low", self.low), ("_high", self.high))
            }
            other = float(self.auroc_other_words[layer, neuron]) if KINDS[i] == "words before" else float("nan")
            rows.append(
                {
                    "layer": layer,
                    "neuron": neuron,
                    "kind": KINDS[i],
                    "pattern": self.pattern_of(KINDS[i], layer, neuron),
                    **measures,
                    "auroc_other_words": other,
                    "positives": int(self.positives[at]),
                    "q": float(self.q[at]),
                }
            )
        columns = ["layer", "neuron", "kind", "pattern", "auroc", "auroc_low", "auroc_high"]
        frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
        return frame.sort_values("auroc_low", ascending=False, kind="stable").reset_index(drop=True)

    def headline(self) -> str:
        """How many patterns of each kind predict."""
        said = " and ".join(
            f"{int(self.predicts[i].sum())} of {int((self.share[i] > 0).sum())} patterns of the kind {kind!r}"
            for i, kind in enumerate(KINDS)
        )
        return f"{said} predict on {self.n_tested:,} other stories."

    def figure(self) -> "Figure":
        """The number of neurons by kind whose pattern predicts, in each layer."""
        from tslens import plots

        names = [f"{kind}, layer {layer}" for kind in KINDS for layer in range(self.words.shape[0])]
        return plots.bars(names, self.predicts.sum(-1).flatten(), title=f"{self.model}: neurons with a pattern")
