"""Does the model do the task? (the condition of every circuit)"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.circuits.runs import Runs, pairs_for
from tslens.halves import FEWEST, GROUPS, halves
from tslens.models import name_of
from tslens.result import CountedResult
from tslens.stories.pairs import TASKS, Pairs, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

CHANCE = 0.5
RIGHT, DOES = "prompts answered rightly", "model that does the task"
"""The labels under which the answers are counted, beside those of untrained twins."""


@dataclass(frozen=True, eq=False)
class AccuracyResult(CountedResult):
    """How often a model prefers the right answer of a minimal pair to the wrong one, over both prompts of every pair.

    A model that does not read the prompt is right on exactly half of them, whatever words it prefers: the answers of a
    pair change places between its prompts. A tie is half right.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("template",)
    axis_names: ClassVar[dict[str, str | tuple[str, ...]]] = {"template": "examples"}

    model: str
    """The model's name."""
    task: str
    question: str
    pairs: int
    """Number of pairs; each has two prompts."""
    dropped: dict[str, int]
    """Pairs that the tokenizer cannot express, by reason (`stories.pairs.encoded.REASONS`)."""
    accuracy: float
    """Share of prompts answered rightly."""
    low: float
    """Lower end of its 95% interval (`over_templates`)."""
    high: float
    """Upper end of it."""
    margin: float
    """Logit of the right answer minus that of the wrong one, the mean over prompts."""
    margin_low: float
    """Lower end of its 95% interval (Student's t over templates; of one template a bootstrap over pairs)."""
    margin_high: float
    """Upper end of it."""
    examples: list[str]
    """A clean prompt of every template, with its two answers."""
    right: Float[Tensor, " template"]
    """Share of prompts answered rightly, by template."""
    right_low: Float[Tensor, " template"]
    """Lower end of its 95% interval, over the pairs of this template (`share`)."""
    right_high: Float[Tensor, " template"]
    """Upper end of it."""
    of_halves: list[dict[str, int]] = field(default_factory=list, kw_only=True)
    """The counts on halves of the pairs, each half followed by its complement (see `tslens.halves`); empty where these
    are too few."""

    @property
    def does(self) -> bool:
        """Whether the model does the task: the interval of its accuracy lies above chance."""
        return self.low > CHANCE

    def counts(self) -> dict[str, int]:
        """How many prompts are answered rightly, of two a pair; and 1 if the model does the task, else 0."""
        return _counts(self.accuracy, self.low, self.pairs)

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        over = f"{self.low:.3f} to {self.high:.3f} over templates"
        figures = f"{self.accuracy:.3f} ({over}; chance 0.5, {self.pairs} pairs)"
        return f"{self.model} {'does' if self.does else 'does not do'} the task {self.task!r}: accuracy {figures}"

    def to_json(self) -> dict[str, Any]:
        """As of every result, with the verdict."""
        return super().to_json() | {"does": self.does, "verdict": self.verdict}

    def headline(self) -> str:
        """Whether the model does the task."""
        return self.verdict

    def figure(self) -> "Figure":
        """Bars of the accuracy, whole and by template, with chance."""
        from tslens import plots

        return plots.bars(
            ["all", *(example if len(example) < 70 else f"… {example[-68:]}" for example in self.examples)],
            [self.accuracy, *self.right.tolist()],
            low=[self.low, *self.right_low.tolist()],
            high=[self.high, *self.right_high.tolist()],
            baseline=0.5,
            title=f"{self.model}: {self.question}",
            x_label="share of prompts answered rightly (mark: chance; all: interval over templates)",
        )


def accuracy(
    model: "LanguageModel", task: "str | Task | Pairs", *, n: int = 200, seed: int = 0, batch: int = 256
) -> AccuracyResult:
    """How often the model answers the prompts of a task (`stories.pairs.TASKS`) rightly, over `n` pairs of this seed.

    Raises:
        InputError: there is no such task, or the model's tokenizer can express fewer than 8 pairs of it.
    """
    found = pairs_for(model, task, n, seed)
    margins = both_margins(model, found, batch)
    hits = ((margins.sign() + 1) / 2).numpy()
    template = found.template.numpy()
    whole, mean = over_templates(hits, template), _mean_over_templates(margins.mean(1).numpy(), template)
    kinds = found.template.unique().tolist()
    rows = [share(hits[(found.template == kind).numpy()]) for kind in kinds]
    shown = [next(pair for pair in found.texts if pair.template == kind) for kind in kinds]
    return AccuracyResult(
        model=name_of(model),
        task=found.task,
        question=TASKS[found.task].question if found.task in TASKS else found.task,
        pairs=len(found),
        dropped=found.dropped,
        accuracy=whole.estimate,
        low=whole.low,
        high=whole.high,
        margin=mean.estimate,
        margin_low=mean.low,
        margin_high=mean.high,
        examples=[f"{pair.clean} {pair.right}|{pair.wrong}" for pair in shown],
        right=torch.tensor([row.estimate for row in rows]),
        right_low=torch.tensor([row.low for row in rows]),
        right_high=torch.tensor([row.high for row in rows]),
        of_halves=_on_halves(hits, template),
    )


def _counts(accuracy: float, low: float, pairs: int) -> dict[str, int]:
    return {RIGHT: round(2 * pairs * accuracy), DOES: int(low > CHANCE)}


def _on_halves(hits: Float[np.ndarray, "pair 2"], template: Int[np.ndarray, " pair"]) -> list[dict[str, int]]:
    """The counts on halves of the pairs, as if on as many as all; none of too few pairs."""
    row = np.arange(len(hits)) % GROUPS
    rows = [np.isin(row, groups) for groups in halves()] if len(hits) >= FEWEST else []
    found = [over_templates(hits[half], template[half]) for half in rows]
    return [_counts(half.estimate, half.low, len(hits)) for half in found]


def both_margins(model: "LanguageModel", pairs: Pairs, batch: int = 256) -> Float[Tensor, "pair 2"]:
    """The margin of each prompt's own answer over the other, for the clean and the corrupt prompt of every pair."""
    with torch.inference_mode():
        parts = []
        for rows in torch.arange(len(pairs)).split(batch):
            runs = Runs.of(model, pairs[rows])
            parts.append(torch.stack([runs.margins(runs.clean), -runs.margins(runs.corrupt)], dim=1).cpu())
    return torch.cat(parts).clone()


def over_templates(hits: Float[np.ndarray, "pair 2"], template: Int[np.ndarray, " pair"]) -> stats.Interval:
    """The mean of the hits with a 95% interval over templates, which are clusters: a model that fails at the words of
    one fails at all of its pairs (`stats.clustered_share`). It is never narrower than that over pairs (`share`), and of
    one template it is that."""
    alone = share(hits)
    if len(np.unique(template)) < 2:
        return alone
    found = stats.clustered_share(hits.ravel(), template.repeat(2))
    return replace(found, low=min(found.low, alone.low), high=max(found.high, alone.high))


def _mean_over_templates(values: Float[np.ndarray, " pair"], template: Int[np.ndarray, " pair"]) -> stats.Interval:
    """The mean with a 95% interval over templates; of one template over its pairs."""
    kinds, of = np.unique(template, return_inverse=True)
    if len(kinds) < 2:
        return stats.bootstrap(values)
    return stats.ratio_of_sums(np.bincount(of, weights=values), np.bincount(of))


def share(hits: Float[np.ndarray, "pair 2"]) -> stats.Interval:
    """The mean of the hits with Wilson's 95% interval for correlated prompts: n prompts count as n / (1 + r), with r
    the correlation within pairs, at least 0, and 1 where nothing varies (Kish's design effect)."""
    mean, n = float(hits.mean()), hits.size
    spread = mean * (1 - mean)
    r = min(1.0, max(0.0, float(((hits - mean).prod(1)).mean()) / spread)) if spread > 0 else 1.0
    return stats.wilson(mean * n / (1 + r), n / (1 + r))
