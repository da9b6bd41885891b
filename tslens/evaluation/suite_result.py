"""The result of a suite: what each model thinks of every ending, and labels of what it writes."""

import dataclasses
import json
import math
from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tslens import stats
from tslens.errors import InputError
from tslens.evaluation import scores
from tslens.evaluation.bits import bits_per_byte
from tslens.evaluation.coloured import STYLE, coloured_figure, coloured_html
from tslens.evaluation.scores import EVEN, FAIL, PARTIAL, PARTS, SCORINGS, SUCCESS, VERDICTS, GivenLabels, Labels, named
from tslens.result import Result
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteResult(Result):
    """The probability of a suite's endings under each model, and labels of its own completions of the prompts.

    A prompt is right if its best accepted ending is more probable than its best rejected one: in total (`sum`), or per
    byte of the ending (`byte`), which does not favour short ones. These are `acc` and `acc_norm` of Gao et al. 2021
    (lm-evaluation-harness, doi:10.5281/zenodo.5371628). Prompts of templates are counted apart from those written by
    hand, which come first. Pairs and templates are clusters, which widen a share's interval.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("model", "prompt")
    axis_names: ClassVar[Mapping[str, str]] = {"model": "models", "ending": "endings"}

    models: list[str]
    suite: str
    question: str
    prompts: list[str]
    topics: list[str]
    """The topic of each pair written by hand, and of each template."""
    looks_right: list[str]
    """What a right continuation looks like, by topic; empty where the suite does not say."""
    looks_wrong: list[str]
    endings: list[str]
    templated: Bool[Tensor, " prompt"]
    topic: Int[Tensor, " prompt"]
    margin: Float[Tensor, "model prompt"]
    """Log-probability of the best accepted ending minus that of the best rejected one, in nats."""
    margin_per_byte: Float[Tensor, "model prompt"]
    """The same, where the log-probability of each ending is first divided by its UTF-8 bytes (its space included)."""
    best_accepted: Int[Tensor, "model prompt"]
    """The most probable accepted ending (by sum)."""
    best_rejected: Int[Tensor, "model prompt"]
    prompt: Int[Tensor, " ending"]
    """The prompt of each ending."""
    accepted: Bool[Tensor, " ending"]
    text_bytes: Int[Tensor, " ending"]
    log_probability: Float[Tensor, "model ending"]
    """Log-probability of the ending given the prompt, in nats, summed over its tokens."""
    completions: list[list[list[str]]] = dataclasses.field(default_factory=list, kw_only=True)
    """What each model wrote after each prompt written by hand; empty if none was asked to write."""
    labels: dict[str, Labels] = dataclasses.field(default_factory=dict, kw_only=True)
    """Labels of the completions, by who gave them: `match` (see `matching`), or a grader."""
    chance: dict[str, Labels] = dataclasses.field(default_factory=dict, kw_only=True)
    """Labels, by the same, of completions that stand behind another prompt (`scores.partners`): their null."""
    sampling: list[str] = dataclasses.field(default_factory=list, kw_only=True)
    """How the completions of each model were drawn, in words; empty where none was, or where it was not recorded."""
    trust: dict[str, str] = dataclasses.field(default_factory=dict, kw_only=True)
    """What the controls say of each grader that gave labels, as in `ControlsResult.trust`; `match` has no controls."""
    twins: list[dict[str, Any]] = dataclasses.field(default_factory=list, kw_only=True)
    """The summary's rows of untrained twins, each with the model that it is a twin `of`; empty if none was asked."""

    @property
    def by_hand(self) -> int:
        """How many prompts are written by hand."""
        return int((~self.templated).sum())

    def parts(self) -> list[str]:
        """The kinds of prompts that the suite has."""
        return [part for part in PARTS if len(self._rows(part))]

    def ways(self) -> list[str]:
        """The ways in which prompts written by hand are scored: by the sum, by matching, by each grader."""
        return ["sum", *self.labels]

    def right(self, model: int = 0, part: str = PARTS[0], by: str = "sum") -> stats.Interval:
        """The share of prompts answered rightly, a tie counting half, with Wilson's 95% interval in clusters."""
        rows = self._rows(part)
        return stats.clustered_share(self._right(by)[model, rows], self.topic.numpy()[rows])

    def pairs_right(self, model: int = 0, part: str = PARTS[0], by: str = "sum") -> stats.Interval:
        """The share of pairs with both prompts right, with the same interval: Winoground's group score (Thrush et al.
        2022, arXiv 2204.03162). 0 for a model that ignores the prompt."""
        rows = self._rows(part)  # those of a pair follow one another
        both = (self._margin(by)[model, rows] > 0).reshape(-1, 2).all(1)
        return stats.clustered_share(both, self.topic.numpy()[rows][::2])

    def mean_margin(self, model: int = 0, part: str = PARTS[0], by: str = "sum") -> stats.Interval:
        """The mean margin in nats (or nats per byte), with its linearised 95% interval in clusters.

        The base rate of an ending adds to one of a pair what it takes from the other, so the mean is the effect of the
        prompt, and 0 for a model that ignores it.
        """
        return stats.ratio_of_sums(*self._sums(self._margin(by)[model, rows := self._rows(part)], rows))

    def bits_per_byte(self, model: int = 0, part: str = PARTS[0]) -> stats.Interval:
        """Bits per byte of all right endings given their prompts, with the 95% interval in clusters."""
        own = self.accepted.numpy() & np.isin(self.prompt.numpy(), self._rows(part))
        values, clusters = self.log_probability[model].double().numpy()[own], self.topic[self.prompt].numpy()[own]
        return bits_per_byte(values, self.text_bytes.numpy()[own], clusters)

    def labelled(self, label: int, model: int = 0, by: str = "match") -> stats.Interval:
        """The mean over prompts of the share of completions with this label, with Wilson's 95% interval in clusters.

        Completions without a label count neither way; a prompt none of whose has one is left out. NaN if there is none.
        """
        if by not in self.labels:
            raise InputError(f"{by!r} gave no labels. Labels are by: {', '.join(self.labels) or 'nobody'}.")
        return scores.share_of(label, self.labels[by][model], self.topic.numpy())

    def by_chance(self, label: int, model: int = 0, by: str = "match") -> stats.Interval:
        """The same of completions that stand behind another prompt; NaN where nobody labelled any."""
        return scores.share_of(label, self.chance[by][model] if by in self.chance else [], self.topic.numpy())

    def with_labels(
        self, by: str, labels: GivenLabels, trust: str | None = None, chance: Labels | None = None
    ) -> "SuiteResult":
        """The result with the labels that a grader gave to its completions, and what its controls say of it, if there
        were any; and the labels by `chance`. InputError unless there is one label of each completion."""
        given = scores.listed(by, labels, self.completions)
        told = {who: said for who, said in self.trust.items() if who != by} | ({by: trust} if trust else {})
        null = {who: rows for who, rows in self.chance.items() if who != by} | ({by: chance} if chance else {})
        return dataclasses.replace(self, labels=self.labels | {by: given}, trust=told, chance=null)

    def verdicts(self, by: str = "sum") -> Float[np.ndarray, "model by_hand"]:
        """Fail (0), partial (1) or success (2) of each model on each prompt written by hand; NaN without a label.

        By a scoring, partial is a margin within a factor of two either way. By labels it is the mean label of the
        completions, of which the lower third is a fail and the upper third a success.
        """
        if by in SCORINGS:
            margin, even = self._margin(by)[:, : self.by_hand], EVEN if by == "sum" else 0.0
            return np.where(margin > even, SUCCESS, np.where(margin < -even, FAIL, PARTIAL)).astype(float)
        known = [[[float(x) for x in row if x is not None] for row in rows] for rows in self.labels[by]]
        means = np.array(list(map(scores.means, known)))
        return np.where(np.isnan(means), np.nan, np.digitize(means, (2 / 3, 4 / 3)))

    def differences(self, by: str = "sum") -> "pd.DataFrame":
        """The share of prompts that one model has right less that of another, for every two models, with an interval
        that allows for the number of comparisons (Bonferroni): linearised, paired by prompt, in clusters."""
        import pandas as pd

        right, parts = self._right(by), self.parts()
        pairs = [(part, a, b) for part in parts for a, b in combinations(range(len(self.models)), 2)]
        rows = []
        for part, a, b in pairs:
            chosen, level = self._rows(part), 1 - 0.05 / len(pairs)
            found = stats.ratio_of_sums(*self._sums(right[b, chosen] - right[a, chosen], chosen), level)
            differ = "more" if found.low > 0 else "fewer" if found.high < 0 else "undecided"
            rows.append((self.models[b], self.models[a], part, found.estimate, found.low, found.high, differ))
        return pd.DataFrame(rows, columns=["model", "than", "prompts", "difference", "low", "high", "right"])

    def worst(self, n: int = 3) -> "pd.DataFrame":
        """The prompts written by hand with the lowest margins, `n` of each model."""
        rows, columns = self.to_frame().query("not templated"), "model margin text best_rejected best_accepted".split()
        lowest = rows.sort_values("margin", kind="stable").groupby("model", sort=False).head(n)[columns]
        return lowest.sort_values("model", key=lambda names: names.map(self.models.index), kind="stable")

    def summary(self) -> "pd.DataFrame":
        import pandas as pd

        rows = []
        for i, model in enumerate(self.models):
            for part in self.parts():
                found: list[scores.Score] = [
                    ("prompts right", self.right(i, part), 0.5),
                    ("prompts right, by byte", self.right(i, part, "byte"), 0.5),
                    ("both of a pair right", self.pairs_right(i, part), 0.0),
                    ("mean margin (nats)", self.mean_margin(i, part), 0.0),
                    ("bits_per_byte of right endings", self.bits_per_byte(i, part), math.nan),
                ]
                for by, x in product(self.labels, (SUCCESS, FAIL)) if part == PARTS[0] else ():
                    score = f"{VERDICTS[x]}, by {named(by, self.trust)}"
                    found.append((score, self.labelled(x, i, by), self.by_chance(x, i, by)))
                rows += [(model, part, what, *scores.columns(s), *scores.columns(null)) for what, s, null in found]
        return scores.beside_twins(pd.DataFrame(rows, columns=scores.COLUMNS), self.twins)

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per model and prompt, with its text and best endings; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        best = {name: [self.endings[i] for i in frame[name]] for name in ("best_accepted", "best_rejected")}
        frame.insert(2, "text", self.prompts * len(self.models))
        more = {"topic": [self.topics[i] for i in self.topic], "templated": self.templated.tolist()}
        frame = frame.assign(**best, **{name: values * len(self.models) for name, values in more.items()})
        return frame.assign(right=frame["margin"] > 0, right_per_byte=frame["margin_per_byte"] > 0)

    def figure(self) -> "Figure":
        """The coloured table of the prompts written by hand, by model."""
        return coloured_figure(self)

    def by_label(self) -> "pd.DataFrame":
        """How many completions of each prompt are a success, partial and a fail, by matching and by each grader."""
        return scores.counted(self.models, self.prompts, self.labels)

    def write_tables(self, folder: Path) -> None:
        """Write `table.html` (the coloured tables), `summary.csv`, and `labels.csv` (see `by_label`)."""
        self.summary().to_csv(folder / "summary.csv", index=False)
        self.by_label().to_csv(folder / "labels.csv", index=False)
        head = f'<!doctype html>\n<meta charset="utf-8"><style>{STYLE}</style>'
        (folder / "table.html").write_text("\n".join([head, *(coloured_html(self, by) for by in self.ways())]), "utf-8")

    def headline(self) -> str:
        return f"{self.question}\n{scores.headline(self)}"

    def __str__(self) -> str:
        paired = {"Shares of prompts right, paired:": self.differences()} if len(self.models) > 1 else {}
        tables = paired | {"Worst prompts of each model:": self.worst()}
        return "\n\n".join([super().__str__(), *(f"{what}\n\n{as_text(table)}" for what, table in tables.items())])

    def to_json(self) -> dict[str, Any]:
        tables = {"table": self.to_frame(), "differences": self.differences()}
        return super().to_json() | {k: json.loads(v.to_json(orient="records")) for k, v in tables.items()}

    def _margin(self, by: str) -> NDArray[Any]:
        if by not in SCORINGS:
            raise InputError(f"endings are scored by {' or '.join(SCORINGS)}; got {by!r}.")
        return np.asarray(getattr(self, SCORINGS[by]).double().numpy())

    def _right(self, by: str) -> NDArray[Any]:
        return np.asarray((np.sign(self._margin(by)) + 1) / 2)  # a tie is half right

    def _rows(self, part: str) -> NDArray[Any]:
        if part not in PARTS:
            raise InputError(f"prompts are {' or '.join(PARTS)}; got {part!r}.")
        return np.flatnonzero(self.templated.numpy() == (part == PARTS[1]))

    def _sums(self, values: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The sum of the values of each cluster, and its prompts."""
        cluster = np.unique(self.topic.numpy()[rows], return_inverse=True)[1]
        return np.bincount(cluster, values), np.bincount(cluster)
