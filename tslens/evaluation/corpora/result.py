"""The result of an audit of a corpus: measures with intervals over stories, beside those of a reference."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import stats
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class CorpusAuditResult(Result):
    """Measures of every story of a corpus, and of a reference if one was given (the second of `corpora`)."""

    frame_axes: ClassVar[tuple[str, ...]] = ("story", "measure")
    axis_names: ClassVar[Mapping[str, str]] = {"measure": "measures", "part": "parts"}

    corpora: list[str]
    measures: list[str]
    parts: list[str]
    """Parts of speech."""
    story_corpus: Int[Tensor, " story"]
    """The corpus of each story: 0 the audited one, 1 the reference."""
    sample_corpus: Int[Tensor, " sampled"]
    value: Float[Tensor, "story measure"]
    """Measures of each story (`measures.MEASURES`)."""
    repeated: Bool[Tensor, " story"]
    """Whether the story occurred before in its corpus, but for case and punctuation."""
    near: Bool[Tensor, " story"]
    """Whether another story of its corpus is a near-duplicate (`minhash.THRESHOLD`), copies included."""
    twin: Int[Tensor, " story"]
    """That story's number in its corpus; -1 for none."""
    taken: Bool[Tensor, " audited"]
    """Whether a story of the reference is a near-duplicate of this one; empty without a reference."""
    source: Int[Tensor, " audited"]
    part: Float[Tensor, "sampled part"]
    """Share of each part of speech among a sampled story's words."""
    nearest: Float[Tensor, " sampled"]
    """Largest ROUGE-2 F of a sampled story to another sampled one of its corpus."""
    nearest_reference: Float[Tensor, " audited_sample"]
    """Largest ROUGE-2 F of a sampled story to a sampled one of the reference; empty without a reference."""
    vocabulary: list[int]
    """Distinct words of each corpus."""
    words: list[int]
    """Words of each corpus."""
    unknown_words: list[str]
    """The commonest words that the reference does not have."""

    def columns(self, corpus: int = 0) -> dict[str, np.ndarray]:
        """Every measure of a corpus by its name: a value for each story, or for each sampled one."""
        mine, sampled = (owner.numpy() == corpus for owner in (self.story_corpus, self.sample_corpus))
        found = {name: self.value.numpy()[mine, i] for i, name in enumerate(self.measures)}
        found |= {"repeated": self.repeated.numpy()[mine], "near-duplicate": self.near.numpy()[mine]}
        if not corpus and len(self.taken):
            found["near-duplicate in the reference"] = self.taken.numpy()
        found |= {name: self.part.numpy()[sampled, i] for i, name in enumerate(self.parts)}
        found["nearest ROUGE-2"] = self.nearest.numpy()[sampled]
        if not corpus and len(self.nearest_reference):
            found["nearest ROUGE-2 in the reference"] = self.nearest_reference.numpy()
        return {name: np.asarray(values, dtype=float) for name, values in found.items()}

    def summary(self) -> "pd.DataFrame":
        """Every measure with its 95% interval over stories, and beside a reference the difference of the two, whose
        intervals are 95% together (Bonferroni)."""
        import pandas as pd

        ours = self.columns()
        theirs = self.columns(1) if len(self.corpora) > 1 else {}
        rows = []
        for name, values in ours.items():
            found = _mean(values)
            row = {"measure": name, "stories": len(values)} | _columns("mean", found)
            if name in theirs:
                usual = _mean(theirs[name])
                level = 1 - 0.05 / len(ours.keys() & theirs.keys())
                apart = _apart(_mean(values, level), _mean(theirs[name], level))
                row |= _columns("reference", usual) | _columns("difference", apart)
            rows.append(row)
        return pd.DataFrame(rows).rename(columns={"mean_low": "low", "mean_high": "high"})

    def headline(self) -> str:
        """How many stories repeat others."""
        own = self.columns()
        again, near = (f"{own[name].mean():.1%}" for name in ("repeated", "near-duplicate"))
        of = f"{self.corpora[0]}: of {len(own['repeated']):,} stories"
        return f"{of} {again} occurred before and {near} are near-duplicates."

    def __str__(self) -> str:
        sizes = (
            f"{name}: {n:,} words, {distinct:,} distinct"
            for name, n, distinct in zip(self.corpora, self.words, self.vocabulary, strict=True)
        )
        lacking = f"\nnot in {self.corpora[-1]}: {', '.join(self.unknown_words[:20])}" if self.unknown_words else ""
        return "\n".join([super().__str__(), *sizes]) + lacking

    def figure(self) -> "Figure":
        """The measures that are shares, with their intervals; the mark is the reference."""
        from tslens import plots

        theirs = self.columns(1) if len(self.corpora) > 1 else {}
        shares = {name: values for name, values in self.columns().items() if values.max(initial=0.0) <= 1}
        found = [_mean(values) for values in shares.values()]
        marks = np.array([theirs[name].mean() if name in theirs else np.nan for name in shares])
        return plots.bars(
            list(shares),
            np.array([each.estimate for each in found]),
            low=np.array([each.low for each in found]),
            high=np.array([each.high for each in found]),
            baseline=marks if theirs else None,
            title=self.corpora[0] + (f" (mark: {self.corpora[1]})" if theirs else ""),
            x_label="share, or mean over stories (95% interval)",
        )

    def lengths(self) -> "Figure":
        """The histogram of the audited stories' words."""
        from tslens import plots

        return plots.histogram(self.columns()["words"], x_label="words of a story", y_label="stories")


def _mean(values: np.ndarray, level: float = 0.95) -> stats.Interval:
    """The mean over stories of what is never negative, with its interval: Wilson's of what is 0 or 1 (of none among
    few, more may have it), else Student's t."""
    if np.isin(values, (0, 1)).all():
        return stats.wilson(values.sum(), len(values), level)
    return stats.mean_interval(values, level).within(0.0, max(1.0, float(values.max())))


def _apart(one: stats.Interval, other: stats.Interval) -> stats.Interval:
    """The difference of two independent means, by the interval of each (Zou and Donner 2008, doi:10.1002/sim.3095)."""
    difference = one.estimate - other.estimate
    low = difference - np.hypot(one.estimate - one.low, other.high - other.estimate)
    high = difference + np.hypot(one.high - one.estimate, other.estimate - other.low)
    return stats.Interval(difference, low, high, one.level, "from both intervals")


def _columns(name: str, found: stats.Interval) -> dict[str, float]:
    return {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}
