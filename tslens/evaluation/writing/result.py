"""The result of writing: every completion with its measures, and each model's, with intervals clustered by prompt."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import stats
from tslens.evaluation.bits import bits_per_byte
from tslens.evaluation.writing.measures import measures
from tslens.evaluation.writing.sources import StoryPrompt
from tslens.evaluation.writing.store import Asked, Completion
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEANS = {"tokens": "tokens", "words": "words"}
BITS = "bits per byte of the true ending"
SHARES = {"ended": "story ended", "repetition": "repeated 4-grams", "blank": "blank", "broken": "broken"}


@dataclass(frozen=True, eq=False)
class WritingResult(Result):
    """What models wrote after prompts: the texts, and what can be said of each by itself."""

    frame_axes: ClassVar[tuple[str, ...]] = ("completion",)
    axis_names: ClassVar[Mapping[str, str]] = {"completion": "texts"}

    models: list[str]
    prompts: list[str]
    endings: list[str]
    """How the story of each prompt truly goes on; empty where that is not known."""
    samplings: list[str]
    """The ways in which tokens were chosen, such as `temperature 1` and `beams 5`."""
    texts: list[str]
    limit_tokens: int
    seed: int
    model: Int[Tensor, " completion"]
    prompt: Int[Tensor, " completion"]
    sampling: Int[Tensor, " completion"]
    sample: Int[Tensor, " completion"]
    """The number of the completion among those of its model, prompt and sampling."""
    tokens: Int[Tensor, " completion"]
    """New tokens, without that of the end of the story."""
    words: Int[Tensor, " completion"]
    repetition: Float[Tensor, " completion"]
    """Share of 4-grams of words that occurred before in the completion; NaN for fewer than four words."""
    ended: Bool[Tensor, " completion"]
    """Whether the model ended the story; else it was cut at the limit of tokens, or where the context is full."""
    blank: Bool[Tensor, " completion"]
    """Whether it has no character but white space."""
    broken: Bool[Tensor, " completion"]
    """Whether it has replacement or control characters."""
    ending_log_probability: Float[Tensor, "model prompt"] = field(
        default_factory=lambda: torch.empty(0, 0, dtype=torch.float64), kw_only=True
    )
    """Of the true ending given the prompt, in nats; NaN where none is known or the context is too short."""

    def interval(self, measure: str, chosen: Bool[Tensor, " completion"]) -> stats.Interval:
        """The mean of a measure over the chosen completions, clustered by prompt: of a length with the linearised
        interval of a ratio of sums (NaN for one prompt), of a share with Wilson's at the effective number."""
        values: Tensor = getattr(self, measure)
        chosen = chosen & ~values.float().isnan()
        kept, prompt = values[chosen].double().numpy(), self.prompt[chosen].numpy()
        if not len(kept):
            return stats.Interval(np.nan, np.nan, np.nan, 0.95, "no value")
        if measure in SHARES:
            return stats.clustered_share(kept, prompt)
        return stats.ratio_of_sums(np.bincount(prompt, kept)[(n := np.bincount(prompt)) > 0], n[n > 0])

    def headline(self) -> str:
        """How many texts of each model end their story, in the first way of choosing tokens."""
        first = self.sampling == 0
        found = [(name, self.interval("ended", first & (self.model == i))) for i, name in enumerate(self.models)]
        each = ", ".join(f"of {name} {one.said()}" for name, one in found)
        return f"Within {self.limit_tokens} tokens end {each}, by {self.samplings[0]}." if self.samplings else ""

    def summary(self) -> "pd.DataFrame":
        """Every measure of each model and sampling, with its 95% interval, clustered by prompt."""
        import pandas as pd

        rows = []
        for model, sampling, chosen in self._groups():
            for measure, name in (MEANS | SHARES).items():
                found = self.interval(measure, chosen)
                n, prompts = int(chosen.sum()), len(self.prompt[chosen].unique())
                rows.append((model, sampling, name, found.estimate, found.low, found.high, n, prompts))
        rows += self._bits()
        return pd.DataFrame(rows, columns=["model", "sampling", "measure", "value", "low", "high", "n", "prompts"])

    def _bits(self) -> Iterator[tuple[Any, ...]]:
        """Bits per byte of the true endings after the prompts, which no sampling decides; of no model without any."""
        sizes = np.array([len(ending.encode()) for ending in self.endings])
        for model, log_probability in zip(self.models, self.ending_log_probability.double().numpy(), strict=False):
            if n := int((~np.isnan(log_probability)).sum()):
                found = bits_per_byte(log_probability, sizes, np.arange(len(sizes)))
                yield model, "", BITS, found.estimate, found.low, found.high, n, n

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per completion, with its prompt and its text; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        for name, labels in (("model", self.models), ("prompt", self.prompts), ("sampling", self.samplings)):
            frame[name] = [labels[i] for i in getattr(self, name)]
        frame.insert(2, "completion", frame.pop("completion"))
        return frame.assign(seed=self.seed, true_ending=[self.endings[i] for i in self.prompt])

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows of the frame as JSON: null for a repetition that is not defined."""
        yield from json.loads(self.to_frame().to_json(orient="records", double_precision=15))

    def side_by_side(self) -> "pd.DataFrame":
        """One row per prompt: its true ending where that is known, and the first text of each model and sampling."""
        import pandas as pd

        columns: dict[str, list[str]] = {"prompt": self.prompts}
        if any(self.endings):
            columns["true ending"] = self.endings
        for model, sampling, chosen in self._groups():
            first = {int(self.prompt[i]): self.texts[i] for i in reversed(chosen.nonzero().flatten().tolist())}
            columns[f"{model}, {sampling}"] = [first.get(i, "") for i in range(len(self.prompts))]
        return pd.DataFrame(columns)

    def write_jsonl(self, path: Path) -> None:
        """Write one completion a line, whole or not at all."""
        from tslens.files import atomic

        with atomic(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in self.records())

    def figure(self) -> "Figure":
        """The shares and the repetition of each model and sampling, with their intervals."""
        from tslens import plots

        series = {}
        for model, sampling, chosen in self._groups():
            found = [self.interval(measure, chosen) for measure in SHARES]
            columns = ([i.estimate for i in found], [i.low for i in found], [i.high for i in found])
            series[f"{model}, {sampling}"] = columns
        return plots.intervals(
            list(SHARES.values()),
            series,
            title=f"{len(self.texts):,} completions of {len(self.prompts):,} prompts",
            x_label="share",
        )

    def _groups(self) -> Iterator[tuple[str, str, Bool[Tensor, " completion"]]]:
        for m, model in enumerate(self.models):
            for s, sampling in enumerate(self.samplings):
                chosen = (self.model == m) & (self.sampling == s)
                if chosen.any():
                    yield model, sampling, chosen


def from_completions(
    models: Sequence[str],
    found: Sequence[StoryPrompt],
    asked: Sequence[Asked],
    made: Sequence[Sequence[Completion]],
    endings: Sequence[Sequence[float]] = (),
) -> WritingResult:
    """The result for the completions of each model, in the order in which they were asked for; `endings` are the
    log-probabilities of the true endings under each."""
    named = [_named(one) for one in asked]
    samplings = list(dict.fromkeys(named))
    prompt_of = {b.prompt: i for i, b in enumerate(found)}
    rows = [completion for of_model in made for completion in of_model]
    measured = [measures(row.text) for row in rows]
    seeds = [one.sampling.seed for one in asked if one.sampling.temperature]

    def every(values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64).repeat(len(models))

    return WritingResult(
        models=list(models),
        prompts=[b.prompt for b in found],
        endings=[b.ending for b in found],
        samplings=samplings,
        texts=[row.text for row in rows],
        limit_tokens=asked[0].limit,
        seed=seeds[0] if seeds else 0,
        model=torch.arange(len(models)).repeat_interleave(len(asked)),
        prompt=every([prompt_of[one.prompt] for one in asked]),
        sampling=every([samplings.index(name) for name in named]),
        sample=every([one.sample for one in asked]),
        tokens=torch.tensor([row.tokens for row in rows]),
        words=torch.tensor([m.words for m in measured]),
        repetition=torch.tensor([m.repetition for m in measured]),
        ended=torch.tensor([row.ended for row in rows]),
        blank=torch.tensor([m.blank for m in measured]),
        broken=torch.tensor([m.broken for m in measured]),
        ending_log_probability=torch.tensor(endings, dtype=torch.float64).reshape(len(endings), -1),
    )


def _named(one: Asked) -> str:
    s = one.sampling
    return f"beams {s.beams}" if s.beams > 1 else f"temperature {s.temperature:g}"
