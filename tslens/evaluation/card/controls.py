"""Controls of the score card: what each damage to real texts costs each axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import progress, stats
from tslens.errors import InputError
from tslens.evaluation.card.reference import AXES, Reference
from tslens.evaluation.damages import HITS, damaged
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ControlsCardResult(Result):
    """How well each axis tells intact texts from damaged ones: the probability that an intact text has more of it than
    a damaged one (AUROC), 0.5 where the damage costs nothing and less where it raises the axis."""

    frame_axes: ClassVar[tuple[str, ...]] = ("damage", "axis")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"axis": AXES, "damage": tuple(HITS)}

    reference: str
    texts: int
    """Intact texts."""
    auroc: Float[Tensor, "damage axis"]
    low: Float[Tensor, "damage axis"]
    high: Float[Tensor, "damage axis"]

    def headline(self) -> str:
        """How many damages cost most on an axis that they hit."""
        rows = self.summary()
        right = int((rows["own"] & rows["most"]).sum())
        return f"{right} of {len(HITS)} damages cost most on an axis that they hit, on {self.texts:,} texts."

    def summary(self) -> "pd.DataFrame":
        """One row per damage and axis; `own` marks the axes that the damage hits, `most` the one that it costs most."""
        frame = self.to_frame()
        most = self.auroc.nan_to_num(-1.0).argmax(1)
        own = [axis in HITS[damage] for damage, axis in zip(frame["damage"], frame["axis"], strict=True)]
        return frame.assign(own=own, most=(torch.arange(len(AXES)) == most[:, None]).flatten().numpy())

    def figure(self) -> "Figure":
        """The AUROC of every axis with its interval, by damage."""
        from tslens import plots

        columns = {d: (self.auroc[i], self.low[i], self.high[i]) for i, d in enumerate(HITS)}
        return plots.intervals(list(AXES), columns, threshold=0.5, x_label="AUROC, intact above damaged")


def controls(texts: Sequence[str], usual: Reference, *, seed: int = 0) -> ControlsCardResult:
    """Score texts and their damaged copies (`evaluation.damages`). InputError for fewer than 10 texts."""
    if len(texts) < 10:
        raise InputError(f"{len(texts)} texts are too few for controls; give 10 or more.")
    intact = np.array([usual.axes(text) for text in progress.track(list(texts), "intact")])
    found = []
    for name in HITS:
        copies = [(i, copy) for i, copy in enumerate(damaged(name, texts, seed)) if copy is not None]
        hurt = np.array([usual.axes(copy) for _, copy in progress.track(copies, name)]).reshape(-1, len(AXES))
        of = np.concatenate([np.arange(len(texts)), [i for i, _ in copies]]).astype(int)
        scores = np.concatenate([intact, hurt]).T
        found.append([_told_apart(row, np.arange(len(of)) < len(texts), of) for row in scores])
    columns: dict[str, Any] = {
        f: torch.tensor([[float(getattr(a, n)) for a in row] for row in found]) for f, n in _FIELDS.items()
    }
    return ControlsCardResult(reference=usual.name, texts=len(texts), **columns)


def _told_apart(
    scores: Float[np.ndarray, " text"], intact: Bool[np.ndarray, " text"], of: Int[np.ndarray, " text"]
) -> stats.Interval:
    """The AUROC of one axis, of the texts that have it; NaN if none has."""
    there = ~np.isnan(scores)
    if not there.any():
        return stats.Interval(np.nan, np.nan, np.nan, 0.95, "no text has it")
    return stats.auroc(scores[there], intact[there], clusters=of[there])


_FIELDS = {"auroc": "estimate", "low": "low", "high": "high"}
