"""The score card of bare texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import progress, stats
from tslens.errors import InputError
from tslens.evaluation.card.reference import AXES, NOT_MEASURED, REACH, Reference
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class TextsCardResult(Result):
    """What can be said of texts alone, in standard deviations from the mean of reference stories: 0 is usual."""

    frame_axes: ClassVar[tuple[str, ...]] = ("text", "axis")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"axis": AXES}

    name: str
    reference: str
    """The reference stories."""
    texts: list[str]
    value: Float[Tensor, "text axis"]

    def axis(self, name: str) -> stats.Interval:
        """The mean of an axis over texts, with Student's t interval."""
        return stats.mean_interval(self.value[:, AXES.index(name)].numpy())

    def at_the_end(self, name: str) -> int:
        """The number of texts whose value is as far from the reference as an axis reaches."""
        return int((self.value[:, AXES.index(name)].abs() >= REACH[name] - 1e-6).sum())

    @property
    def remark(self) -> str:
        """A sentence if most texts are so far from the reference that an axis tells them apart no more; else empty."""
        far = [name for name in AXES if self.at_the_end(name) > len(self.texts) / 2]
        if not far:
            return ""
        return (
            f"By {' and '.join(far)} most of {self.name} are as far from {self.reference or 'the reference'} as the "
            "scale reaches: these are of another kind, or no stories, and the values grade nothing. Compare texts "
            "with stories of their own kind."
        )

    def summary(self) -> "pd.DataFrame":
        import pandas as pd

        rows = [
            (self.name, axis, (i := self.axis(axis)).estimate, i.low, i.high, self.at_the_end(axis), NOT_MEASURED[axis])
            for axis in AXES
        ]
        columns = ["texts", "axis", "value", "low", "high", "at the end", "does not measure"]
        return pd.DataFrame(rows, columns=columns).assign(n=len(self.texts))

    def figure(self) -> "Figure":
        """The mean of every axis with its interval."""
        from tslens import plots

        frame = self.summary()
        series = {self.name: (frame["value"], frame["low"], frame["high"])}
        return plots.intervals(list(AXES), series, threshold=0.0, x_label="standard deviations from reference stories")

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self.remark}" if self.remark else super().__str__()


def score_texts(texts: Sequence[str], usual: Reference, name: str = "texts") -> TextsCardResult:
    """The axes of every text beside what is usual in the reference. InputError for fewer than two texts."""
    if len(texts) < 2:
        raise InputError(f"{len(texts)} texts give no interval; give 2 or more.")
    values = [usual.axes(text) for text in progress.track(list(texts), f"scoring {name}")]
    return TextsCardResult(name=name, reference=usual.name, texts=list(texts), value=torch.tensor(values))
