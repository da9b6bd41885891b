"""The result of probes: how well queries and keys of every head tell parts of speech."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PARTS = ("query", "key")
Q = 0.05


@dataclass(frozen=True, eq=False)
class ProbesResult(CountedResult):
    """Balanced accuracy of linear probes for the part of speech, on stories and words that they were not fitted on.

    Intervals are 95%, the outer ends of those of the jackknife over groups of stories and over groups of word types.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("part", "layer", "head")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"part": PARTS}

    model: str
    """The model's name."""
    words: int
    """Words that were read, at most 20 of a type."""
    types: int
    """Different words among them."""
    classes: list[str]
    """The parts of speech that are told apart."""
    chance: float
    """Balanced accuracy of a guess."""
    embedding: float
    """Balanced accuracy of a probe of the token's embedding alone, whole or of as many dimensions as a head has,
    whichever is read better."""
    heads_to_a_key: int
    """Heads that share one key (grouped-query attention): a key counts once. 1 where every head has its own."""

    accuracy: Float[Tensor, "part layer head"]
    """Balanced accuracy: the mean over parts of speech of the share of words that get theirs."""
    low: Float[Tensor, "part layer head"]
    """Lower end of its interval."""
    high: Float[Tensor, "part layer head"]
    """Upper end of its interval."""
    shuffled: Float[Tensor, "part layer head"]
    """The same with labels shuffled among word types of like frequency, the largest over five shuffles."""
    gain: Float[Tensor, "part layer head"]
    """`accuracy` minus that of the embedding alone."""
    gain_low: Float[Tensor, "part layer head"]
    """Lower end of its interval."""
    gain_high: Float[Tensor, "part layer head"]
    """Upper end of its interval."""
    q_shuffled: Float[Tensor, "part layer head"]
    """False discovery rate of the claim that the accuracy exceeds that of shuffled labels (one-sided,
    Benjamini-Hochberg over all heads, queries and keys)."""
    q_embedding: Float[Tensor, "part layer head"]
    """The same of the claim that it exceeds that of the embedding alone."""

    @property
    def distinct(self) -> Bool[Tensor, "part layer head"]:
        """False where the key is that of the head before, so that it is counted once."""
        found = torch.ones_like(self.accuracy, dtype=torch.bool)
        found[PARTS.index("key")] = (torch.arange(found.shape[-1]) % self.heads_to_a_key == 0).expand(found.shape[1:])
        return found

    @property
    def carried(self) -> int:
        """How many of the queries and keys tell parts of speech better than with shuffled labels."""
        return int((self.distinct & (self.q_shuffled < Q)).sum())

    @property
    def added(self) -> int:
        """How many tell them better than the embedding alone does, and than with shuffled labels."""
        return int((self.distinct & (self.q_shuffled < Q) & (self.q_embedding < Q)).sum())

    def counts(self) -> dict[str, int]:
        """The number of queries and keys that tell parts of speech: better than with shuffled labels, and better than
        the embedding alone."""
        return {"queries and keys beyond shuffled labels": self.carried, "queries and keys beyond tokens": self.added}

    def summary(self) -> "pd.DataFrame":
        """Every head's queries and keys, the best first."""
        return self.to_frame().sort_values("accuracy", ascending=False, ignore_index=True)

    def headline(self) -> str:
        """How many queries and keys tell parts of speech, and how many more of them than the embedding does."""
        of = f"of {int(self.distinct.sum())} queries and keys"
        told = (
            f"{self.carried} {of} exceed shuffled labels, {self.added} the embedding alone too ({self.embedding:.3f})"
        )
        return f"{told}; chance {self.chance:.3f}: {', '.join(self.classes)}"

    def figure(self) -> "Figure":
        """What the queries of every head add to the embedding alone, and what its keys add."""
        from tslens import plots

        layers, heads = self.gain.shape[1:]
        names = [f"{head} {part}" for head in range(heads) for part in PARTS]
        return plots.heatmap(
            self.gain.permute(1, 2, 0).reshape(layers, -1),
            None,
            names,
            title=f"{self.model}: part of speech in queries and keys",
            row_label="layer",
            column_label="head",
            colour_label="over the embedding",
            centre=0.0,
        )
