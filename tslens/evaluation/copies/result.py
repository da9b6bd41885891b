"""The result of looking for copies: every text with where it comes from, beside true endings treated the same."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.evaluation.bits import bits_per_byte
from tslens.evaluation.copies.figure import figure
from tslens.evaluation.copies.names import BITS, COMPARISONS, COUNTS, KINDS, OTHERS, WHO, sample
from tslens.evaluation.rouge import MEASURES
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class CopiesResult(Result):
    """Where texts come from. True endings are those of held-out stories, treated the same: the share of copies that
    stories have without any copying. All intervals are over stories, at 95%.

    What rests on a whole set of texts (the nearest other text, distinct-n, self-BLEU) has the jackknife over stories.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("text",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "measure": MEASURES,
        "part": ("precision", "recall", "F"),
        "bound": ("value", "low", "high"),
        "sample": "samples",
    }

    model: str
    train: str
    """The training stories."""
    n_train: int
    span: int
    """Words of a copied span from which on a text is an exact copy, or a template copy by its skeleton."""
    prompts: list[str]
    texts: list[str]
    """What followed the prompts: written by the model, or the true ending."""
    who: Int[Tensor, " text"]
    """0: written by the model; 1: a true ending; from 2 on: written by an untrained twin, in the order of `twins`"""
    story: Int[Tensor, " text"]
    """The story that was cut."""
    cut: Float[Tensor, " text"]
    """The share of the story in the prompt; NaN if unknown."""
    words: Int[Tensor, " text"]
    rouge: Float[Tensor, "text measure part"]
    """Of the continuation to the story's true ending, without the prompt; of a true ending to that of the next story,
    which is chance. NaN where no true ending is known."""
    with_prompt: Float[Tensor, " text"]
    """ROUGE-2 precision where prompt and continuation are compared with the whole story."""
    floor: Float[Tensor, " text"]
    """What that is for a continuation of as many words that shares nothing: the part of the shared prompt."""
    ending_log_probability: Float[Tensor, " text"]
    """Of the true ending given the prompt, in nats, under who wrote the text; NaN where none is known or read."""
    ending_bytes: Int[Tensor, " text"]
    """UTF-8 bytes of that ending."""
    among: Float[Tensor, " text"]
    """The largest ROUGE-2 F to another text by the same writer, cut at the same share."""
    nearest: Float[Tensor, " text"]
    """The share of the text's word pairs that one training story has."""
    nearest_f: Float[Tensor, " text"]
    nearest_story: Int[Tensor, " text"]
    """A number among the training stories; -1 for none."""
    longest: Int[Tensor, " text"]
    """Words and marks of the longest span that a training story has."""
    longest_story: Int[Tensor, " text"]
    template: Int[Tensor, " text"]
    """The same of the skeleton, where every name and noun is a blank."""
    template_story: Int[Tensor, " text"]
    plot: Float[Tensor, " text"]
    """The cosine of rarity-weighted word counts to the training story that it is largest for: the same things are told
    of, in whatever words and order stand between."""
    plot_story: Int[Tensor, " text"]
    new: Float[Tensor, "text order"]
    """The share of n-grams (n = 1 to 10) that no training story has."""
    kind: Int[Tensor, " text"]
    """0: no copy; 1: an exact copy, with a copied span of `span` words, or copied as a whole; 2: a template copy, the
    same of its skeleton."""
    samples: list[str]
    """The sets whose variety is measured: a writer, and a cut."""
    distinct: Float[Tensor, "sample n bound"]
    """distinct-n for n = 1 to 4."""
    self_bleu: Float[Tensor, "sample bound"]
    among_mean: Float[Tensor, "sample bound"]
    """The mean of `among`."""
    places: Int[Tensor, " place"]
    growth: Float[Tensor, "sample place bound"]
    """Different words among the first so many, over random orders of these texts."""
    shown: list[dict[str, Any]]
    """The texts with the longest copies, then those without a copy whose plots are nearest, each beside its training
    story."""
    twins: list[str] = field(default_factory=list, kw_only=True)
    """The untrained twins that wrote after the same prompts."""

    @property
    def writers(self) -> tuple[str, ...]:
        """Who wrote texts, by the numbers of `who`."""
        return (*WHO, *self.twins)

    def sets(self) -> Iterator[tuple[float, np.ndarray]]:
        """Each share at which stories were cut, and the texts that belong to it."""
        cut = self.cut.numpy()
        for share in sorted(set(cut[~np.isnan(cut)].tolist())):
            yield share, cut == share
        if np.isnan(cut).any():
            yield float("nan"), np.isnan(cut)

    def columns(self) -> dict[str, np.ndarray]:
        """The numbers of each text, by name."""
        rouge = self.rouge.double().numpy()
        found = {"ending": rouge[:, 1, 0]}
        for i, measure in enumerate(MEASURES):
            found |= {f"{measure} {part}": rouge[:, i, j] for j, part in enumerate(self.axis_names["part"])}
        del found["ROUGE-2 precision"]  # the first comparison
        found |= {name: getattr(self, name).double().numpy() for name in [*list(COMPARISONS)[1:], *OTHERS]}
        return found | {f"new {n}-grams": self.new[:, n - 1].double().numpy() for n in range(1, self.new.shape[1] + 1)}

    def copied(self, who: int, kind: int, chosen: np.ndarray | None = None) -> stats.Interval:
        """The share of texts that are copies of a kind, with Wilson's interval; NaN of no texts.

        Texts of one story count as one in it, as if they were all alike.
        """
        own = (self.who.numpy() == who) & (True if chosen is None else chosen)
        if not own.any():
            return stats.Interval(np.nan, np.nan, np.nan, 0.95, "no text")
        stories, share = len(set(self.story.numpy()[own].tolist())), float((self.kind.numpy()[own] == kind).mean())
        return stats.wilson(share * stories, stories)

    def headline(self) -> str:
        """How many texts of the first cut are copies, and how near the nearest training story is."""
        _, chosen = next(iter(self.sets()))
        kinds = (self.copied(0, kind, chosen) for kind in (1, 2))
        exact, template = (one.said() for one in kinds)
        means = [self._means(chosen & (self.who.numpy() == who))["nearest"] for who in range(len(WHO))]
        if np.isnan(means).any():  # of fewer than two stories
            return ""
        near, true = ("{:.2f} ({:.2f} to {:.2f})".format(*mean) for mean in means)
        return (
            f"Of {self.model}'s texts {exact} are exact and {template} template copies; the nearest training story has "
            f"{near} of their word pairs, of those of the true endings {true}."
        )

    def summary(self) -> "pd.DataFrame":
        """One row for each cut and measure: what was written, and true endings and untrained twins beside."""
        import pandas as pd

        labels, everybody = COMPARISONS | OTHERS, range(len(self.writers))
        rows = []
        for share, chosen in self.sets():
            of_writers = [chosen & (self.who.numpy() == who) for who in everybody]
            means = [self._means(own) for own in of_writers]
            for who, of_writer in enumerate(means):
                of_writer["among"] = self._of_set(self.among_mean, who, share)
            names = [*COMPARISONS, *(name for name in means[0] if name not in COMPARISONS)]
            for name in names:
                rows.append((share, labels.get(name, name), *(bound for of in means for bound in of[name])))
            for kind in (1, 2):
                found = [self.copied(who, kind, chosen) for who in everybody]
                rows.append((share, f"{KINDS[kind]} copies", *(b for f in found for b in (f.estimate, f.low, f.high))))
            rows.append((share, BITS, *(b for f in map(self._bits, of_writers) for b in (f.estimate, f.low, f.high))))
            rows += self._variety(share)
        columns = ["cut", "measure", "written", "low", "high", "true_endings", "true_low", "true_high"]
        columns += [f"{twin}{end}" for twin in self.twins for end in ("", " low", " high")]
        return pd.DataFrame(rows, columns=columns)

    def _means(self, chosen: np.ndarray) -> dict[str, tuple[float, float, float]]:
        """Mean and interval of every number over the chosen texts; NaN where fewer than two stories have it."""
        stories = self.story.numpy()[chosen]
        found = {
            name: over_stories(values[chosen], stories, np.inf if name in COUNTS else 1.0)
            for name, values in self.columns().items()
        }
        return {name: (mean.estimate, mean.low, mean.high) for name, mean in found.items()}

    def _bits(self, chosen: np.ndarray) -> stats.Interval:
        """Bits per byte of the true endings after the prompts of the chosen texts, under their writer."""
        fields = self.ending_log_probability.double(), self.ending_bytes, self.story
        return bits_per_byte(*(field.numpy()[chosen] for field in fields))

    def _variety(self, share: float) -> list[tuple[Any, ...]]:
        parts = {f"distinct-{n}": self.distinct[:, n - 1] for n in range(1, 5)} | {"self-BLEU": self.self_bleu}
        everybody = range(len(self.writers))
        return [
            (share, name, *(bound for who in everybody for bound in self._of_set(values, who, share)))
            for name, values in parts.items()
        ]

    def _of_set(self, values: Float[Tensor, "sample bound"], who: int, share: float) -> tuple[float, float, float]:
        """The bounds of a set of texts; NaN where it has fewer than two stories."""
        name = sample(self.writers[who], share)
        if name not in self.samples:
            return (float("nan"),) * 3
        value, low, high = values[self.samples.index(name)].tolist()
        return value, low, high

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per text; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        frame["who"] = [self.writers[i] for i in self.who]
        frame["kind"] = [KINDS[i] for i in self.kind]
        for i, measure in enumerate(MEASURES):
            for j, part in enumerate(self.axis_names["part"]):
                frame[f"{measure} {part}"] = self.rouge[:, i, j].numpy()
        for n in range(self.new.shape[1]):
            frame[f"new_{n + 1}"] = self.new[:, n].numpy()
        return frame.assign(prompt=self.prompts, continuation=self.texts)

    def figure(self) -> "Figure":
        """Histograms of the three comparisons as shares of texts, and how the vocabulary grows: what was written, and
        true endings."""
        return figure(self)

    def html(self) -> str:
        """The texts with the longest copies and with the nearest plots, each beside its training story: a fragment of a
        page, escaped."""
        from tslens.evaluation.copies.view import side_by_side

        return side_by_side(self)

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self.html()

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"table": json.loads(self.to_frame().to_json(orient="records"))}


def over_stories(values: np.ndarray, stories: np.ndarray, most: float = 1.0) -> stats.Interval:
    """The mean of the texts' values from 0 to `most`, NaN ones left out, with its interval over stories
    (`stats.ratio_of_sums`; Wilson's for shares that are all alike); NaN for fewer than two stories."""
    there = ~np.isnan(values)
    _, of = np.unique(stories[there], return_inverse=True)
    if of.max(initial=0) < 1:
        return stats.Interval(np.nan, np.nan, np.nan, 0.95, "fewer than two stories")
    if most == 1 and np.ptp(values[there]) == 0:
        return stats.wilson(values[there][0] * (of.max() + 1), of.max() + 1)
    return stats.ratio_of_sums(np.bincount(of, values[there]), np.bincount(of)).within(0.0, most)
