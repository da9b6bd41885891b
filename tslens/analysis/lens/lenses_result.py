"""The result of several lenses on the same tokens, by depth and by part of speech."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.analysis.lens.result import PER, settled
from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOGIT_LENS, TUNED_LENS = "logit lens", "tuned lens"
FEWEST = 100  # tokens of a part of speech that a figure shows


@dataclass(frozen=True, eq=False)
class LensesResult(CountedResult):
    """Logit lens and tuned lens on the same tokens, by depth, and by part of speech of the token that is predicted.

    Intervals are 95%, over whole stories. None of the stories is one that the tuned lens was fitted on. Weights are as
    trained: no norm is folded in, nothing is centred; folding and centring would change none of these numbers.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("lens", "depth")
    axis_names: ClassVar[Mapping[str, str]] = {"lens": "lenses", "depth": "depths", "tag": "tags"}

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    tokens: int
    """Tokens that were predicted."""
    null_kl: float
    """KL divergence of the model's predictions from their own mean: of the best prediction that ignores the context."""
    null_agreement: float
    """Share of positions where the token that is most often the model's likeliest is so: the best fixed guess."""
    lenses: list[str]
    """Names of the lenses."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    tags: list[str]
    """Universal parts of speech; X is no word: a line break."""
    fitted_on: str
    """The stories that the tuned lens was fitted on."""
    translators: list[str]
    """What the tuned lens is at each depth: `closed form`, `fine-tuned` or `identity`."""
    loss: Float[Tensor, "lens depth"]
    """Cross-entropy of the next token, nats per token."""
    loss_low: Float[Tensor, "lens depth"]
    """Lower end of its interval; so with the others."""
    loss_high: Float[Tensor, "lens depth"]
    """Upper end."""
    kl: Float[Tensor, "lens depth"]
    """KL divergence of the final distribution from this one, nats per token."""
    kl_low: Float[Tensor, "lens depth"]
    kl_high: Float[Tensor, "lens depth"]
    agreement: Float[Tensor, "lens depth"]
    """Share of positions with the same likeliest token as the model itself."""
    agreement_low: Float[Tensor, "lens depth"]
    agreement_high: Float[Tensor, "lens depth"]
    gain: Float[Tensor, "lens depth"]
    """KL divergence of the first lens less this one's, token by token: a paired difference."""
    gain_low: Float[Tensor, "lens depth"]
    gain_high: Float[Tensor, "lens depth"]
    tag_tokens: Int[Tensor, " tag"]
    """Predicted tokens of each part of speech."""
    tag_loss: Float[Tensor, "lens depth tag"]
    """As `loss`, over tokens of one part of speech; so with the others."""
    tag_loss_low: Float[Tensor, "lens depth tag"]
    tag_loss_high: Float[Tensor, "lens depth tag"]
    tag_kl: Float[Tensor, "lens depth tag"]
    tag_kl_low: Float[Tensor, "lens depth tag"]
    tag_kl_high: Float[Tensor, "lens depth tag"]
    tag_agreement: Float[Tensor, "lens depth tag"]
    tag_agreement_low: Float[Tensor, "lens depth tag"]
    tag_agreement_high: Float[Tensor, "lens depth tag"]
    tag_gain: Float[Tensor, "lens depth tag"]
    tag_gain_low: Float[Tensor, "lens depth tag"]
    tag_gain_high: Float[Tensor, "lens depth tag"]

    def summary(self) -> "pd.DataFrame":
        """One row per depth, the lenses side by side."""
        import pandas as pd

        columns: dict[str, Any] = {"depth": self.depths}
        for name, field in (("KL", "kl"), ("agreement", "agreement"), ("loss", "loss")):
            for i, lens in enumerate(self.lenses):
                columns[f"{name}, {lens}"] = getattr(self, field)[i].tolist()
        for end in ("gain", "gain_low", "gain_high"):
            columns[end] = getattr(self, end)[-1].tolist()
        return pd.DataFrame(columns)

    def by_tag(self) -> "pd.DataFrame":
        """One row per part of speech, depth and lens, the commonest first, with the number of tokens."""
        import pandas as pd

        fields = [f"tag_{name}{end}" for name in ("kl", "agreement", "loss") for end in ("", "_low", "_high")]
        columns = {field.removeprefix("tag_"): self.to_frame(field)[field] for field in fields}
        frame = self.to_frame("tag_kl")[["tag", "depth", "lens"]].assign(**columns)
        frame.insert(1, "tokens", self.to_frame("tag_tokens").set_index("tag")["tag_tokens"].loc[frame["tag"]].values)
        frame = frame[frame["tokens"] > 0]
        return pd.DataFrame(frame.sort_values(["tokens", "tag"], ascending=[False, True], kind="stable"))

    def write_tables(self, folder: Any) -> None:
        """Write `by-tag.csv` (see `by_tag`)."""
        self.by_tag().to_csv(folder / "by-tag.csv", index=False)

    def counts(self) -> dict[str, int]:
        """Of 1,000 positions, how many each lens settles at each depth before the last: with the model's own likeliest
        token."""
        return {
            settled(depth, lens): round(PER * share)
            for lens, shares in zip(self.lenses, self.agreement.tolist(), strict=True)
            for depth, share in zip(self.depths[:-1], shares[:-1], strict=True)
        }

    def headline(self) -> str:
        """How far each lens is from the final prediction."""
        each = ", ".join(f"{lens} {float(kl.mean()):.2f}" for lens, kl in zip(self.lenses, self.kl, strict=True))
        return f"KL to the final prediction in nats, mean over depths: {each}."

    def figure(self) -> "Figure":
        """KL, agreement and loss by depth, a line for each lens and one for a prediction that ignores the context.

        Bands are the intervals. Grey lines are the tuned lens of untrained twins, where they were counted. The KL axis
        is logarithmic; at the last depth it is 0.
        """
        from tslens import plots

        rows = [self.of_twins[settled(depth, TUNED_LENS)] for depth in self.depths[:-1]] if self.of_twins else []
        controls = [[count / PER for count in (*twin, PER)] for twin in zip(*rows, strict=True)]
        charts = []
        for field, title, unit, null in (
            ("kl", f"{self.model}: KL of the final from this", "nats per token", self.null_kl),
            ("agreement", "Same likeliest token as the final", "share of positions", self.null_agreement),
            ("loss", "Loss", "nats per token", None),
        ):
            mean, low, high = (getattr(self, f"{field}{end}") for end in ("", "_low", "_high"))
            if field == "kl":  # nothing on a logarithmic axis is 0
                mean, low, high = (part.where(mean > 0, torch.nan) for part in (mean, low, high))
            charts.append(
                {
                    "series": {lens: mean[i] for i, lens in enumerate(self.lenses)}
                    | ({} if null is None else {"no context": torch.full((len(self.depths),), null)}),
                    "bands": {lens: (low[i], high[i]) for i, lens in enumerate(self.lenses)},
                    "title": title,
                    "x_label": "after block",
                    "y_label": unit,
                    "ticks": self.depths,
                    "log_y": field == "kl",
                    "controls": controls if field == "agreement" else (),
                }
            )
        return plots.panels(*charts)

    def tag_figure(self, lens: str) -> "Figure":
        """By part of speech of the predicted token and by depth, the share of positions where a lens already has the
        model's own likeliest token; the commonest part of speech on top."""
        from tslens import plots

        order = [i for i in self.tag_tokens.argsort(descending=True).tolist() if self.tag_tokens[i] >= FEWEST]
        order = order or [int(self.tag_tokens.argmax())]
        share = self.tag_agreement[self.lenses.index(lens)][:-1][:, torch.tensor(order)].T
        return plots.heatmap(
            share,
            [f"{self.tags[i]} ({int(self.tag_tokens[i]):,})" for i in order],
            self.depths[:-1],
            title=f"{lens.capitalize()} of {self.model}: agreement",
            row_label="predicted token (how many)",
            column_label="after block",
            colour_label="share",
            limits=(0.0, 1.0),
            texts=[[f"{value:.0%}" for value in row] for row in share.tolist()],
        )

    def figures(self) -> Iterator[tuple[str, "Figure"]]:
        """Every figure with a name for its file."""
        yield "by-depth", self.figure()
        for lens in self.lenses:
            yield f"by-tag-{lens.replace(' ', '-')}", self.tag_figure(lens)
