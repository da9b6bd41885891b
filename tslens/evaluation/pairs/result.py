"""The result for minimal pairs: scores by paradigm and over all of them, and differences between models."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.bits import bits_per_byte
from tslens.result import Result
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOCAL = 0.9
"""A paradigm in which the word 5-gram scores so much is local: five words tell."""
CHANCE = 0.5
ORDER = "order"
"""The axis that stands apart."""


@dataclass(frozen=True, eq=False)
class PairsResult(Result):
    """Minimal pairs under models. A pair is right if the good text is more probable than the bad one, summed over its
    tokens after BOS; a tie is half (BLiMP: Warstadt et al. 2020, arXiv 1912.00582)."""

    frame_axes: ClassVar[tuple[str, ...]] = ("scorer", "pair")
    axis_names: ClassVar[Mapping[str, str]] = {"scorer": "scorers"}

    pairs: str
    """The name of the set."""
    scorers: list[str]
    """Models, then n-gram models."""
    n_grams: list[str]
    """Those that are n-gram models."""
    paradigms: list[str]
    axes: list[str]
    """What each paradigm is about; empty for pairs of others."""
    goods: list[str]
    bads: list[str]
    paradigm: Int[Tensor, " pair"]
    """The paradigm of each pair."""
    item: Int[Tensor, " pair"]
    """The set within its paradigm that a pair belongs to; sets are the units of every interval."""
    good: Float[Tensor, "scorer pair"]
    """Log-probability of the good text, in nats."""
    bad: Float[Tensor, "scorer pair"]
    unequal: Bool[Tensor, "scorer pair"]
    """Whether the two texts have different numbers of the scorer's tokens (of an n-gram model: words)."""
    identical: int
    """Pairs that were dropped because their texts are the same."""
    unknown: int
    """Pairs that were dropped because of words that the given corpus has too few times."""
    too_long: int
    """Pairs that were dropped because they are longer than a model's context."""
    trained_on_order: list[str]
    """The models of a contrastive objective, which trains on stories with shuffled sentences."""

    def right(self, scorer: str) -> Float[np.ndarray, " pair"]:
        """1 for each pair that is right, 0 for one that is wrong, 0.5 for a tie."""
        if scorer not in self.scorers:
            raise InputError(f"no scores of {scorer!r}; there are those of {', '.join(self.scorers)}.")
        at = self.scorers.index(scorer)
        return np.asarray(((self.good[at] - self.bad[at]).sign() + 1).numpy() / 2)

    def score(self, scorer: str, paradigm: str) -> stats.Interval:
        """The share of a paradigm's pairs that are right, with Wilson's interval, clustered by set."""
        if paradigm not in self.paradigms:
            raise InputError(f"no paradigm {paradigm!r}; there are {', '.join(self.paradigms)}.")
        here = self.paradigm.numpy() == self.paradigms.index(paradigm)
        return stats.clustered_share(self.right(scorer)[here], self.item.numpy()[here])

    def macro(self, scorer: str, axis: str | None = None) -> stats.Interval:
        """The mean of the paradigms' scores, for these paradigms and other pairs of them: of those about `axis`, or
        else of all but the tests of order, which stand apart."""
        here = self._about(axis)
        return stats.macro_share(self.right(scorer)[here], self.paradigm.numpy()[here], self._clusters()[here])

    def over_paradigms(self, scorer: str) -> stats.Interval:
        """The same mean, for other paradigms of the same kind: Student's t over the paradigms; NaN for one."""
        means = [self.score(scorer, name).estimate for name, axis in self._paradigms() if axis != ORDER]
        if len(means) < 2:
            return stats.Interval(means[0], np.nan, np.nan, 0.95, "Student t")
        return stats.mean_interval(means).within(0.0, 1.0)

    def bits_per_byte(self, scorer: str) -> stats.Interval:
        """Bits per byte of all good texts, clustered by set; NaN for an n-gram model, which reads words in small
        letters and not their bytes."""
        values = np.asarray(self.good[self.scorers.index(scorer)].double().numpy())
        sizes = np.array([len(text.encode()) for text in self.goods])
        unread = np.full(len(sizes), np.nan)
        return bits_per_byte(unread if scorer in self.n_grams else values, sizes, self._clusters())

    def difference(self, one: str, other: str, level: float = 0.95, paradigm: str | None = None) -> stats.Interval:
        """The macro mean of one scorer less that of the other, by pairs; of one paradigm alone if it is named."""
        here = self._about(None) if paradigm is None else self.paradigm.numpy() == self.paradigms.index(paradigm)
        gap = self.right(one) - self.right(other)
        return stats.macro_mean(gap[here], self.paradigm.numpy()[here], self._clusters()[here], level)

    def _paradigms(self) -> list[tuple[str, str]]:
        return list(zip(self.paradigms, self.axes, strict=True))

    def _about(self, axis: str | None) -> Bool[np.ndarray, " pair"]:
        wanted = np.array([own != ORDER if axis is None else own == axis for own in self.axes])
        if not wanted.any():
            raise InputError(
                f"no paradigm is about {axis or 'more than order'}; axes: {', '.join(sorted(set(self.axes)))}."
            )
        return np.asarray(wanted[self.paradigm.numpy()])

    def _clusters(self) -> Int[np.ndarray, " pair"]:
        """A number for each set of each paradigm."""
        items = self.item.numpy()
        return np.asarray(self.paradigm.numpy() * (items.max() + 1) + items)

    @property
    def local(self) -> list[str]:
        """The paradigms in which an n-gram model scores 0.9 or more."""
        return [name for name in self.paradigms if any(self.score(n, name).estimate >= LOCAL for n in self.n_grams)]

    def by_paradigm(self) -> "pd.DataFrame":
        """One row per paradigm and scorer: score, interval, and whether the paradigm is local."""
        import pandas as pd

        rows, local, of = [], set(self.local), self.paradigm.numpy()
        for place, name in enumerate(self.paradigms):
            for scorer in self.scorers:
                found = self.score(scorer, name)
                rows.append(
                    (name, self.axes[place], scorer, int((of == place).sum()), found.estimate, found.low, found.high)
                )
        frame = pd.DataFrame(rows, columns=["paradigm", "axis", "scorer", "pairs", "score", "low", "high"])
        return frame.assign(local=frame["paradigm"].isin(local))

    def summary(self) -> "pd.DataFrame":
        """One row per scorer: the macro mean over paradigms, its interval for other pairs of these paradigms and for
        other paradigms, the bits per byte of the good texts, and the share of pairs that are right where the lengths in
        tokens are equal and where not.
        Tests of order count in none of these and have columns of their own."""
        import pandas as pd

        rows = []
        for at, scorer in enumerate(self.scorers):
            mean, wide = self.macro(scorer), self.over_paradigms(scorer)
            row: dict[str, Any] = {"scorer": scorer, "score": mean.estimate, "low": mean.low, "high": mean.high}
            row |= {"low_paradigms": wide.low, "high_paradigms": wide.high}
            bits = self.bits_per_byte(scorer)
            row |= {"bits_per_byte": bits.estimate, "bits_low": bits.low, "bits_high": bits.high}
            unequal, right = self.unequal[at].numpy(), self.right(scorer)
            for name, here in (("equal", self._about(None) & ~unequal), ("unequal", self._about(None) & unequal)):
                part = stats.clustered_share(right[here], self._clusters()[here]) if here.any() else None
                row |= {f"{name}_length": part.estimate if part else np.nan}
                row |= {f"{name}_low": part.low if part else np.nan, f"{name}_high": part.high if part else np.nan}
                row |= {f"{name}_pairs": int(here.sum())}
            if ORDER in self.axes:
                order = self.macro(scorer, ORDER)
                row |= {"order": order.estimate, "order_low": order.low, "order_high": order.high}
                row |= {"trained_on_order": scorer in self.trained_on_order}
            rows.append(row)
        left_out = {name: getattr(self, name) for name in ("identical", "unknown", "too_long")}
        counts = {"paradigms": sum(axis != ORDER for axis in self.axes), "pairs": int(self._about(None).sum())}
        return pd.DataFrame(rows).assign(**counts, **left_out)

    def differences(self) -> "pd.DataFrame":
        """The paired difference of the macro means of every two scorers; intervals are 95% together (Bonferroni)."""
        import pandas as pd

        couples = list(combinations(self.scorers, 2))
        found = [self.difference(one, other, 1 - 0.05 / len(couples)) for one, other in couples]
        rows = [(*couple, d.estimate, d.low, d.high) for couple, d in zip(couples, found, strict=True)]
        return pd.DataFrame(rows, columns=["scorer", "less", "difference", "low", "high"])

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per scorer and pair, with the texts; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        for name, values in (("bad_text", self.bads), ("good_text", self.goods)):
            frame.insert(2, name, [values[i] for i in frame["pair"]])
        frame.insert(2, "paradigm", [self.paradigms[self.paradigm[i]] for i in frame["pair"]])
        return frame.assign(right=np.concatenate([self.right(scorer) for scorer in self.scorers]))

    def write_tables(self, folder: Path) -> None:
        """Write `summary.csv`, `paradigms.csv` (see `by_paradigm`) and `differences.csv`."""
        for name, table in (("summary", self.summary()), ("paradigms", self.by_paradigm())):
            table.to_csv(folder / f"{name}.csv", index=False)
        self.differences().to_csv(folder / "differences.csv", index=False)

    def figure(self) -> "Figure":
        """The score of every paradigm with its interval, by scorer; local paradigms are marked."""
        from tslens import plots

        frame, local = self.by_paradigm(), set(self.local)
        series = {
            scorer: tuple(frame.loc[frame["scorer"] == scorer, column] for column in ("score", "low", "high"))
            for scorer in self.scorers
        }
        names = [f"{name} (local)" if name in local else name for name in self.paradigms]
        return plots.intervals(names, series, threshold=CHANCE, x_label="share of pairs right")

    def headline(self) -> str:
        """The share of pairs that each scorer has right."""
        found = [(scorer, self.macro(scorer)) for scorer in self.scorers if any(axis != ORDER for axis in self.axes)]
        each = (f"{name} {one.said()}" for name, one in found)
        return (
            f"Share of pairs in which the good text is more probable: {', '.join(each)}; chance is {CHANCE}."
            if found
            else ""
        )

    def __str__(self) -> str:
        parts = [super().__str__(), as_text(self.by_paradigm())]
        if len(self.scorers) > 1:
            parts.append(as_text(self.differences()))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        import json

        tables = {"paradigms_table": self.by_paradigm(), "differences": self.differences()}
        return super().to_json() | {name: json.loads(t.to_json(orient="records")) for name, t in tables.items()}
