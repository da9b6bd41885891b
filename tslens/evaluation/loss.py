"""A model's loss on stories: nats per token, and bits per byte of the original text."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, scan, stats
from tslens.backends import is_text, unknown_id
from tslens.models import name_of, spec_of, story_tokenizer_of
from tslens.progress import bar
from tslens.result import Result, read_on

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel
    from tslens.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class LossResult(Result):
    """The loss of a model on stories. Predictions are every token after BOS, and the end of the story where the context
    reaches it; padding never counts."""

    frame_axes = ("story",)

    nats: Float[Tensor, " story"]
    """Summed cross-entropy of each story, in nats."""
    tokens: Int[Tensor, " story"]
    """Number of predictions of each story."""
    text_bytes: Int[Tensor, " story"]
    """UTF-8 bytes of the text that was predicted."""
    cut: int
    """Stories that were longer than the context, of which only the beginning was read."""
    model: str
    """The model's name."""
    unknown: int = field(default=0, kw_only=True)
    """Predictions of the tokenizer's unknown token, which stands for text that its vocabulary lacks."""

    @property
    def nats_per_token(self) -> float:
        """Mean cross-entropy over all predictions."""
        return float(self.nats.sum() / self.tokens.sum())

    @property
    def bits_per_byte(self) -> float:
        """Total cross-entropy in bits over the UTF-8 bytes predicted: comparable between tokenizers."""
        return float(self.nats.sum() / self.text_bytes.sum()) / math.log(2)

    @property
    def measured(self) -> dict[str, float]:
        """The numbers that a training run records, by their names in the record."""
        return {"validation_loss": self.nats_per_token, "bits_per_byte": self.bits_per_byte}

    def interval(self, per: str = "tokens") -> tuple[float, float]:
        """95% interval of nats per token (`tokens`) or bits per byte (`text_bytes`), clustered by story: the
        linearised standard error of a ratio of sums (Miller 2024, arXiv 2411.00640, section 3), never below 0; NaN for
        one story."""
        found = stats.ratio_of_sums(self.nats.double().numpy(), getattr(self, per).double().numpy()).within(0, math.inf)
        unit = math.log(2) if per == "text_bytes" else 1.0
        return found.low / unit, found.high / unit

    def headline(self) -> str:
        """Nats per token with their interval, bits per byte, and how many tokens are unknown, if any."""
        low, high = self.interval()
        interval = f"{low:.3f} to {high:.3f}" if math.isfinite(low) else "one story has no interval"
        said = f"{self.nats_per_token:.3f} nats per token ({interval}), {self.bits_per_byte:.3f} bits per byte."
        return f"{said} {self.said_of_unknown()}".rstrip()

    def said_of_unknown(self) -> str:
        """What unknown tokens mean for bits per byte, in a sentence; empty where there are none."""
        if not self.unknown:
            return ""
        share = 100 * self.unknown / int(self.tokens.sum())
        unknown = f"{share:.3g}% of the tokens are unknown to the tokenizer"
        return f"{unknown}, so that bits per byte are not those of the text."

    def summary(self) -> "pd.DataFrame":
        import pandas as pd

        rows = [
            ("nats per token", self.nats_per_token, *self.interval("tokens")),
            ("bits per byte", self.bits_per_byte, *self.interval("text_bytes")),
        ]
        frame = pd.DataFrame(rows, columns=["loss", "value", "low", "high"])
        frame.insert(0, "model", self.model)
        return frame.assign(stories=len(self.nats), tokens=int(self.tokens.sum()), cut=self.cut)

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per story; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(0, "model", self.model)
        return frame

    def figure(self) -> "Figure":
        """Histogram of the stories' losses in nats per token."""
        from tslens.plots import histogram

        of_stories = np.asarray(self.nats / self.tokens)
        return histogram(of_stories, mark=self.nats_per_token, x_label="nats per token", y_label="stories")

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"nats_per_token": self.nats_per_token, "bits_per_byte": self.bits_per_byte}


def loss(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    precision: str = "float32",
    context: int | None = None,
    batch_tokens: int = 8192,
) -> LossResult:
    """The loss on stories, one story a row, each read up to the model's context. InputError for no stories."""
    spec, tokenizer = spec_of(model, compressors=True), story_tokenizer_of(model)
    context = min(context or spec.n_ctx, spec.n_ctx)
    dtype, device = forward.resolve_dtype(precision, model), next(model.parameters()).device
    kept: dict[int, tuple[float, int, int, bool, int]] = {}
    # The unknown token, and whether what ends a story may also be within it.
    lacking, textual = unknown_id(tokenizer.backend), is_text(tokenizer.backend, tokenizer.eos_text)
    # One place more than the context: the row's last token is predicted and never fed.
    read = scan.batches(stories, tokenizer, context=context + 1, batch_tokens=batch_tokens, end=True)
    with bar("loss", stories) as shown:
        for batch in read:
            losses = forward.token_losses(model, batch.tokens.to(device), dtype=dtype, ends=tokenizer.ends).cpu()
            mask = batch.mask[:, 1:]
            lengths = mask.sum(1)
            sums = torch.where(mask, losses, 0.0).double().sum(1)
            unknown = (mask & (batch.tokens[:, 1:] == (-1 if lacking is None else lacking))).sum(1)
            last = batch.tokens.gather(1, lengths[:, None]).squeeze(1)
            for row, story in enumerate(batch.indices.tolist()):
                whole = int(last[row]) == tokenizer.eos and (
                    not textual or len(tokenizer.encode([batch.texts[row]], bos=False)[0]) < int(lengths[row])
                )
                size = _bytes(tokenizer, batch.texts[row], None if whole else int(lengths[row]))
                of_text = int(unknown[row]) - (whole and tokenizer.eos == lacking)
                kept[story] = (float(sums[row]), int(lengths[row]), size, not whole, of_text)
            shown.advance(len(batch.texts))
    nats, tokens, sizes, cut, lacked = zip(*(kept[i] for i in sorted(kept)), strict=True)
    numbers = torch.tensor(nats), torch.tensor(tokens), torch.tensor(sizes)
    result = LossResult(*numbers, sum(cut), name_of(model), unknown=sum(lacked))
    return cast(LossResult, read_on(result, stories))


def _bytes(tokenizer: "Tokenizer", text: str, tokens: int | None) -> int:
    """UTF-8 bytes of the text, or of its first `tokens` tokens."""
    if tokens is None:
        return len(text.encode())
    spans = tokenizer.offsets(text, bos=False)[:tokens]
    return len(text[: spans[-1][1]].encode())
