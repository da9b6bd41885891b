"""Results of swaps and shifts: what decides each head's attention, and which roles the swaps contradict."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.heads.replaced import SWAPS, TOKENS, WORD
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VERDICTS = ("position decides", "content decides", "unresolved")
"""What a swap test says. `verdict_code` counts along this list."""
POSITION, CONTENT, UNRESOLVED = range(3)
Q = 0.05
LITTLE, MUCH = 1 / 3, 2 / 3
"""Position decides where the change is below the one, content where it is above the other, twice the share of position.
Planted heads lie far beyond: below 0.001 if position decides, 0.93 or more if content does."""

KEYS = ("all keys", "keys but BOS")
"""The keys over which a change is measured."""

BY_POSITION = frozenset({"previous token", "positional", "BOS sink", "self"})
"""Roles that say that position decides."""
BY_NEITHER = frozenset({"diffuse", "unresolved"})
"""Roles that say nothing of what decides. Every other role says that content does."""
OF_ALL_KEYS = frozenset({"positional", "BOS sink", "content-dependent"})
"""Roles that are a claim about the whole attention; every other is one about the attention that is not on BOS."""


def verdicts(
    change: Float[Tensor, "keys swap layer head"], q: Float[Tensor, "keys swap layer head"]
) -> Int[Tensor, "keys layer head"]:
    """What decides: content where any tokens *and* any words change more than two thirds, position where both change
    less than one third, each with q < 0.05; else unresolved.

    Both are asked, because each errs to one side: tokens without order break up words, and so disturb what a head reads
    of a word's beginning and end; words of as many tokens leave that as it is.
    """
    asked, sure = change[:, [TOKENS, WORD]], q[:, [TOKENS, WORD]] < Q
    content, position = ((asked > MUCH) & sure).all(1), ((asked < LITTLE) & sure).all(1)
    return torch.where(content, CONTENT, torch.where(position, POSITION, UNRESOLVED))


@dataclass(frozen=True, eq=False)
class SwapsResult(Result):
    """How much every head's attention changes where words are replaced and where positions are shifted.

    Words: 0 where the attention under other words explains that of the story, 1 where it explains no more than uniform
    attention. Shifts: 1 as between unrelated patterns of the same spread about uniform attention. Intervals are 95%,
    from the jackknife over stories. A local head's window counts tokens, so it moves with a shift.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"swap": SWAPS, "keys": KEYS}

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    copies: int
    """Copies of each story with half of their words replaced, of each kind of swap."""
    context: int
    """Tokens of a story that were read, at most."""
    replaced: float
    """Share of the tokens whose word can be replaced."""

    change: Float[Tensor, "keys swap layer head"]
    """Share of the attention's nats (KL from uniform) that its mean under other words does not explain, where each word
    is replaced: by any tokens, by any word of as many tokens, or by one of the same part of speech, capitals and
    frequency."""
    low: Float[Tensor, "keys swap layer head"]
    """Lower end of its interval."""
    high: Float[Tensor, "keys swap layer head"]
    """Upper end of its interval."""
    q: Float[Tensor, "keys swap layer head"]
    """False discovery rate of the claim that the share is below one third or above two thirds (Benjamini-Hochberg over
    all)."""

    beside: Float[Tensor, "swap layer head"]
    """Where half of the words are replaced, the change at unswapped keys from unswapped queries over the distance from
    uniform attention there: how far a pair depends on the words beside it. Near 0 in a first layer for any head."""
    beside_low: Float[Tensor, "swap layer head"]
    """Lower end of its interval."""
    beside_high: Float[Tensor, "swap layer head"]
    """Upper end of its interval."""

    shift: Float[Tensor, "keys layer head"]
    """Share of the divergence from uniform (chi-square) that follows the place in the story, where every position but
    that of BOS is shifted by 8 tokens or more; NaN where the context has no room."""
    shift_low: Float[Tensor, "keys layer head"]
    """Lower end of its interval."""
    shift_high: Float[Tensor, "keys layer head"]
    """Upper end of its interval."""

    verdict_code: Int[Tensor, "keys layer head"]
    """What decides, as its place in `VERDICTS`."""

    @property
    def verdicts(self) -> list[list[list[str]]]:
        """What decides where each head attends, over all keys and over those but BOS, by layer and head."""
        return [[[VERDICTS[code] for code in row] for row in keys] for keys in self.verdict_code.tolist()]

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per head, its fields by keys and kind of swap in columns of their own; with `field` as `Result`'s."""
        import pandas as pd

        if field is not None:
            return super().to_frame(field)
        layers, heads = self.verdict_code.shape[1:]
        columns: dict[str, Any] = {
            "layer": [layer for layer in range(layers) for _ in range(heads)],
            "head": list(range(heads)) * layers,
        }
        for i, keys in enumerate(KEYS):
            columns[f"verdict, {keys}"] = [verdict for row in self.verdicts[i] for verdict in row]
            for j, swap in enumerate(SWAPS):
                for name in ("change", "low", "high", "q"):
                    columns[f"{name}, {swap}, {keys}"] = getattr(self, name)[i, j].flatten().numpy()
            for name in ("shift", "shift_low", "shift_high"):
                columns[f"{name}, {keys}"] = getattr(self, name)[i].flatten().numpy()
        for j, swap in enumerate(SWAPS):
            columns[f"beside, {swap}"] = self.beside[j].flatten().numpy()
        return pd.DataFrame(columns)

    def summary(self) -> "pd.DataFrame":
        """What decides for every head, its change by each kind of swap, and by a shift; intervals are in `to_frame`."""
        changes = [f"change, {swap}, all keys" for swap in SWAPS]
        return self.to_frame()[["layer", "head", *(f"verdict, {keys}" for keys in KEYS), *changes, "shift, all keys"]]

    def headline(self) -> str:
        """The head whose attention follows the words most."""
        change = self.change[0, TOKENS]
        layer, head = divmod(int(change.nan_to_num(-torch.inf).argmax()), change.shape[1])
        value, low, high = (float(part[0, TOKENS, layer, head]) for part in (self.change, self.low, self.high))
        return (
            f"The attention of {layer}.{head} follows the words most: {value:.2f} ({low:.2f} to {high:.2f}) of its "
            "nats beyond uniform attention."
        )

    def figure(self) -> "Figure":
        """The change of every head by each kind of swap, and by a shift."""
        from tslens import plots

        names = [f"{layer}.{head}" for layer, row in enumerate(self.verdicts[0]) for head in range(len(row))]
        return plots.bars(
            names,
            self.change[0, TOKENS].flatten(),
            low=self.low[0, TOKENS].flatten(),
            high=self.high[0, TOKENS].flatten(),
            baseline=self.change[0, WORD].flatten(),
            title=f"Heads of {self.model}: how much of the attention follows the words",
            x_label="share of its nats that the mean under other tokens does not explain (mark: other words)",
        )
