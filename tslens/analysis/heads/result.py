"""Results about heads: the role of each with its evidence, and attention over one story."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROLES = (
    "previous token",
    "positional",
    "BOS sink",
    "self",
    "duplicate token",
    "induction",
    "semantic",
    "diffuse",
    "unresolved",
)
"""What a head may be called. `role_code` counts along this list."""

CLASSES = ("BOS sink", "self", "previous token", "duplicate token", "induction")
"""Roles that say which keys are looked at: each is a class of keys, measured for every head."""

COLOURED = ("previous token", "positional", "semantic", "induction", "BOS sink", "duplicate token", "diffuse", "self")
"""The roles in the order of the palette, whose seventh colour is grey."""

SUMMARY = (
    *("effect", "effect_low", "effect_high", "q", "positional_fraction", "entropy_share", "mean_distance"),
    *("on_bos", "previous", "duplicate_lift", "induction_lift", "induction_random"),
)
"""The measures in the printed table; all of them are in `to_frame()`."""


@dataclass(frozen=True, eq=False)
class RolesResult(Result):
    """The role of every head with its evidence, and the measures that it is derived from.

    Averages are over queries that have at least two keys besides BOS; stories are weighted by their length.
    Intervals are 95%, from the delete-a-group jackknife over groups of whole stories.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"claim": CLASSES}

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    queries: int
    """Query positions that the averages are over."""
    groups: int
    """Groups of stories behind the intervals."""

    role_code: Int[Tensor, "layer head"]
    """The role, as its place in `ROLES`."""
    effect: Float[Tensor, "layer head"]
    """How strongly the role holds, 0 to 1: the share of the KL divergence from uniform attention that it explains; for
    `diffuse` the entropy over that of uniform attention."""
    effect_low: Float[Tensor, "layer head"]
    """Lower end of the effect's interval."""
    effect_high: Float[Tensor, "layer head"]
    """Upper end of the effect's interval."""
    q: Float[Tensor, "layer head"]
    """False discovery rate at which the role beats its null, over all heads and roles tried (Benjamini-Hochberg)."""

    positional_fraction: Float[Tensor, "layer head"]
    """Share of the KL divergence from uniform attention that depends on position alone, not on the story; at most 1."""
    positional_low: Float[Tensor, "layer head"]
    """Lower end of its interval."""
    positional_high: Float[Tensor, "layer head"]
    """Upper end of its interval, which also allows for the noise of a mean over few stories."""
    r_full: Float[Tensor, "layer head"]
    """Pearson correlation of attention weight and token distance over the full square, as in the replication of
    TinyStories (November 2024) whose sizes the recipes take."""
    r_causal: Float[Tensor, "layer head"]
    """The same over the causal half; attention that decays with distance gives a negative one."""
    published_positional: Bool[Tensor, "layer head"]
    """The replication's rule: positional where `r_full` is above 0.5, else semantic."""
    causal_positional: Bool[Tensor, "layer head"]
    """The same rule over the causal half, for either sign: `|r_causal|` above 0.5."""

    kl_from_uniform: Float[Tensor, "layer head"]
    """Mean KL divergence of the attention from uniform over the causal prefix, nats."""
    entropy: Float[Tensor, "layer head"]
    """Mean entropy of the attention, nats."""
    entropy_share: Float[Tensor, "layer head"]
    """The entropy over that of uniform attention: 1 is uniform, 0 is one key."""
    mean_distance: Float[Tensor, "layer head"]
    """Mean distance from query to key, tokens."""

    on_bos: Float[Tensor, "layer head"]
    """Attention mass on BOS."""
    on_self: Float[Tensor, "layer head"]
    """Attention mass on the query's own token."""
    previous: Float[Tensor, "layer head"]
    """Mass on the token before, on natural stories."""
    duplicate: Float[Tensor, "layer head"]
    """Mass on earlier tokens equal to the query's, on natural stories, over queries that have one."""
    induction: Float[Tensor, "layer head"]
    """Mass on tokens that follow an earlier token equal to the query's, on natural stories, where there is one."""
    previous_lift: Float[Tensor, "layer head"]
    """`previous` divided by the mass under uniform attention."""
    duplicate_lift: Float[Tensor, "layer head"]
    """`duplicate` divided by the mass under uniform attention."""
    induction_lift: Float[Tensor, "layer head"]
    """`induction` divided by the mass under uniform attention."""
    previous_random: Float[Tensor, "layer head"]
    """Mass on the token before, on random tokens."""
    duplicate_random: Float[Tensor, "layer head"]
    """Mass on the token's first occurrence, where random tokens are repeated."""
    induction_random: Float[Tensor, "layer head"]
    """Mass on the token after the first occurrence, where random tokens are repeated."""

    offset_mass: Float[Tensor, "layer head offset"]
    """Mean attention to the key `offset` tokens back, BOS excluded, over queries that have such a key."""
    claim_effect: Float[Tensor, "claim layer head"]
    """For each of `CLASSES`, the share of the KL divergence from uniform attention that these keys alone explain."""
    claim_low: Float[Tensor, "claim layer head"]
    """Lower end of its interval."""
    claim_high: Float[Tensor, "claim layer head"]
    """Upper end of its interval."""
    claim_q: Float[Tensor, "claim layer head"]
    """False discovery rate at which the claim beats its null."""

    @property
    def roles(self) -> list[list[str]]:
        """The role of each head, by layer and head."""
        return [[ROLES[code] for code in row] for row in self.role_code.tolist()]

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As `Result.to_frame`, with the role in words as the column `role`."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(2, "role", [role for row in self.roles for role in row])
            del frame["role_code"]
        return frame

    def summary(self) -> "pd.DataFrame":
        """The role of every head, its evidence, and the main measures."""
        return self.to_frame()[["layer", "head", "role", *SUMMARY]]

    def to_json(self) -> dict[str, Any]:
        """Every measure of every head."""
        return super().to_json() | {"rows": json.loads(self.to_frame().to_json(orient="records", double_precision=15))}

    def figure(self) -> "Figure":
        """The map of all heads: the role as colour, the share of the attention it explains as shade and per cent."""
        from tslens import plots

        return plots.tiles(
            self.roles,
            strengths=self.effect,
            order=COLOURED,
            title=f"Heads of {self.model} over {self.stories:,} stories: role, and its effect in %",
            row_label="layer",
            column_label="head",
        )

    def offsets(self, layer: int, head: int) -> "Figure":
        """Mean attention of one head by distance, BOS excluded."""
        from tslens import plots

        _check_head(self.role_code, layer, head)
        return plots.lines(
            {f"layer {layer}, head {head}": self.offset_mass[layer, head]},
            title=f"Layer {layer}, head {head}: {self.roles[layer][head]}",
            x_label="tokens back",
            y_label="attention weight",
        )


@dataclass(frozen=True, eq=False)
class PatternResult(Result):
    """The attention of every head over one text."""

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head", "query", "key")

    model: str
    """The model's name."""
    text: str
    """The text that was read."""
    tokens: list[str]
    """The tokens as displayed text, BOS first: the names of both `query` and `key`."""
    pattern: Float[Tensor, "layer head query key"]
    """Attention weights; they sum to 1 for each query and are 0 on keys after it."""

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per layer, head, query and key that the query may attend to."""
        frame = super().to_frame(field)
        return frame[frame["key"] <= frame["query"]].reset_index(drop=True)

    def summary(self) -> "pd.DataFrame":
        """For every head, the query and key of its strongest attention to a token that is not BOS."""
        import pandas as pd

        layers, heads, n, _ = self.pattern.shape
        place = self.pattern[..., 1:].flatten(2).argmax(-1)
        rows = []
        for layer in range(layers):
            for head in range(heads):
                query, key = divmod(int(place[layer, head]), n - 1)
                weight = float(self.pattern[layer, head, query, key + 1])
                on_bos = float(self.pattern[layer, head, :, 0].mean())
                rows.append((layer, head, self.tokens[query], self.tokens[key + 1], weight, on_bos))
        return pd.DataFrame(rows, columns=["layer", "head", "query", "key", "weight", "on_bos"])

    def figure(self, layer: int = 0, head: int = 0) -> "Figure":
        """The heat map of one head: queries down, keys across."""
        from tslens import plots

        _check_head(self.pattern, layer, head)
        weights = self.pattern[layer, head].clone()
        weights[~weights.new_ones(weights.shape).tril().bool()] = float("nan")
        few = len(self.tokens) <= 48
        return plots.heatmap(
            weights,
            self.tokens if few else None,
            self.tokens if few else None,
            title=f"Layer {layer}, head {head}",
            row_label="query",
            column_label="key",
            colour_label="attention weight",
            limits=(0.0, 1.0),
        )

    def figures(self) -> "Iterator[tuple[str, Figure]]":
        """The heat map of every head, each under its name, `LAYER.HEAD`."""
        layers, heads = self.pattern.shape[:2]
        return ((f"{layer}.{head}", self.figure(layer, head)) for layer in range(layers) for head in range(heads))


def _check_head(of: Tensor, layer: int, head: int) -> None:
    layers, heads = of.shape[:2]
    if not (0 <= layer < layers and 0 <= head < heads):
        raise InputError(
            f"There is no layer {layer}, head {head}: layers run from 0 to {layers - 1}, heads from 0 to {heads - 1}."
        )
