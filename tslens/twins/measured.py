"""Measures of a model's components or layers beside those of its untrained twins on the same stories."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from jaxtyping import Bool, Float

from tslens import stats
from tslens.analysis import lens, neurons
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.halves import LEADING_P
from tslens.models.twins import twins
from tslens.result import Result, read_on
from tslens.scan import Reducer
from tslens.twins import kept as store
from tslens.twins.counting import TWINS
from tslens.twins.reading import Question, ask

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

VERSION = "measures, 1"
"""Part of the key of what is kept of twins: raise it when the rule of a measure changes."""
Ends = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class MeasuredResult(Result):
    """What each component or layer of a model measures, beside the same of its untrained twins on the same stories.

    The interval is 95%, over stories, as the analysis gives it. Of a measure with a sign, twins are compared in size.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("part",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"part": "parts", "twin": "twins"}

    model: str
    """The model's name."""
    stories: int
    """Stories that model and twins were read on."""
    unit: str
    """What a part is: `component`, `stream` or `layer`."""
    claim: str
    """What a part does, in words, with `{}` for how much."""
    parts: list[str]
    """The components, or streams with their depth."""
    twins: list[str]
    """Kind and seed of each twin."""
    value: Float[torch.Tensor, " part"]
    """The model's own measure."""
    low: Float[torch.Tensor, " part"]
    """Lower end of its interval."""
    high: Float[torch.Tensor, " part"]
    """Upper end of its interval."""
    twins_mean: Float[torch.Tensor, " part"]
    """The mean size of the twins' measure."""
    twins_most: Float[torch.Tensor, " part"]
    """The largest size of a twin's measure."""
    p: Float[torch.Tensor, " part"]
    """Rank of the size among its own and the twins' (Phipson and Smyth 2010, doi:10.2202/1544-6115.1585): 0.05 at best
    with 19 twins."""
    leads: Bool[torch.Tensor, " part"]
    """Whether the whole interval lies further from zero than the measure of any twin, and p is at most 0.05."""
    of_twins: Float[torch.Tensor, "twin part"]
    """The twins' measures."""

    @property
    def most(self) -> float:
        """The largest size of any part of any twin."""
        return float(self.twins_most.max())

    @property
    def largest(self) -> int:
        """The place of the model's largest part."""
        return int(self.value.abs().argmax())

    def said(self) -> str:
        """The twins' largest measure, and the model's with its interval, in one sentence."""
        value, low, high = (float(end[self.largest]) for end in (self.value, self.low, self.high))
        claim, leading = self.claim.format(f"{self.most:.2f}"), int(self.leads.sum())
        return (
            f"No {self.unit} of {len(self.twins)} untrained twins {claim}; the largest of {self.model}, "
            f"{self.parts[self.largest]}, is {value:.2f} ({low:.2f} to {high:.2f}), and {leading} of {len(self.parts)} "
            "surely lie beyond their own in every twin."
        )

    def summary(self) -> "pd.DataFrame":
        """One row per part, the model's largest first."""
        frame = self.to_frame()
        frame.insert(frame.columns.get_loc("twins_most"), "twins_least", self.of_twins.abs().amin(0).numpy())
        return frame.loc[frame["value"].abs().sort_values(ascending=False, kind="stable").index].reset_index(drop=True)

    def headline(self) -> str:
        """The twins' largest measure, and the model's."""
        return self.said()

    def figure(self) -> "Figure":
        """The size of each of the 20 largest parts with its interval, and that of each twin as a dot."""
        from tslens import plots

        order = self.value.abs().argsort(descending=True, stable=True)[:20]
        below = self.value[order] < 0
        value, low, high = (end[order] for end in (self.value, self.low, self.high))
        return plots.beside_controls(
            [self.parts[i] for i in order.tolist()],
            value.abs(),
            torch.where(below, -high, low).nan_to_num(0.0),
            torch.where(below, -low, high).nan_to_num(0.0).maximum(value.abs()),
            self.of_twins.T[order].abs(),
            title=f"{self.model} on {self.stories} stories, and {len(self.twins)} untrained twins",
            x_label=f"size: {self.claim.format('...')}",
        )


@dataclass(frozen=True)
class Measure:
    """What is read of a model and of its twins, and where an answer holds it."""

    reducer: Reducer[Any, Any]
    fields: Ends
    """The estimate and the ends of its interval."""
    parts: Callable[[Any], list[str]]
    unit: str
    claim: str


def _streams(answer: lens.ResidualsResult) -> list[str]:
    return [f"{stream} ({depth})" for stream in answer.streams for depth in answer.depths]


MEASURES: dict[type[Result], Measure] = {
    lens.ByComponentResult: Measure(
        lens.ByComponent(),
        ("specific", "specific_low", "specific_high"),
        lambda answer: list(answer.components),
        "component",
        "adds more than {} to the logit of the next token over that of a token elsewhere in the story",
    ),
    lens.ResidualsResult: Measure(
        lens.Residuals(),
        ("median", "median_low", "median_high"),
        _streams,
        "stream",
        "has a median norm of more than {}",
    ),
    neurons.SelectivityResult: Measure(
        neurons.Selectivity(),
        ("median_share", "median_share_low", "median_share_high"),
        lambda answer: [f"layer {i}" for i in range(len(answer.median_share))],
        "layer",
        "has a median share explained by the token of more than {}",
    ),
}
"""By the type of an analysis's answer."""


def measured(
    model: "LanguageModel",
    stories: Iterable[str],
    answer: lens.ByComponentResult | lens.ResidualsResult | neurons.SelectivityResult,
    *,
    n: int = TWINS,
) -> MeasuredResult:
    """The measures of a model's answer, and those of `n` untrained twins on the same stories: what each component adds
    to the next token's logit over a token elsewhere (`lens.by_component`), the norms by layer (`lens.residuals`), or
    how much of a neuron's variance the token explains (`neurons.selectivity`).

    Twins are read in float32. What is found of them is kept beside the model, as counts of labels are.

    Raises:
        InputError: no twin, other stories than the answer's, or a model that has no twins.
    """
    texts, measure = list(several_texts(stories)), MEASURES[type(answer)]
    if n < 1 or len(texts) != answer.stories:
        raise InputError(
            f"{n} twins on {len(texts)} stories are no control of an answer on {answer.stories}: give 1 twin or more, "
            f"{TWINS} for p = 0.05, and the same stories."
        )
    asked, chosen = question(model, texts, stories, measure), twins(n)
    ask(model, texts, [asked], chosen)
    value, low, high = (getattr(answer, field).flatten().float() for field in measure.fields)
    known = ~value.isnan()  # of `embed` no block has added anything
    of_twins = torch.tensor([asked.kept[str(twin)] for twin in chosen])[:, known]
    value, low, high, sizes = value[known], low[known], high[known], of_twins.abs()
    p, most = stats.rank_p(value.abs().numpy(), sizes.numpy()), sizes.amax(0)
    found = MeasuredResult(
        model=answer.model,
        stories=len(texts),
        unit=measure.unit,
        claim=measure.claim,
        parts=[part for part, is_known in zip(measure.parts(answer), known.tolist(), strict=True) if is_known],
        twins=[str(twin) for twin in chosen],
        value=value,
        low=low,
        high=high,
        twins_mean=sizes.mean(0),
        twins_most=most,
        p=torch.from_numpy(p).float(),
        leads=((low > most) | (high < -most)) & torch.from_numpy(p <= LEADING_P),
        of_twins=of_twins,
    )
    return cast(MeasuredResult, read_on(found, stories))


def question(model: "LanguageModel", texts: Sequence[str], stories: object, measure: Measure) -> Question:
    """What is asked of the twins: the estimates of a measure."""
    kept, place = store.read(model, store.key(VERSION, model, texts, stories, [measure.reducer]), _is_whole)
    return Question([measure.reducer], partial(_values, measure.fields[0]), kept, place)


def _values(field: str, answers: Sequence[Any]) -> list[float]:
    (answer,) = answers
    values: list[float] = getattr(answer, field).flatten().nan_to_num(0.0).tolist()
    return values


def _is_whole(found: Any) -> bool:
    """Whether a file holds numbers by twin, as many for each."""
    try:
        rows = [np.asarray(values) for values in found.values()]
        return all(row.ndim == 1 and row.dtype.kind == "f" for row in rows) and len({row.size for row in rows}) <= 1
    except (AttributeError, TypeError, ValueError):
        return False
