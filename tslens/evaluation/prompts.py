"""Scores of a model on the prompts of a suite, by the probability of each ending."""

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward, progress, stats
from tslens.errors import InputError
from tslens.evaluation.suites import Prompt, Suite
from tslens.models import name_of, spec_of, tokenizer_of
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel, TextTokenizer

SCORINGS = {"sum": "margin", "byte": "margin_per_byte"}


@dataclasses.dataclass(frozen=True, eq=False)
class EvaluateResult(Result):
    """The probability of a suite's endings under a model. A prompt is right if its best accepted ending is more
    probable than its best rejected one: in total (`sum`), or per byte of the ending (`byte`), which does not favour
    short ones. These are `acc` and `acc_norm` of Gao et al. 2021 (lm-evaluation-harness, doi:10.5281/zenodo.5371628).
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("prompt",)
    axis_names: ClassVar[Mapping[str, str]] = {"ending": "endings"}

    model: str
    """The model's name."""
    suite: str
    question: str
    prompts: list[str]
    pairs: list[str]
    """The topic of each pair of twins."""
    endings: list[str]
    pair: Int[Tensor, " prompt"]
    """The pair of each prompt."""
    margin: Float[Tensor, " prompt"]
    """Log-probability of the best accepted ending minus that of the best rejected one, in nats."""
    margin_per_byte: Float[Tensor, " prompt"]
    """The same, where the log-probability of each ending is first divided by its UTF-8 bytes (its space included)."""
    best_accepted: Int[Tensor, " prompt"]
    """The most probable accepted ending (by sum)."""
    best_rejected: Int[Tensor, " prompt"]
    prompt: Int[Tensor, " ending"]
    """The prompt of each ending."""
    accepted: Bool[Tensor, " ending"]
    log_probability: Float[Tensor, " ending"]
    """Log-probability of the ending given the prompt, in nats, summed over its tokens."""
    text_bytes: Int[Tensor, " ending"]

    def right(self, by: str = "sum") -> stats.Interval:
        """The share of prompts answered rightly, a tie counting half, with Wilson's 95% interval.

        The interval uses the effective number of prompts, because twins are correlated: n prompts count as
        n / (1 + r), with r the correlation within pairs, at least 0, and 1 where all outcomes are equal and it is
        undefined (Kish's design effect; Miller 2024, arXiv 2411.00640, on why clusters matter; Dean and Pagano 2015,
        doi:10.1093/jssam/smv024, on Wilson's interval in clusters).
        """
        right = (self._margin(by).double().sign() + 1) / 2  # a tie is half right
        share, n = float(right.mean()), len(right)
        spread = share * (1 - share)
        together = (right - share).view(-1, 2).prod(1).mean().item()  # twins follow one another
        r = min(1.0, max(0.0, together / spread)) if spread > 0 else 1.0
        return dataclasses.replace(stats.wilson(share * n / (1 + r), n / (1 + r)), method="Wilson score, clustered")

    def twins_right(self, by: str = "sum") -> stats.Interval:
        """The share of pairs with both prompts right, with Wilson's 95% interval: Winoground's group score (Thrush et
        al. 2022, arXiv 2204.03162). 0 for a model that ignores the prompt.
        """
        both = (self._margin(by) > 0).view(-1, 2).all(1)
        return stats.wilson(int(both.sum()), len(both))

    def mean_margin(self, by: str = "sum") -> stats.Interval:
        """The mean margin in nats (or nats per byte), with a 95% bootstrap interval that draws whole pairs.

        The base rate of an ending adds to one twin what it takes from the other, so the mean is the effect of the
        prompt, and 0 for a model that ignores it.
        """
        return stats.bootstrap(self._margin(by).double().numpy(), clusters=self.pair.numpy())

    def _margin(self, by: str) -> Tensor:
        if by not in SCORINGS:
            raise InputError(f"endings are scored by {' or '.join(SCORINGS)}; got {by!r}.")
        margin: Tensor = getattr(self, SCORINGS[by])
        return margin

    def summary(self) -> "pd.DataFrame":
        import pandas as pd

        rows = [
            (f"{what}, by {by}", found.estimate, found.low, found.high, chance)
            for by in SCORINGS
            for what, found, chance in (
                ("prompts right", self.right(by), 0.5),
                ("both twins right", self.twins_right(by), 0.0),
                ("mean margin (nats)", self.mean_margin(by), 0.0),
            )
        ]
        frame = pd.DataFrame(rows, columns=["score", "value", "low", "high", "without_reading"])
        frame.insert(0, "model", self.model)
        return frame

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per prompt, with its text and its best endings; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        frame["pair"] = [self.pairs[i] for i in self.pair]
        for name in ("best_accepted", "best_rejected"):
            frame[name] = [self.endings[i] for i in getattr(self, name)]
        frame.insert(0, "model", self.model)
        frame.insert(2, "text", self.prompts)
        return frame.assign(right=(self.margin > 0).numpy(), right_per_byte=(self.margin_per_byte > 0).numpy())

    def figure(self) -> "Figure":
        """The margins of each pair's two prompts; right of the dotted line is right, and the bar is the pair's mean."""
        from tslens import plots

        share, n = self.right(), len(self.prompts)
        groups = {about: self.margin[self.pair == i].numpy() for i, about in enumerate(self.pairs)}
        return plots.strip(
            groups,
            title=f"{self.model} on {self.suite}: {share.estimate:.0%} of {n} prompts right "
            f"[{share.low:.0%}, {share.high:.0%}]",
            x_label="log-probability, best accepted less best rejected ending (nats)",
            threshold=0.0,
        )

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"table": json.loads(self.to_frame().to_json(orient="records"))}


def evaluate(
    model: "LanguageModel", suite: Suite, *, precision: str = "float32", batch_tokens: int = 1024
) -> EvaluateResult:
    """The log-probability of every ending given its prompt, and the best accepted and rejected ones.

    Prompts are read as the beginning of a story, BOS first. InputError for a prompt longer than the context.
    """
    asked = [(i, text, yes) for i, p in enumerate(suite.prompts) for text, yes in _endings(p)]
    owner, endings, accepted = map(list, zip(*asked, strict=True))
    rows = [
        _row(tokenizer_of(model), suite.prompts[i].text, text, spec_of(model, compressors=True).n_ctx)
        for i, text, _ in asked
    ]
    log_probability = _log_probabilities(model, rows, precision, batch_tokens)
    sizes = torch.tensor([len(f" {text}".encode()) for text in endings])
    of, good = torch.tensor(owner), torch.tensor(accepted)

    def best(values: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        table = torch.where((of == torch.arange(len(suite.prompts))[:, None]) & wanted, values, -torch.inf)
        return table.max(1)

    (yes, yes_at), (no, no_at) = best(log_probability, good), best(log_probability, ~good)
    per_byte = log_probability / sizes
    pairs = list(dict.fromkeys(p.pair for p in suite.prompts))
    return EvaluateResult(
        model=name_of(model),
        suite=suite.name,
        question=suite.question,
        prompts=[p.text for p in suite.prompts],
        pairs=pairs,
        endings=endings,
        pair=torch.tensor([pairs.index(p.pair) for p in suite.prompts]),
        margin=yes - no,
        margin_per_byte=best(per_byte, good)[0] - best(per_byte, ~good)[0],
        best_accepted=yes_at,
        best_rejected=no_at,
        prompt=of,
        accepted=good,
        log_probability=log_probability,
        text_bytes=sizes,
    )


def _endings(prompt: Prompt) -> list[tuple[str, bool]]:
    return [(text, True) for text in prompt.accepted] + [(text, False) for text in prompt.rejected]


def _row(tokenizer: "TextTokenizer", prompt: str, ending: str, context: int) -> tuple[list[int], int]:
    """The tokens of prompt and ending as one text, and the index of the ending's first token.

    Both are tokenized as one text, as in training; the ending begins at the first token that differs from those of the
    prompt alone.
    """
    alone, whole = tokenizer.encode([prompt, f"{prompt} {ending}"])
    if len(whole) - 1 > context:
        raise InputError(f"prompt {prompt[:40]!r}... takes {len(whole)} tokens, the context is {context}. Shorten it.")
    start = next((i for i, (a, b) in enumerate(zip(alone, whole, strict=False)) if a != b), len(alone))
    return whole, start


def _log_probabilities(
    model: "LanguageModel", rows: list[tuple[list[int], int]], precision: str, batch_tokens: int
) -> Float[Tensor, " ending"]:
    """Summed log-probability of each row's tokens from its start on, in nats; rows are batched by length."""
    dtype, device = forward.resolve_dtype(precision, model), next(model.parameters()).device
    found = torch.zeros(len(rows))
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    size = max(1, batch_tokens // len(rows[order[-1]][0]))
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    for group in progress.track(groups, "endings"):
        shape = len(group), len(rows[group[-1]][0])
        tokens, wanted = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.bool)
        for place, i in enumerate(group):
            ids, start = rows[i]
            tokens[place, : len(ids)] = torch.tensor(ids)
            wanted[place, start : len(ids)] = True
        losses = forward.token_losses(model, tokens.to(device), dtype=dtype).cpu()
        found[group] = -torch.where(wanted[:, 1:], losses, 0.0).double().sum(1).float()
    return found
