"""Results of direct logit attribution: over one text, and by component over a corpus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.plots.text import in_cell
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POSITIONS, COMPONENTS = 24, 14  # down and across, in a figure of one text
ROWS = 20  # components in a figure of many
NAMED = 5  # components in a headline
FEWEST = 100  # tokens of a part of speech that a figure shows


@dataclass(frozen=True, eq=False)
class AttributionResult(Result):
    """What each component adds directly to a logit at every position of one text.

    The scale of the final norm is held at its value there; its centring and gain are part of the direction that is
    read. So the contributions add up to the logit. What a component does through later ones is not seen. No weight
    is processed, and processing would change only how value biases are divided between heads and `attention biases`.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("component", "pos")
    axis_names: ClassVar[Mapping[str, str]] = {"component": "components"}

    model: str
    """The model's name."""
    text: str
    """The text that was read."""
    tokens: list[str]
    """The tokens as displayed text, BOS first."""
    targets: list[str]
    """The token whose logit it is, at each position; at the last one the model's likeliest, unless one was given."""
    against: str
    """What the logit is taken less: a token, `the mean of all tokens`, or `nothing`."""
    components: list[str]
    """Names of the components (see `components.component_names`)."""
    contribution: Float[Tensor, "component pos"]
    """What each adds to the logit."""
    logit: Float[Tensor, " pos"]
    """The logit, less the reference."""
    remainder: float
    """Largest difference, over positions, between the logit and the sum of contributions: rounding alone."""

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As `Result.to_frame`, plus columns for the token read and the token asked about."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(2, "token", self.tokens * len(self.components))
            frame.insert(3, "target", self.targets * len(self.components))
        return frame

    def headline(self) -> str:
        """The components that add most to the logit at the last position."""
        last = self.contribution[:, -1]
        order = last.abs().argsort(descending=True, stable=True).tolist()[:NAMED]
        most = ", ".join(f"{self.components[i]} {float(last[i]):+.2f}" for i in order)
        less = "" if self.against == "nothing" else f", less {self.against}"
        return f"Most to the logit of {self.targets[-1]!r} after {self.tokens[-1]!r}{less}: {most}."

    def summary(self) -> "pd.DataFrame":
        """One row per component, at the last position, the largest contribution first; then their sum."""
        import pandas as pd

        last = self.contribution[:, -1]
        order = last.abs().argsort(descending=True, stable=True).tolist()
        rows = [(self.components[i], float(last[i])) for i in order] + [("sum", float(self.logit[-1]))]
        frame = pd.DataFrame(rows, columns=["component", "contribution"])
        return frame.assign(after=self.tokens[-1], target=self.targets[-1], against=self.against)

    def figure(self, first: int = 0) -> "Figure":
        """The contributions, positions down and components across: 24 positions from `first` on, and the 14 components
        with the largest ones, from first to last."""
        from tslens import plots

        if not 0 <= first < len(self.tokens):
            raise InputError(f"There is no position {first}: they run from 0 to {len(self.tokens) - 1}.")
        shown = self.contribution[:, first : first + POSITIONS]
        kept = sorted(shown.abs().max(1).values.argsort(descending=True)[:COMPONENTS].tolist())
        shown = shown[torch.tensor(kept)].T
        asked = list(zip(self.tokens, self.targets, strict=True))[first : first + POSITIONS]
        return plots.heatmap(
            shown,
            [f"{in_cell(token)} → {in_cell(target)}" for token, target in asked],
            [self.components[i] for i in kept],
            title=f"{self.model}: direct contributions to the logit of the next token",
            row_label="token read → token asked about",
            colour_label=f"logit, less {self.against}",
            centre=0.0,
            texts=_written(shown),
        )


@dataclass(frozen=True, eq=False)
class ByComponentResult(Result):
    """What each component adds directly to the logit of the true next token, less the mean logit of all tokens, over a
    corpus and by part of speech of that token. Intervals are 95%, over whole stories.

    `null` is the same for another token of the same story: the true next token half a story away. What a component adds
    to the words of a story wherever it stands is in both; `specific`, the difference, is what it knows of the place.
    The scale of the final norm is held; no weight is processed (see `AttributionResult`).
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("component",)
    axis_names: ClassVar[Mapping[str, str]] = {"component": "components", "tag": "tags"}

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    tokens: int
    """Tokens that were predicted."""
    components: list[str]
    """Names of the components (see `components.component_names`)."""
    tags: list[str]
    """Universal parts of speech; X is no word: a line break."""
    contribution: Float[Tensor, " component"]
    """Mean addition to the logit of the true next token."""
    contribution_low: Float[Tensor, " component"]
    """Lower end of its interval; so with the others."""
    contribution_high: Float[Tensor, " component"]
    """Upper end."""
    null: Float[Tensor, " component"]
    """Mean addition to the logit of the true next token half a story away."""
    null_low: Float[Tensor, " component"]
    null_high: Float[Tensor, " component"]
    specific: Float[Tensor, " component"]
    """Mean of the difference, position by position: a paired difference."""
    specific_low: Float[Tensor, " component"]
    specific_high: Float[Tensor, " component"]
    tag_tokens: Int[Tensor, " tag"]
    """Predicted tokens of each part of speech."""
    tag_contribution: Float[Tensor, "component tag"]
    """As `contribution`, over true next tokens of one part of speech; so with the others."""
    tag_contribution_low: Float[Tensor, "component tag"]
    tag_contribution_high: Float[Tensor, "component tag"]
    tag_null: Float[Tensor, "component tag"]
    tag_null_low: Float[Tensor, "component tag"]
    tag_null_high: Float[Tensor, "component tag"]
    tag_specific: Float[Tensor, "component tag"]
    tag_specific_low: Float[Tensor, "component tag"]
    tag_specific_high: Float[Tensor, "component tag"]
    logit: float
    """Mean logit of the true next token, less the mean of all tokens: the sum of the contributions."""
    remainder: float
    """Largest difference, over positions, between a logit and the sum of its contributions: rounding alone."""

    def headline(self) -> str:
        """The components that surely add most to the true next token, beyond the null."""
        sure = (self.specific_low > 0) | (self.specific_high < 0)
        order = self.specific.abs().masked_fill(~sure, 0).argsort(descending=True)[:NAMED].tolist()
        most = ", ".join(f"{self.components[i]} {float(self.specific[i]):+.2f}" for i in order if sure[i])
        return f"Most to the logit of the true next token, beyond the null: {most or 'none'}."

    def summary(self) -> "pd.DataFrame":
        """One row per component, the largest specific contribution first."""
        frame = self.to_frame()
        order = frame["specific"].abs().sort_values(ascending=False, kind="stable").index
        return frame.loc[order, [c for c in frame if not c.startswith("null_")]].reset_index(drop=True)

    def write_tables(self, folder: Any) -> None:
        """Write `by-tag.csv`: one row per component and part of speech."""
        fields = [f"tag_{name}{end}" for name in ("contribution", "null", "specific") for end in ("", "_low", "_high")]
        columns = {field.removeprefix("tag_"): self.to_frame(field)[field] for field in fields}
        frame = self.to_frame("tag_null")[["component", "tag"]].assign(**columns)
        frame.dropna(subset=["contribution"]).to_csv(folder / "by-tag.csv", index=False)

    def figure(self) -> "Figure":
        """The 20 largest contributions, the largest on top, with their intervals; the mark is the null."""
        from tslens import plots

        order = self.contribution.abs().argsort(descending=True, stable=True)[:ROWS]
        return plots.bars(
            [self.components[i] for i in order.tolist()],
            self.contribution[order],
            low=self.contribution_low[order],
            high=self.contribution_high[order],
            baseline=self.null[order],
            title=f"{self.model}: direct contribution to the true next token",
            x_label="logit, less the mean of all tokens (mark: a token half a story away)",
        )

    def tag_figure(self) -> "Figure":
        """Specific contributions of the 20 components with the largest ones, by part of speech of the true next token,
        the commonest first."""
        from tslens import plots

        tags = [i for i in self.tag_tokens.argsort(descending=True).tolist() if self.tag_tokens[i] >= FEWEST]
        tags = tags or [int(self.tag_tokens.argmax())]
        values = self.tag_specific[:, torch.tensor(tags)]
        kept = sorted(values.nan_to_num().abs().max(1).values.argsort(descending=True)[:ROWS].tolist())
        values = values[torch.tensor(kept)]
        return plots.heatmap(
            values,
            [self.components[i] for i in kept],
            [self.tags[i] for i in tags],
            title=f"{self.model}: specific contributions by part of speech",
            column_label="true next token",
            colour_label="logit, less its null",
            centre=0.0,
            texts=_written(values),
        )

    def figures(self) -> Iterator[tuple[str, "Figure"]]:
        """Every figure with a name for its file."""
        yield "all", self.figure()
        yield "by-tag", self.tag_figure()


def _written(values: Tensor) -> list[list[str]]:
    """Each value to a tenth, without a sign before zero."""
    return [[f"{value:.1f}".replace("-0.0", "0.0") for value in row] for row in values.tolist()]
