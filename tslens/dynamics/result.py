"""The result about training: every score at every snapshot, over seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.dynamics.snapshot import (
    BOS,
    INDUCTION,
    LOSS,
    MEASURES,
    POSITIONAL,
    PREVIOUS,
    REPETITION,
    UNITS,
)
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINES = 7
"""Counts drawn in one figure: the largest."""


@dataclass(frozen=True, eq=False)
class DynamicsResult(Result):
    """Every score of a model at every snapshot of its training, over runs that differ in their seed.

    The band of a score is its 95% interval over runs (Student's t, so that of two or three runs is wide; of a count
    joined with Wilson's, so that runs which agree by chance leave a width), within 0 and 1 for shares; of a single run
    it is the interval over stories, and says nothing about other seeds. Step 0 is the model before training.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("score", "step")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "run": "runs",
        "step": "steps",
        "score": "scores",
        "depth": "depths",
        "measure": MEASURES,
    }

    runs: list[str]
    """The runs."""
    steps: list[int]
    """The steps at which all runs have a snapshot."""
    stories: int
    """Stories that every snapshot was read on."""
    scores: list[str]
    """The scores; those that are no count of heads or neurons are in `UNITS`."""
    mean: Float[Tensor, "score step"]
    """The mean over runs."""
    low: Float[Tensor, "score step"]
    """Lower end of the band; of a count or a share at least 0."""
    high: Float[Tensor, "score step"]
    """Upper end of the band; of a share at most 1."""
    value: Float[Tensor, "run step score"]
    """The score of every run."""
    value_low: Float[Tensor, "run step score"]
    """Lower end of its interval over stories, or over rows of random tokens (see `SnapshotResult`)."""
    value_high: Float[Tensor, "run step score"]
    """Upper end of that interval."""
    depths: list[str]
    """`embed`, then the number of the block just passed."""
    lens: Float[Tensor, "step depth"]
    """Loss of the logit lens, nats per token: the mean over runs."""
    lens_low: Float[Tensor, "step depth"]
    """Lower end of its band."""
    lens_high: Float[Tensor, "step depth"]
    """Upper end of its band."""
    role_code: Int[Tensor, "run step layer head"]
    """The role of every head, as its place in `heads.ROLES`."""
    measured: Float[Tensor, "run step measure layer head"]
    """What the scores of heads are taken from (see `SnapshotResult`)."""
    labels: list[str]
    """The labels of neurons."""
    label: Int[Tensor, "run step layer neuron"]
    """The label of every neuron, as its place in `labels`; -1 where there is none."""
    of_twins: dict[str, list[float]] = field(default_factory=dict, kw_only=True)
    """The scores of untrained twins of the first run's finished model, by score; empty where none was measured."""

    def headline(self) -> str:
        """The loss at the first and at the last step."""
        loss, ends = self._of("mean", LOSS), [self._of(end, LOSS) for end in ("low", "high")]
        first, last = (f"{loss[i]:.2f} ({ends[0][i]:.2f} to {ends[1][i]:.2f})" for i in (0, -1))
        where = f"from {first} at step {self.steps[0]} to {last} at step {self.steps[-1]}"
        return f"The loss of {self._who()} goes {where}, in {UNITS[LOSS]}."

    def summary(self) -> "pd.DataFrame":
        """One row per score that is ever other than zero, one column per step: the mean over runs; and the least and
        the largest of untrained twins, with the rank p of the last step among them."""
        frame = self.to_frame().pivot(index="score", columns="step", values="mean")
        frame = frame.loc[[name for name in self.scores if bool(self._of("mean", name).any())]]
        frame = frame.reset_index().rename_axis(columns=None).rename(columns={step: f"@{step}" for step in self.steps})
        if not self.of_twins:
            return frame
        levels = [(*self.level(name), self.p_of(name)) for name in frame["score"]]
        return frame.assign(**dict(zip(("twins_least", "twins_most", "p"), zip(*levels, strict=True), strict=True)))

    def level(self, score: str) -> tuple[float, float]:
        """The least and the largest value of a score among untrained twins; NaN without any."""
        values = self.of_twins.get(score) or [float("nan")]
        return min(values), max(values)

    def p_of(self, score: str) -> float:
        """The rank of the last step's mean among untrained twins, of the loss the smallest first; 1 without any."""
        sign = -1 if score == LOSS else 1
        of_twins = [sign * value for value in self.of_twins.get(score, [])]
        return float(stats.rank_p(sign * float(self._of("mean", score)[-1]), of_twins))

    def _of(self, field: str, score: str) -> Float[Tensor, " step"]:
        found: Tensor = getattr(self, field)[self.scores.index(score)]
        return found

    def _chart(self, names: Sequence[str], title: str, y_label: str, drop: str = "") -> dict[str, Any]:
        """The arguments of a chart of these scores; `drop` is left out of their names."""
        return {
            "series": {name.removesuffix(drop): self._of("mean", name) for name in names},
            "bands": {name.removesuffix(drop): (self._of("low", name), self._of("high", name)) for name in names},
            "levels": {name.removesuffix(drop): self.level(name) for name in names if self.of_twins.get(name)},
            "title": title,
            "x_label": "training step",
            "y_label": y_label,
            "ticks": self.steps,
        }

    def _largest(self, end: str, total: str) -> list[str]:
        """The total, if any, and the counts that end so and were the largest."""
        names = [name for name in self.scores if name.endswith(end) and name != total]
        reached = {name: float(self._of("mean", name).max()) for name in names}
        largest = sorted((name for name in names if reached[name] > 0), key=lambda name: -reached[name])
        return [*([total] if total in self.scores else []), *largest[: LINES - 1]]

    def charts(self) -> dict[str, dict[str, Any]]:
        """The charts of all scores, by a name for a file, each as the arguments of `plots.lines`."""
        depths = range(len(self.depths))
        return {
            "loss": self._chart([LOSS], "Loss", UNITS[LOSS]),
            "heads": self._chart([PREVIOUS, BOS, POSITIONAL], "Attention by position", "share of KL from uniform"),
            "induction": self._chart([INDUCTION], "Strongest induction head", "mass, random tokens"),
            "repetition": self._chart([REPETITION], "Gain from repetition", UNITS[REPETITION]),
            "roles": self._chart(self._largest(" heads", "heads with a role"), "Heads by role", "heads", " heads"),
            "labels": self._chart(
                self._largest(" neurons", "part-of-speech neurons"), "Neurons by label", "neurons", " neurons"
            ),
            "lens": {
                "series": {self.depths[d]: self.lens[:, d] for d in depths},
                "bands": {self.depths[d]: (self.lens_low[:, d], self.lens_high[:, d]) for d in depths},
                "title": "Logit lens after each block",
                "x_label": "training step",
                "y_label": "nats per token",
                "ticks": self.steps,
            },
        }

    def figure(self) -> "Figure":
        """Loss, heads and neurons over training, side by side."""
        from tslens import plots

        charts = self.charts()
        return plots.panels(*(charts[name] for name in ("loss", "induction", "roles", "labels")))

    def figures(self) -> "Iterator[tuple[str, Figure]]":
        """A figure for each kind of score, by name."""
        from tslens import plots

        for name, chart in self.charts().items():
            yield name, plots.lines(**chart | {"title": f"{chart['title']}, {self._who()}"})

    def _who(self) -> str:
        """'NAME', or '3 seeds of NAME'."""
        return self.runs[0] if len(self.runs) == 1 else f"{len(self.runs)} seeds"
