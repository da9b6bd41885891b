"""The result of path patching between heads."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import stats
from tslens.halves import around
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

KINDS = ("Q", "K", "V")
SHOWN = 20  # rows of the printed table
Q = 0.05


def mattering(q: Float[Tensor, "*path"], low: Float[Tensor, "*path"]) -> int:
    """The number of paths without which the loss is surely higher."""
    return int(((q < Q) & (low > 0)).sum())


@dataclass(frozen=True, eq=False)
class PathsResult(Result):
    """What the model loses on repeated text when one head sees another's output from other text, as queries, keys or
    values: the direct path between the two, everything else as it is.

    Intervals are 95% (Student's t over rows, paired). The loss is that of the second half, where a token has an earlier
    occurrence; it is evidence about copying only where the second half is easier than the first (`copies`).
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("kind", "source", "target")
    axis_names: ClassVar[dict[str, str | tuple[str, ...]]] = {"kind": KINDS, "source": "sources", "target": "targets"}

    model: str
    """The model's name."""
    on: str
    """What was repeated: `random tokens` or `stories`."""
    rows: int
    first_half: float
    """Loss of the first half, nats per token."""
    second_half: float
    """Loss of the second half, nats per token, from its second token on."""
    copies: bool
    """Whether the second half is surely easier than the first (paired), and than a uniform guess."""
    sources: list[str]
    """The heads with the most attention on the previous token, the most first."""
    previous: Float[Tensor, " source"]
    """Their attention on the previous token."""
    targets: list[str]
    """The heads with the most attention on the token after the earlier occurrence, the most first."""
    induction: Float[Tensor, " target"]
    """Their attention there."""
    effect: Float[Tensor, "kind source target"]
    """Loss of the second half without the path minus that with it, nats per token; NaN where the source does not come
    before the target."""
    low: Float[Tensor, "kind source target"]
    """Lower end of its interval."""
    high: Float[Tensor, "kind source target"]
    """Upper end of it."""
    q: Float[Tensor, "kind source target"]
    """False discovery rate of the claim that the effect is not 0 (two-sided, Benjamini-Hochberg over all); NaN
    where the text is not copied, so that it is no evidence."""
    of_halves: list[int] = field(default_factory=list, kw_only=True)
    """The paths that matter on halves of the rows (`tslens.halves`); empty of too few rows."""
    of_twins: list[int] = field(default_factory=list, kw_only=True)
    """The paths of each untrained twin that matter, on the same rows; empty where no twin was asked."""

    @property
    def matter(self) -> int:
        """The number of paths without which the second half's loss is surely higher (q < 0.05)."""
        return mattering(self.q, self.low)

    def said(self) -> str:
        """That number in words, beside those of untrained twins; that there is no evidence where nothing is copied."""
        if not self.copies:
            return f"Repeated {self.on} are not copied: no evidence that a path matters for copying"
        p = float(stats.rank_p(self.matter, self.of_twins))
        beside = f"{min(self.of_twins)} to {max(self.of_twins)}; p = {p:.2f}" if self.of_twins else "not counted"
        patched = int(self.effect.isfinite().sum())
        interval = f"{self.rows} rows: no interval"
        if self.of_halves:
            low, high = around(*(torch.tensor(count) for count in (self.matter, self.of_halves, patched)))
            interval = f"{low:.0f} to {high:.0f}"
        said = f"{self.matter} of {patched} paths matter on repeated {self.on}"
        return f"{said} ({interval}; untrained twins: {beside})"

    def headline(self) -> str:
        """How many paths matter."""
        return f"{self.said()}."

    def summary(self) -> "pd.DataFrame":
        """The strongest paths, with what the two heads attend to."""
        frame = self.to_frame().dropna(subset=["effect"])
        frame["previous"] = frame["source"].map(dict(zip(self.sources, self.previous.tolist(), strict=True)))
        frame["induction"] = frame["target"].map(dict(zip(self.targets, self.induction.tolist(), strict=True)))
        strongest = frame["effect"].abs().sort_values(ascending=False, kind="stable").index[:SHOWN]
        return frame.loc[strongest].reset_index(drop=True)

    def figure(self) -> "Figure":
        """Heat map of the effects: one row per source and input, one column per target."""
        from tslens import plots

        effect = self.effect.numpy()
        rows = [(k, s) for k in range(len(KINDS)) for s in range(len(self.sources)) if np.isfinite(effect[k, s]).any()]
        return plots.heatmap(
            np.array([effect[k, s] for k, s in rows]),
            [f"{KINDS[k]}: {self.sources[s]} →" for k, s in rows],
            self.targets,
            title=f"{self.model}: paths on repeated {self.on}" + ("" if self.copies else " (which it does not copy)"),
            row_label="writer",
            column_label="reader",
            colour_label="nats per token lost without the path",
            centre=0.0,
        )
