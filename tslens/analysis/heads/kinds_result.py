"""Results about content: which keys every head chooses, and which words it writes, beyond null and untrained twins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.kinds_weights import KINDS
from tslens.analysis.heads.kinds_words import CLASSES
from tslens.analysis.heads.roles import NEAR, NEXT_TO_NOTHING, Q
from tslens.halves import ENOUGH, LEADING_P, around, leading
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CHANCE, SECOND = 0.01, 0.25
UNKNOWN = "content-dependent, kind unknown"


@dataclass(frozen=True, eq=False)
class ScoresResult(Result):
    """The score of every head for every kind, and the kinds that it has.

    A head has a kind if the lower end of its score exceeds the threshold, and q < 0.05. It may have several. Intervals
    are 95%, from the delete-a-group jackknife over groups of whole stories. Where a kind has several nulls, score and
    both ends are each the smallest over them: both then err to the safe side, the upper ends by Bonferroni.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("kind", "layer", "head")
    unit: ClassVar[str]
    """What a score is, for the figure."""
    label: ClassVar[str]
    """How a kind is counted: its name is put in the braces."""
    besides: ClassVar[str] = f"; of a class of words also p <= {CHANCE} of its words among others of like frequency"
    """What else a kind needs, in words."""
    least: ClassVar[float] = 0.0
    """What the lower end of a score must exceed besides the threshold."""

    model: str
    """The model's name."""
    stories: int
    """Stories that were read, generated ones included."""
    groups: int
    """Groups of stories behind the intervals."""
    roles: list[list[str]]
    """The role of each head by layer and head; empty where no roles were given."""
    of_twins: list[int]
    """Heads of each untrained twin that have a kind, by the thresholds of the other twins; empty where none were."""
    queries: Float[Tensor, " kind"]
    """Queries behind the score, for the rarer of a kind's nulls."""
    threshold: Float[Tensor, " kind"]
    """The 99th percentile of the score over the heads of untrained twins, or over heads turned at random, whichever is
    larger; NaN where none were read."""
    score: Float[Tensor, "kind layer head"]
    """The score; NaN where no query has the kind."""
    low: Float[Tensor, "kind layer head"]
    """Lower end of its interval."""
    high: Float[Tensor, "kind layer head"]
    """Upper end of its interval."""
    q: Float[Tensor, "kind layer head"]
    """False discovery rate at which the score exceeds 0 for every null (Benjamini-Hochberg over heads and kinds)."""
    p_of_words: Float[Tensor, "kind layer head"]
    """p that a head prefers, or writes, the words of a class, its words' classes permuted among words of like frequency
    (`kinds_types`, `writes_types`); NaN for other kinds, classes of one word, and a head that writes nothing surely."""
    of_halves: list[int] = field(default_factory=list, kw_only=True)
    """The heads that have a kind on each of balanced halves of the stories (`tslens.halves`), by the same thresholds;
    empty without twins and of too few stories."""
    of_turned: list[int] = field(default_factory=list, kw_only=True)
    """The same of each copy of the model whose heads are turned at random; empty where none were."""

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds."""
        names = self.axis_names["kind"]
        return (names,) if isinstance(names, str) else names

    @property
    def sure(self) -> Float[Tensor, "kind layer head"]:
        """The lower end of the score where q < 0.05, and of a class of words also p over its words; else NaN."""
        return torch.where((Q - self.q > NEAR) & ~(self.p_of_words > CHANCE), self.low, torch.nan)

    @property
    def held(self) -> Bool[Tensor, "kind layer head"]:
        """Whether the head has the kind."""
        return self.sure - self.threshold.clamp(min=self.least)[:, None, None] > NEAR

    @property
    def having(self) -> int:
        """The number of heads that have a kind."""
        return int(self.held.any(0).sum())

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95% interval over stories; NaN where it is not known."""
        if not self.of_halves:
            return torch.nan, torch.nan
        low, high = around(*map(torch.tensor, (self.having, self.of_halves, self.held[0].numel())))
        return float(low), float(high)

    @property
    def leads(self) -> bool:
        """Whether the interval's lower end, rounded, exceeds the number of every untrained twin and of every copy with
        turned heads, p is at most 0.05, and the stories are enough for the interval (`halves.ENOUGH`)."""
        return bool(self.of_twins) and not self.warning()

    @property
    def _p(self) -> float:
        return float(stats.rank_p(self.having, self.of_twins))

    @cached_property
    def kinds(self) -> list[list[list[str]]]:
        """The kinds of each head by layer and head, the largest score first."""
        order, held = self.score.nan_to_num(-1).argsort(dim=0, descending=True, stable=True), self.held
        layers, heads = held.shape[1:]
        return [
            [[self.names[k] for k in order[:, layer, head].tolist() if held[k, layer, head]] for head in range(heads)]
            for layer in range(layers)
        ]

    def counts(self) -> dict[str, int]:
        """The number of heads with each kind, and with any."""
        held = self.held
        return {self.label.format("any"): int(held.any(0).sum())} | {
            self.label.format(kind): int(of_kind.sum()) for kind, of_kind in zip(self.names, held, strict=True)
        }

    def summary(self) -> "pd.DataFrame":
        """Every kind: the heads that have it, the twins' threshold, and the score of the best head."""
        import pandas as pd

        held, rows = self.held, list[dict[str, Any]]()
        for i, kind in enumerate(self.names):
            best = int(self.score[i].nan_to_num(-2).argmax())
            layer, head = divmod(best, self.score.shape[2])
            scores = {name: float(getattr(self, name)[i, layer, head]) for name in ("score", "low", "high", "q")}
            having = [f"{a}.{b}" for a, b in held[i].nonzero().tolist()]
            row = {"kind": kind, "heads": ", ".join(having) or "none", "queries": int(self.queries[i])}
            rows.append(row | {"threshold": float(self.threshold[i]), "best": f"{layer}.{head}"} | scores)
        return pd.DataFrame(rows)

    def headline(self) -> str:
        """How many heads have a kind, and what a kind is."""
        if self.threshold.isnan().all():
            return "No head has a kind: the scores have not been compared with untrained twins'."
        also = f" and {self.least:g}" if self.least else ""
        return (
            f"{self.said()} have a kind that is named here: its lower end exceeds threshold{also}, and q < {Q}"
            f"{self.besides}.{self.warning()}"
        )

    def warning(self) -> str:
        """What a count that does not exceed its controls says: nothing. Empty for one that does."""
        if not self.of_twins:
            return ""
        low, none = torch.tensor(self.interval[0]), torch.zeros(())
        if not leading(low, torch.tensor(max(self.of_twins)), none):
            return " So many say nothing about training."
        if not leading(low, torch.tensor(max(self.of_turned, default=0)), none):
            return " So many are not surely more than turned heads have."
        few = "twins" if self._p > LEADING_P else "stories" if self.stories < ENOUGH else ""
        return f" Too few {few} to say that this is training." if few else ""

    def said(self) -> str:
        """How many heads have a kind: '5 of 16 heads (4 to 6; untrained twins: 0; p = 0.05; turned heads: 0 to 3)'."""
        known = ["{:.0f} to {:.0f}".format(*self.interval)] if self.of_halves else []
        known += [f"untrained twins: {_range(self.of_twins)}; p = {self._p:.2f}"] if self.of_twins else []
        known += [f"turned heads: {_range(self.of_turned)}"] if self.of_turned else []
        beside = f" ({'; '.join(known)})" if known else ""
        return f"{self.having} of {self.held[0].numel()} heads{beside}"

    def figure(self) -> "Figure":
        """The score of every kind for every head, with a dot where the head has the kind."""
        from tslens import plots

        layers, heads = self.score.shape[1:]
        return plots.heatmap(
            self.score.flatten(1),
            self.names,
            [f"{layer}.{head}" for layer in range(layers) for head in range(heads)],
            title=f"{self.model}: {self.unit} (dot: beyond null and controls)",
            column_label="head",
            centre=0.0,
            texts=[["•" if one else "" for one in row] for row in self.held.flatten(1).tolist()],
        )


def _range(counts: list[int]) -> str:
    """'0', '0 to 2'; empty of none."""
    low, high = min(counts, default=0), max(counts, default=0)
    return "" if not counts else f"{low} to {high}" if low < high else f"{low}"


@dataclass(frozen=True, eq=False)
class KindsResult(ScoresResult):
    """The kinds of keys that every head chooses by their content.

    The score is the attention mass on a query's keys of the kind less that on null keys, for the null that leaves
    least: the mean over the queries that have both. Its lower end must also exceed 5%: kinds occur together, so that a
    head with one of them shows a little of others. For duplicates and induction q also holds on repeated random tokens,
    and is NaN where the model does not copy them.
    """

    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"kind": KINDS}
    unit: ClassVar[str] = "excess attention mass by kind of key"
    label: ClassVar[str] = "kind of key: {}"
    least: ClassVar[float] = NEXT_TO_NOTHING

    @property
    def named(self) -> list[list[str]]:
        """What the keys of each head are, in words: its kinds; else that the kind is unknown, where its role is
        content-dependent; else nothing."""
        layers, heads = self.score.shape[1:]
        roles = self.roles or [[""] * heads] * layers
        return [
            [", ".join(own) or (UNKNOWN if role == "content-dependent" else "") for own, role in zip(*row, strict=True)]
            for row in zip(self.kinds, roles, strict=True)
        ]

    def __str__(self) -> str:
        unknown = [f"{i}.{j}" for i, row in enumerate(self.named) for j, name in enumerate(row) if name == UNKNOWN]
        return super().__str__() + (f"\n{UNKNOWN}: {', '.join(unknown)}." if unknown else "")


@dataclass(frozen=True, eq=False)
class WritesResult(ScoresResult):
    """The word classes that every head writes: its direct effect on the logits, by the class of the word that follows.

    The score is in logits: what the head adds to words of the class, the following word itself left out, over what it
    adds to other words of the story, where a word of the class follows, less the same where an equally frequent word of
    another class does.
    """

    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"kind": CLASSES}
    unit: ClassVar[str] = "direct effect on the logits of a word class that follows"
    label: ClassVar[str] = "writes: {}"
    besides: ClassVar[str] = f"{ScoresResult.besides}, and it is a quarter of the head's largest or more"

    @property
    def held(self) -> Bool[Tensor, "kind layer head"]:
        """Whether the head writes the class: as for other kinds, and its score is at least a quarter of the largest of
        these. Where one class is raised, all others are compared with it, and exceed it where it does not follow."""
        held = super().held
        return held & (self.score >= SECOND * torch.where(held, self.score, 0.0).amax(0))
