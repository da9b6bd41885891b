"""The result about heads: the role of each, with its evidence."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.heads.nearest import Nearest, nearest
from tslens.analysis.heads.pattern import check_head
from tslens.result import CountedResult

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
    "content-dependent",
    "diffuse",
    "unresolved",
)
"""What a head may be called. `role_code` counts along this list."""

UNRESOLVED, UNTESTED = ROLES[-1], "no test"

EVIDENT = ("previous token", "positional", "BOS sink", "self", "duplicate token", "induction")
"""The roles that are counted. `content-dependent` says only that position does not decide, and `diffuse` that there is
next to nothing to explain: an untrained model's heads earn both."""

CLASSES = ("BOS sink", "self", "previous token", "duplicate token", "induction")
"""Roles that say which keys are looked at: each is a class of keys, measured for every head."""

PUBLISHED, GROWING, FADING, MOSTLY = (
    "heads positional by the published rule",
    "heads whose attention grows with distance",
    "heads whose attention fades with distance",
    "heads with a positional fraction above one half",
)
"""Counts by distance and position that are no roles: `published_positional`; `r_causal` above 0.5, and below -0.5;
`positional_low` above 0.5."""

COLOURED = (
    "previous token",
    "positional",
    "content-dependent",
    "induction",
    "BOS sink",
    "duplicate token",
    "diffuse",
    "self",
)
"""The roles in the order of the palette, whose seventh colour is grey."""

SUMMARY = (
    *("effect", "effect_low", "effect_high", "q", "positional_fraction", "entropy_share", "mean_distance"),
    *("on_bos", "previous", "duplicate_lift", "induction_lift", "induction_random"),
)
"""The measures in the printed table; all of them are in `to_frame()`."""


@dataclass(frozen=True, eq=False)
class RolesResult(CountedResult):
    """The role of every head with its evidence, and the measures that it is derived from.

    Averages are over queries that have at least two keys besides BOS; stories are weighted by their length.
    Intervals are 95%, from the delete-a-group jackknife over groups of whole stories.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"claim": CLASSES}
    essential: ClassVar[tuple[str, ...]] = ("layer", "head", "role", "effect", "effect_low", "effect_high", "q")

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
    """Share of the KL divergence from uniform attention that depends on position alone, not on the story; at most 1.
    Free of the bias from few stories, to first order."""
    positional_low: Float[Tensor, "layer head"]
    """Lower end of its interval."""
    positional_high: Float[Tensor, "layer head"]
    """Upper end of its interval."""
    r_full: Float[Tensor, "layer head"]
    """Pearson correlation of attention weight and token distance over the full square, as in the replication of
    TinyStories (November 2024) whose sizes the recipes take."""
    r_causal: Float[Tensor, "layer head"]
    """The same over the causal half; attention that decays with distance gives a negative one."""
    published_positional: Bool[Tensor, "layer head"]
    """The replication's rule: positional where `r_full` is above 0.5, else what it calls semantic."""
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
    described_q: dict[str, list[list[float]]] = field(default_factory=dict, kw_only=True)
    """The same of `nearest.DESCRIBED`, by role, layer and head; empty in results of before it was kept."""

    @property
    def roles(self) -> list[list[str]]:
        """The role of each head, by layer and head."""
        return [[ROLES[code] for code in row] for row in self.role_code.tolist()]

    def counts(self) -> dict[str, int]:
        """The number of heads with each role of `EVIDENT` and with any of them; and by distance and position alone."""
        of_role = {role: int((self.role_code == ROLES.index(role)).sum()) for role in EVIDENT}
        by_rule = {
            PUBLISHED: self.published_positional,
            GROWING: self.r_causal > 0.5,
            FADING: self.r_causal < -0.5,
            MOSTLY: self.positional_low > 0.5,
        }
        found = {"heads with a role": sum(of_role.values())} | {f"{role} heads": n for role, n in of_role.items()}
        return found | {label: int(held.sum()) for label, held in by_rule.items()}

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As `Result.to_frame`, with the role in words as the column `role`."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(2, "role", [role for row in self.roles for role in row])
            del frame["role_code"]
        return frame

    def summary(self) -> "pd.DataFrame":
        """The role of every head, its evidence, and the main measures; of an unresolved head the role that it is
        nearest to, with a question mark, and that role's numbers."""
        frame = self.to_frame()[["layer", "head", "role", *SUMMARY]]
        for head, near in enumerate(nearest(self)):
            if frame.loc[head, "role"] == UNRESOLVED:
                frame.loc[head, ["role", *near._fields[1:]]] = [f"{UNRESOLVED} ({near.role}?)", *near[1:]]
        return frame.assign(q=frame["q"].astype(object).where(frame["q"].notna(), UNTESTED))

    def headline(self) -> str:
        """How many heads have a role, how many each, and which is the clearest."""
        counts, heads = self.counts(), self.role_code.numel()
        total = counts["heads with a role"]
        if not total:
            return f"None of the {heads} heads has a role.{self._described()}"
        each = ", ".join(f"{counts[f'{role} heads']} {role}" for role in EVIDENT if counts[f"{role} heads"])
        known = torch.isin(self.role_code, torch.tensor([ROLES.index(role) for role in EVIDENT]))
        layer, head = divmod(int(self.effect.where(known, -1.0).argmax()), self.effect.shape[1])
        clearest = f"{layer}.{head} ({self.roles[layer][head]}, {self.effect[layer, head]:.2f} of its attention's KL)"
        have = f"{total} of {heads} heads {'has' if total == 1 else 'have'} a role"
        return f"{have}: {each}. The clearest is {clearest}.{self._described()}"

    def _described(self) -> str:
        """How many heads have a description in place of a role, in words; empty if none has."""
        each = [(name, int((self.role_code == ROLES.index(name)).sum())) for name in ("content-dependent", "diffuse")]
        said = " and ".join(f"{n} {'is' if n == 1 else 'are'} {name}" for name, n in each if n)
        return f" {said}: descriptions that untrained heads earn too, and no roles." if said else ""

    def said_of_stories(self) -> str:
        """The stories that were read, and how much of each decides a role."""
        tokens = self.offset_mass.shape[-1]
        return f"{super().said_of_stories()}\nRoles go by the first {tokens} tokens of a story.".strip()

    def to_json(self) -> dict[str, Any]:
        """Every measure of every head, with the role that it is nearest to."""
        near = zip(*nearest(self), strict=True)
        rows = self.to_frame().assign(**dict(zip((f"nearest_{name}" for name in Nearest._fields), near, strict=True)))
        return super().to_json() | {"rows": json.loads(rows.to_json(orient="records", double_precision=15))}

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

        check_head(self.role_code, layer, head)
        name, x, y = f"layer {layer}, head {head}", "tokens back", "attention weight"
        title = f"{name.capitalize()}: {self.roles[layer][head]}"
        return plots.lines({name: self.offset_mass[layer, head]}, title=title, x_label=x, y_label=y)
