"""When does each score rise above the untrained model's, to stay there?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import stats
from tslens.dynamics.result import DynamicsResult
from tslens.dynamics.snapshot import LOSS
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class EmergenceResult(Result):
    """The steps at which scores appear, and those at which they are halfway.

    A score appears at the first snapshot from which, in every later one too, its interval over stories lies wholly
    beyond that of the first snapshot (step 0, the untrained model, where it can be made again): above it, or for the
    loss below it. It is halfway at the first snapshot from which it has at least half of its final change.

    Times are geometric means over the runs in which it appears; snapshots are log-spaced, so the 95% intervals are of
    log2(1 + step): Student's t over runs, from the snapshots before to those at which it appeared, since it happened
    between. Of one run it is that bracket alone.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("score",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"score": "scores", "run": "runs"}

    runs: list[str]
    """The runs."""
    scores: list[str]
    """The scores."""
    first: int
    """The step that all others are compared with."""
    last: int
    """The last step."""
    found: Int[Tensor, " score"]
    """Runs in which the score appears."""
    step: Float[Tensor, " score"]
    """The step at which it appears; NaN if it never does."""
    low: Float[Tensor, " score"]
    """Lower end of its interval."""
    high: Float[Tensor, " score"]
    """Upper end of its interval; infinite where the runs leave it open."""
    half: Float[Tensor, " score"]
    """The step at which it is halfway."""
    half_low: Float[Tensor, " score"]
    """Lower end of its interval."""
    half_high: Float[Tensor, " score"]
    """Upper end of its interval."""
    onset: Int[Tensor, "run score"]
    """The snapshot at which it appears in each run; -1 if it never does."""
    halfway: Int[Tensor, "run score"]
    """The snapshot at which it is halfway in each run in which it appears; -1 in others."""

    def summary(self) -> "pd.DataFrame":
        """The scores that appear in any run, earliest first."""
        frame = self.to_frame()
        return frame[frame["found"] > 0].sort_values("half", kind="stable").reset_index(drop=True)

    def headline(self) -> str:
        """The first score that appears, and how many do."""
        frame = self.summary().sort_values("step", kind="stable")
        if frame.empty:
            return f"None of {len(self.scores)} scores rises above the untrained model's to stay there."
        first = str(frame["score"].iloc[0])
        return f"{len(frame)} of {len(self.scores)} scores appear; {first} first: {self.sentence(first)}."

    def sentence(self, score: str) -> str:
        """'from step 64 [32, 64] on, half of its final value from step 128 [64, 128]', or that it never does."""
        i = self.scores.index(score)
        if not self.found[i]:
            return "never"
        part = [float(x[i]) for x in (self.step, self.low, self.high, self.half, self.half_low, self.half_high)]
        runs = f", in {int(self.found[i])} of {len(self.runs)} runs" if len(self.runs) > 1 else ""
        return (
            f"from step {part[0]:.0f} [{part[1]:.0f}, {part[2]:.0f}] on, half of its final value from step "
            f"{part[3]:.0f} [{part[4]:.0f}, {part[5]:.0f}]{runs}"
        )

    def figure(self) -> "Figure":
        """The step at which each score is halfway, with its interval."""
        from tslens import plots

        frame, most = self.summary(), np.log2(1 + self.last)
        ends = [np.log2(1 + frame[name].to_numpy()).clip(max=most) for name in ("half", "half_low", "half_high")]
        names, title = frame["score"].tolist(), "Halfway to its final value"
        if not names:
            return plots.bars(["no score appears"], [0.0], title=title, x_label="log2(1 + step)")
        return plots.bars(names, ends[0], low=ends[1], high=ends[2], title=title, x_label="log2(1 + step)")


def emergence(answer: DynamicsResult) -> EmergenceResult:
    """The steps at which each score of a `DynamicsResult` appears and is halfway."""
    sign = torch.where(torch.tensor([name == LOSS for name in answer.scores]), -1.0, 1.0)
    value = sign * answer.value
    low = torch.where(sign > 0, answer.value_low, -answer.value_high)
    high = torch.where(sign > 0, answer.value_high, -answer.value_low)
    onset = _first_to_stay(low > high[:, :1])
    change = value - value[:, :1]
    halfway = torch.where(onset >= 0, _first_to_stay(change >= change[:, -1:] / 2), -1)
    of_steps = torch.tensor([*answer.steps, -1])  # the last is for -1, which is nowhere
    times = [_over_runs(at, answer.steps) for at in (onset, halfway)]
    return EmergenceResult(
        runs=answer.runs,
        scores=answer.scores,
        first=answer.steps[0],
        last=answer.steps[-1],
        found=(onset >= 0).sum(0),
        step=times[0][0],
        low=times[0][1],
        high=times[0][2],
        half=times[1][0],
        half_low=times[1][1],
        half_high=times[1][2],
        onset=of_steps[onset],
        halfway=of_steps[halfway],
        corpus=answer.corpus,
    )


def _first_to_stay(holds: Bool[Tensor, "run step score"]) -> Int[Tensor, "run score"]:
    """The place of the first snapshot from which it holds in all; -1 where it does not hold in the last."""
    since = holds.flip(1).long().cumprod(1).sum(1)  # snapshots at the end in which it holds
    return torch.where(since > 0, holds.shape[1] - since, -1)


def _over_runs(at: Int[Tensor, "run score"], steps: list[int]) -> Float[Tensor, "3 score"]:
    """The geometric mean of these snapshots' steps and both ends of its interval, over the runs that have one."""
    times = np.log2(1 + np.asarray(steps, dtype=float))
    found = np.full((3, at.shape[1]), np.nan)
    for score, places in enumerate(at.T.numpy()):
        after = times[places[places >= 0]]
        if not len(after):
            continue
        before = times[np.maximum(places[places >= 0] - 1, 0)]
        if len(after) == 1:
            found[:, score] = after[0], before[0], after[0]
        else:
            ends = stats.mean_interval(before).low, stats.mean_interval(after).high
            found[:, score] = after.mean(), max(ends[0], 0.0), ends[1]
    with np.errstate(over="ignore"):
        return torch.as_tensor(np.exp2(found) - 1).float()
