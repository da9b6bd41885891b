"""The result of a comparison with untrained twins: the count of every label, theirs, and whether it leads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

import torch
from jaxtyping import Bool, Float, Int

from tslens import stats
from tslens.errors import InputError
from tslens.halves import LEADING_P, leading
from tslens.result import CountedResult, Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Answer = TypeVar("Answer", bound=CountedResult)
DECIMAL = 10.0  # ends of intervals below it have a decimal


def _end(value: float) -> str:
    """An end of an interval, with one decimal where that tells it from a whole count."""
    return f"{value:,.1f}" if 0 < value < DECIMAL else f"{value:,.0f}"


@dataclass(frozen=True, eq=False)
class TwinsResult(Result):
    """How many heads or neurons of a model have each label, beside the counts of its untrained twins; of positions, how
    many in 1,000.

    Model and twins are counted on the same stories. The interval is 95%, over stories: counts on halves of the stories
    give it (`halves.around`). It stands for a bootstrap, in which a story that is drawn twice would count once in every
    list of top tokens.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("label",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"label": "labels", "twin": "twins"}

    model: str
    """The model's name."""
    stories: int
    """Stories (or see `unit`) that model and twins were read on."""
    labels: list[str]
    """The labels that claim something."""
    twins: list[str]
    """Kind and seed of each twin."""
    count: Int[torch.Tensor, " label"]
    """The model's own count."""
    low: Float[torch.Tensor, " label"]
    """Lower end of its interval, at least 0."""
    high: Float[torch.Tensor, " label"]
    """Upper end of its interval."""
    least: Int[torch.Tensor, " label"]
    """The smallest count of a twin."""
    most: Int[torch.Tensor, " label"]
    """The largest count of a twin."""
    p: Float[torch.Tensor, " label"]
    """Rank of the model's count among its own and the twins' (Phipson and Smyth 2010, doi:10.2202/1544-6115.1585):
    0.05 at best with 19 twins."""
    leads: Bool[torch.Tensor, " label"]
    """Whether the lower end of the interval, rounded, exceeds the count of every twin, p is at most 0.05 (with 19 of
    them or more), and the stories are enough for the interval (`halves.ENOUGH`)."""
    of_twins: Int[torch.Tensor, "twin label"]
    """The counts of the twins."""
    unit: str = field(default="stories", kw_only=True)
    """What `stories` counts: stories, or pairs of prompts."""

    def place(self, label: str) -> int:
        """Where a label stands among `labels`; InputError for a label that was not counted."""
        if label not in self.labels:
            raise InputError(f"{label!r} was not counted; the labels are {', '.join(self.labels)}.")
        return self.labels.index(label)

    def without(self, lost: Mapping[str, int]) -> "TwinsResult":
        """The counts less these of each label, which a test of the model alone took away; twins keep theirs."""
        less = torch.tensor([lost.get(label, 0) for label in self.labels])
        count, low, high = ((of - less).clamp(min=0) for of in (self.count, self.low, self.high))
        rank = torch.from_numpy(stats.rank_p(count.numpy(), self.of_twins.numpy())).float()
        p = torch.where(less > 0, rank, self.p)
        leads = self.leads & leading(low, self.most, p)
        return replace(self, count=count, low=low, high=high, p=p, leads=leads)

    def range_of(self, label: str) -> str:
        """The smallest and the largest count of a twin: '0', '49 to 63'."""
        at = self.place(label)
        low, high = int(self.least[at]), int(self.most[at])
        return f"{low:,} to {high:,}" if low < high else f"{low:,}"

    def doubt(self, label: str) -> str:
        """Why a count does not lead, in words; empty where it does."""
        at = self.place(label)
        if self.leads[at]:
            return ""
        if self.high[at] < self.least[at]:
            return "every untrained twin has more"
        if self.exceeds(label):
            few = "twins" if self.p[at] > LEADING_P else "stories"
            return f"too few {few} to say that this is training"
        more = bool(self.count[at] > self.most[at])
        return "not surely more than untrained twins have" if more else "this says nothing about training"

    def exceeds(self, label: str) -> bool:
        """Whether a count's interval lies above every twin's count, however few they are."""
        at = self.place(label)
        return bool(leading(self.low[at], self.most[at], torch.zeros(())))

    def said(self, labels: Iterable[str]) -> str:
        """The counts of these labels in words, each with its interval, the twins' range and its rank p; without
        those that neither the model nor a twin earns."""
        places = [i for i in map(self.place, labels) if self.count[i] or self.most[i]]
        parts = (
            f"{int(self.count[i]):,} {self.labels[i]} ({_end(float(self.low[i]))} to {_end(float(self.high[i]))}; "
            f"twins: {self.range_of(self.labels[i])}; p = {float(self.p[i]):.2f})"
            for i in places
        )
        return ", ".join(parts) or "no label"

    @property
    def by_chance(self) -> str:
        """How many labels lead, and about how many would if none told the model from its twins, in words: p is that of
        each label by itself."""
        earned = int(((self.count > 0) | (self.most > 0)).sum())
        chance = earned / (1 + len(self.twins))
        return f"{int(self.leads.sum())} of {earned} labels lead, {chance:.1f} at most by chance"

    def headline(self) -> str:
        """How many labels lead, in a sentence."""
        return f"{self.by_chance}."

    def beside(self, answer: Answer) -> Answer:
        """An answer, with its counts on these stories beside those of the twins."""
        labels = answer.counts()
        of_twins = {label: self.of_twins[:, self.place(label)].tolist() for label in labels}
        said = f"On {self.stories:,} {self.unit}: {self.said(labels)}."
        return replace(answer, beside_twins=said, of_twins=of_twins)

    def summary(self) -> "pd.DataFrame":
        """Every label that the model or a twin earns: count, interval, the twins' range, p, and whether it leads."""
        frame = self.to_frame()
        shown = frame[(frame["count"] > 0) | (frame["most"] > 0)]
        named = {"least": "twins_least", "most": "twins_most"}
        return shown[["label", "count", "low", "high", *named, "p", "leads"]].rename(columns=named)

    def figure(self) -> "Figure":
        """The count of every label that was found, with its interval, and the count of each twin as a dot."""
        from tslens import plots

        found = (self.count > 0) | (self.most > 0)
        seen = (found if found.any() else ~found).nonzero().flatten()
        return plots.beside_controls(
            [self.labels[i] for i in seen.tolist()],
            self.count[seen],
            self.low[seen],
            self.high[seen],
            self.of_twins.T[seen],
            title=f"{self.model}: labels on {self.stories} {self.unit}, and those of {len(self.twins)} untrained twins",
            x_label="heads, neurons, or positions in 1,000",
        )
