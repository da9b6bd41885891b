"""Results of patching: the effect of every place by the role of the token, exact and to first order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHOWN = 24  # rows of the printed table, and of the figure
LEAST = 0.05
"""Share of the difference. A head or MLP has an effect if its interval lies beyond it on either side."""
NODES = {"head": "heads with an effect", "MLP": "MLPs with an effect"}
"""What is counted, and its label."""


@dataclass(frozen=True, eq=False)
class PatchingResult(CountedResult):
    """How much of the answer each place decides, by the role of the token: 0 is the corrupt run, 1 the clean one.

    Intervals are 95%, over templates (`clusters`). A residual stream carries everything before it; attention outputs,
    MLPs and heads are single contributions, which need not add up to 1.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("place", "role")
    axis_names: ClassVar[dict[str, str | tuple[str, ...]]] = {"place": "places", "role": "roles"}

    model: str
    """The model's name."""
    task: str
    pairs: int
    """Number of pairs."""
    margin_clean: float
    """Logit of the right answer minus that of the wrong one, the mean over clean prompts."""
    margin_corrupt: float
    """The same after the corrupt prompts, where the answers change places: negative if the model does the task."""
    places: list[str]
    roles: list[str]
    """Roles of tokens (`stories.pairs.encoded.ROLES`), and `all` of them together."""
    effect: Float[Tensor, "place role"]
    """Change of the margin when the clean value is put into the corrupt run, as a share of the whole difference."""
    low: Float[Tensor, "place role"]
    """Lower end of its interval."""
    high: Float[Tensor, "place role"]
    """Upper end of it."""
    attribution: Float[Tensor, "place role"]
    """The same to first order (attribution patching: difference times gradient)."""
    attribution_low: Float[Tensor, "place role"]
    """Lower end of its interval."""
    attribution_high: Float[Tensor, "place role"]
    """Upper end of it."""
    agreement: list[dict[str, Any]]
    """How well the first order agrees, by kind of place: correlations with intervals, and the share of the top."""
    of_halves: list[dict[str, int]] = field(default_factory=list, kw_only=True)
    """The counts on halves of the pairs, each half followed by its complement (see `tslens.halves`); empty where these
    are too few."""

    def counts(self) -> dict[str, int]:
        """The number of heads and of MLPs with an effect, over all tokens of their role together."""
        return having(self.places, self.low[:, -1], self.high[:, -1])

    def headline(self) -> str:
        """Which place decides most."""
        table = self.summary()
        if table.empty:
            return f"No head and no MLP of {self.model} was patched."
        place, role, effect, low, high = table.loc[0, ["place", "role", "effect", "low", "high"]]
        return (
            f"{place} at the {role} decides most: it restores {effect:.2f} of the difference ({low:.2f} to {high:.2f})."
        )

    def summary(self) -> "pd.DataFrame":
        """The strongest heads, MLPs and attention outputs by role; the residual stream is in `to_frame`."""
        frame = self.to_frame()
        rows = frame[~frame["place"].str.startswith("residual") & (frame["role"] != "all")]
        strongest = rows["effect"].abs().sort_values(ascending=False, kind="stable").index[:SHOWN]
        return rows.loc[strongest, ["place", "role", "effect", "low", "high", "attribution"]].reset_index(drop=True)

    def figure(self) -> "Figure":
        """Heat map of the effects: the residual stream, and the places with the strongest effect."""
        from tslens import plots

        strength = self.effect.abs().amax(1)
        kept = [i for i, name in enumerate(self.places) if name.startswith("residual")]
        rest = [i for i in strength.argsort(descending=True).tolist() if i not in kept]
        kept += sorted(rest[: max(0, SHOWN - len(kept))])
        return plots.heatmap(
            self.effect[kept],
            [self.places[i] for i in kept],
            self.roles,
            title=f"{self.model}, {self.task}: clean into corrupt",
            column_label="role of the token",
            colour_label="share of the difference restored",
            centre=0.0,
            texts=[[f"{value:.2f}".replace("-0.00", "0.00") for value in row] for row in self.effect[kept].tolist()],
        )


def having(places: Sequence[str], low: Float[Tensor, " place"], high: Float[Tensor, " place"]) -> dict[str, int]:
    """How many heads and how many MLPs of these places have an effect, whose intervals lie beyond `LEAST` on either
    side. Places are not corrected for their number: untrained networks say how many have one by chance."""
    beyond = ((low > LEAST) | (high < -LEAST)).tolist()
    found = [place for place, one in zip(places, beyond, strict=True) if one]
    return {label: sum(place.startswith(kind) for place in found) for kind, label in NODES.items()}
