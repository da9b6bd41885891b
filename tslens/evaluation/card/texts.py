"""The score card of bare texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import progress, stats
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.evaluation.card.reference import (
    ALIKE,
    AXES,
    LIMITS,
    MEASURES,
    NOT_MEASURED,
    Reference,
    by_axis,
    columns_of,
)
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class TextsCardResult(Result):
    """What can be said of texts alone, in standard deviations from the mean of reference stories: 0 is usual."""

    frame_axes: ClassVar[tuple[str, ...]] = ("text", "axis")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"axis": AXES, "measure": tuple(MEASURES)}

    name: str
    reference: str
    """The reference stories."""
    texts: list[str]
    value: Float[Tensor, "text axis"]
    """The mean of the axis' measures that the text gives occasion for; NaN where it gives none."""
    measures: Float[Tensor, "text measure"]
    """NaN where the text gives no occasion for the measure."""
    calibrated: int
    """Stories whose mean and spread are the scale."""
    calibration_error: Float[Tensor, " axis"]
    """The standard error that they leave in the mean of each axis."""

    def axis(self, name: str) -> stats.Interval:
        """The mean of an axis over the texts that have it, with an interval over texts and over the stories of the
        scale (`stats.calibrated_mean`), within the scale; NaN for fewer than two texts."""
        at = AXES.index(name)
        values = self.value[:, at].numpy()
        values = values[~np.isnan(values)]
        if len(values) < 2:
            mean = float(values[0]) if len(values) else np.nan
            return stats.Interval(mean, np.nan, np.nan, 0.95, "fewer than two texts")
        return stats.calibrated_mean(values, float(self.calibration_error[at]), self.calibrated).within(-ALIKE, ALIKE)

    def no_occasion(self, name: str) -> str:
        """The measures of an axis for which some texts give no occasion, and how many do not; empty if all do."""
        measures, missing = list(MEASURES), self.measures.isnan().sum(0).tolist()
        return ", ".join(f"{measures[i]} in {missing[i]}" for i in columns_of(name) if missing[i])

    def at_the_end(self, name: str) -> int:
        """The number of texts whose value is as far from the reference as the axis reaches with their measures."""
        own, limits = self.measures[:, columns_of(name)].double(), torch.tensor(LIMITS[columns_of(name)])
        reach = torch.where(own.isnan(), 0.0, limits).sum(1)
        return int(((own.nansum(1).abs() >= reach - 1e-6) & (reach > 0)).sum())

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

        rows = []
        for axis in AXES:
            found, missing = self.axis(axis), int(self.value[:, AXES.index(axis)].isnan().sum())
            said = self.no_occasion(axis), NOT_MEASURED[axis], len(self.texts), missing
            rows.append((self.name, axis, found.estimate, found.low, found.high, self.at_the_end(axis), *said))
        columns = ["texts", "axis", "value", "low", "high", "at the end", "no occasion", "does not measure", "n"]
        return pd.DataFrame(rows, columns=[*columns, "missing"])

    def figure(self) -> "Figure":
        """The mean of every axis with its interval."""
        from tslens import plots

        frame = self.summary()
        series = {self.name: (frame["value"], frame["low"], frame["high"])}
        return plots.intervals(list(AXES), series, threshold=0.0, x_label="standard deviations from reference stories")

    def headline(self) -> str:
        """The axis furthest from the reference; before it, whether the texts can be compared with it."""
        found = {axis: one for axis in AXES if not np.isnan((one := self.axis(axis)).estimate)}
        if not found:
            return self.remark
        axis, one = max(found.items(), key=lambda pair: abs(pair[1].estimate))
        said = f"{self.name} are furthest from {self.reference or 'the reference'} by {axis}: {one.estimate:+.2f} "
        return " ".join(filter(None, [self.remark, f"{said}standard deviations ({one.low:.2f} to {one.high:.2f})."]))


def score_texts(texts: Sequence[str], usual: Reference, name: str = "texts") -> TextsCardResult:
    """The axes of every text beside what is usual in the reference. InputError for fewer than two texts."""
    if len(texts) < 2:
        raise InputError(f"{len(texts)} texts give no interval; give 2 or more.")
    measures = np.array(
        [usual.measures(text) for text in progress.track(list(several_texts(texts)), f"scoring {name}")]
    )
    found = usual.usual.standard(measures)
    values = np.stack([by_axis(found, axis) for axis in AXES], axis=1)
    return TextsCardResult(
        name=name,
        reference=usual.name,
        texts=list(texts),
        value=torch.tensor(values, dtype=torch.float32),
        measures=torch.tensor(found, dtype=torch.float32),
        calibrated=len(usual.calibration),
        calibration_error=torch.tensor(usual.error(measures), dtype=torch.float32),
    )
