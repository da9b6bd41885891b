"""Results of the logit lens: over one prompt, and by depth over a corpus."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.plots.text import in_cell
from tslens.result import CountedResult, Result
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROWS = 24  # positions in a figure
DEPTHS = 6  # in a figure, at most
PER = 1000
"""Positions of which a label says how many are settled."""


def settled(depth: str, lens: str = "") -> str:
    """The label of positions whose likeliest token is the model's own after a depth, as a number of 1,000."""
    place = "before any block" if depth == "embed" else f"after block {depth}"
    return f"of {PER:,} positions settled {place}{f' by the {lens}' if lens else ''}"


@dataclass(frozen=True, eq=False)
class OfPromptResult(Result):
    """The logit lens, or a tuned lens, over one text: the predictions of every depth at every position.

    Weights are as trained; folding norms and centring weights would change none of these numbers.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("depth", "pos")
    axis_names: ClassVar[Mapping[str, str]] = {"depth": "depths"}

    model: str
    """The model's name."""
    text: str
    """The text that was read."""
    tokens: list[str]
    """The tokens as displayed text, BOS first."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    top_tokens: list[list[list[str]]]
    """The likeliest next tokens as text, by depth, position and rank."""
    top_ids: Int[Tensor, "depth pos k"]
    """Their ids."""
    top_probability: Float[Tensor, "depth pos k"]
    """Their probabilities."""
    true_probability: Float[Tensor, "depth pos"]
    """Probability of the true next token; NaN at the last position."""
    true_rank: Int[Tensor, "depth pos"]
    """Rank of the true next token, 1 for the likeliest; 0 at the last position."""
    entropy: Float[Tensor, "depth pos"]
    """Entropy of the next-token distribution, nats."""
    lens: str = "logit lens"
    """Which lens: `logit lens` or `tuned lens`."""

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As `Result.to_frame`, plus columns for the token, the likeliest next token and its probability."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(2, "token", self.tokens * len(self.depths))
            frame.insert(3, "top_token", [best[0] for row in self.top_tokens for best in row])
            frame.insert(4, "top_probability", self.top_probability[..., 0].numpy().ravel())
        return frame

    def summary(self) -> "pd.DataFrame":
        """One row per position: the token, and the likeliest next token after every depth."""
        import pandas as pd

        columns: dict[str, list[Any]] = {"pos": list(range(len(self.tokens))), "token": self.tokens}
        for depth, row in zip(self.depths, self.top_tokens, strict=True):
            columns[depth] = [best[0] for best in row]
        columns["true next"] = [*self.tokens[1:], ""]
        columns["its rank"] = [rank or None for rank in self.true_rank[-1].tolist()]
        columns["its probability"] = self.true_probability[-1].tolist()
        return pd.DataFrame(columns).astype({"its rank": "Int64"})

    def headline(self) -> str:
        """At how many positions the model's likeliest token is the true next one, and what it says after the text."""
        right, last = int((self.true_rank[-1] == 1).sum()), [row[-1][0] for row in self.top_tokens]
        settles = next(i for i in range(len(last)) if set(last[i:]) == {last[-1]})
        where = "the embedding" if settles == 0 else f"block {self.depths[settles]}"
        of, sure = f"{right} of {len(self.tokens) - 1} positions", float(self.top_probability[-1, -1, 0])
        return (
            f"After the last block the true next token is the likeliest at {of}, and '{last[-1]}' follows the text "
            f"(probability {sure:.3f}): by the {self.lens} the likeliest from {where} on."
        )

    def _table(self, rows: int) -> str:
        ends = zip(reversed(self.depths), self.depths, strict=True)  # where a line is short, middle depths are left out
        essential = ["token", "true next", "its rank", "its probability", *(one for pair in ends for one in pair)]
        return as_text(self.summary(), essential, rows=rows)

    def figure(self, first: int = 0) -> "Figure":
        """The likeliest next token after each depth, tokens down and depths across, coloured by its probability.

        Shows as many positions from `first` on as fit in a figure, and of many depths some, the first and the last too:
        it stays legible where it is shown small.
        """
        from tslens import plots

        if not 0 <= first < len(self.tokens):
            raise InputError(f"There is no position {first}: they run from 0 to {len(self.tokens) - 1}.")
        shown, last = slice(first, first + ROWS), len(self.depths) - 1
        depths = sorted({round(i * last / (DEPTHS - 1)) for i in range(DEPTHS)})
        return plots.heatmap(
            self.top_probability[depths, shown, 0].T,
            [in_cell(token) for token in self.tokens[shown]],
            [self.depths[depth] for depth in depths],
            title=f"{self.lens.capitalize()}: the likeliest next token",
            row_label=f"token read by {self.model}",
            column_label="after block",
            colour_label="its probability",
            limits=(0.0, 1.0),
            texts=[
                [in_cell(best[0]) for best in at]
                for at in zip(*(self.top_tokens[depth][shown] for depth in depths), strict=True)
            ],
        )


@dataclass(frozen=True, eq=False)
class ByDepthResult(CountedResult):
    """The logit lens over a corpus, by depth. Intervals are 95%, over whole stories.

    Weights are as trained; folding norms and centring weights would change none of these numbers.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("depth",)
    axis_names: ClassVar[Mapping[str, str]] = {"depth": "depths"}
    essential: ClassVar[tuple[str, ...]] = (
        *("depth", "loss", "loss_low", "loss_high", "agreement", "agreement_low", "agreement_high"),
    )

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    tokens: int
    """Tokens that were predicted."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    loss: Float[Tensor, " depth"]
    """Cross-entropy of the next token, nats per token."""
    loss_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    loss_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    kl: Float[Tensor, " depth"]
    """KL divergence of the final distribution from this depth's, nats per token."""
    kl_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    kl_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    agreement: Float[Tensor, " depth"]
    """Share of positions where this depth and the last one have the same likeliest token."""
    agreement_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    agreement_high: Float[Tensor, " depth"]
    """Upper end of its interval."""

    def counts(self) -> dict[str, int]:
        """Of 1,000 positions, how many each depth before the last settles: with the model's own likeliest token."""
        shares = self.agreement[:-1].tolist()
        return {settled(depth): round(PER * share) for depth, share in zip(self.depths[:-1], shares, strict=True)}

    def headline(self) -> str:
        """From which depth on most positions have their likeliest token."""
        shares = self.agreement_low.tolist()
        first = next((i for i, share in enumerate(shares) if share >= 0.5), len(shares) - 1)
        return f"From depth {self.depths[first]} on the likeliest token is the final one at most positions."

    def figure(self) -> "Figure":
        """Loss and divergence from the last depth, and agreement with it, by depth; bands are the intervals, grey lines
        untrained twins, where they were counted."""
        from tslens import plots

        rows = [self.of_twins[settled(depth)] for depth in self.depths[:-1]] if self.of_twins else []
        controls = [[count / PER for count in (*twin, PER)] for twin in zip(*rows, strict=True)]
        common = {"x_label": "after block", "ticks": self.depths}
        nats = {
            "series": {"loss": self.loss, "KL of the final from this": self.kl},
            "bands": {
                "loss": (self.loss_low, self.loss_high),
                "KL of the final from this": (self.kl_low, self.kl_high),
            },
            "title": f"Logit lens of {self.model}",
            "y_label": "nats per token",
        }
        share = {
            "series": {"agreement": self.agreement},
            "bands": {"agreement": (self.agreement_low, self.agreement_high)},
            "title": "Same likeliest token as the final",
            "y_label": "share of positions",
            "controls": controls,
        }
        return plots.panels(nats | common, share | common)
