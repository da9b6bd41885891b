"""The summary of a study: what every question found, on how many stories, and how long it took."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class EverythingResult(Result):
    """The findings of the questions of `tslens analyze all`; each answer has a Result of its own, with the evidence.

    Every interval is over the stories that its question read. The whole corpus is read by the scan; twins, swaps and
    ablations cost many passes and read fewer stories, so that their intervals are wider.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("answer",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"answer": "answers", "part": "parts"}

    model: str
    """The model's name."""
    answers: list[str]
    """The questions."""
    findings: list[str]
    """What each found; where it has no answer, why."""
    stories: Int[Tensor, " answer"]
    """Stories that its intervals are over; 0 where it reads none."""
    parts: list[str]
    """What was computed together."""
    seconds: Float[Tensor, " part"]
    """The time that each part took when it was computed."""

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per question; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        return frame.assign(finding=self.findings) if field is None else frame

    def __str__(self) -> str:
        width = max(map(len, self.answers), default=0)
        counts = [f"{n:,}" if n else "" for n in self.stories.tolist()]
        rows = zip(self.answers, counts, self.findings, strict=True)
        lines = [f"{answer:<{width}}  {n:>6}  {said}" for answer, n, said in rows]
        minutes = f"{float(self.seconds.sum()) / 60:.1f} minutes in all"
        return "\n".join([f"{'':<{width}} stories  {self.model}", *lines, minutes, *filter(None, [self.corpus])])

    def figure(self) -> "Figure":
        """The time that each part took."""
        from tslens import plots

        return plots.bars(
            self.parts, self.seconds / 60, title=f"{self.model}: the time of every part", x_label="minutes"
        )
