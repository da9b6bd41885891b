"""The result of ablating every head: what each costs, and what that says of its role."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.result import CountedResult, Result
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Q = 0.05
BOUND = 0.01
"""Nats per token, 1% of perplexity. Nothing misses a head whose every interval lies within it on either side, and whose
labels' tokens surely cost less than so much more than others; a head matters if every increase is at least as large and
every interval above 0, with q < 0.05."""

FINDINGS = (
    "matters, and has no name",
    "matters, most on the tokens its label predicts",
    "matters, not more on the tokens its label predicts",
    "matters",
    "helps only on the tokens its label predicts",
    "has a name that nothing misses",
    "not decided",
    "no name, and nothing misses it",
    "no evidence",
)
"""What ablation says of a head and its name, in the order in which heads are listed."""

CONTRAST = ("contrast", "contrast_low", "contrast_high", "contrast_q")
MATTERING = "heads that matter"
"""The label under which they are counted."""

NO_ROLE = ("unresolved", "diffuse", "content-dependent")
"""Roles that name nothing that a head does; also whatever begins with one of them."""


def has_role(role: str) -> bool:
    """Whether a role says what a head does."""
    return not role.startswith(NO_ROLE)


def matters(
    increase: Float[Tensor, "kind *axes"], low: Float[Tensor, "kind *axes"], q: Float[Tensor, "kind *axes"]
) -> Bool[Tensor, "*axes"]:
    """Whether the loss rises by `BOUND` at least, surely, by every kind of ablation."""
    return ((increase >= BOUND) & (low > 0) & (q < Q)).all(0)


@dataclass(frozen=True, eq=False)
class AblationResult(CountedResult):
    """The increase of the loss without each head, by kind of ablation (see `ablation`), in nats per token.

    Intervals are 95%, paired, from the jackknife over rows (stories); every q is two-sided, by Benjamini and Hochberg
    over all heads, or over all labels that predict tokens, for each kind by itself. Such a label is a test: on the
    tokens that it predicts (`role_tokens`) the loss without its head is compared with that on other tokens.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("kind", "layer", "head")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"kind": "kinds", "test": "tests"}

    model: str
    """The model's name."""
    on: str
    """What was read: `repeated random tokens` or `stories`."""
    copying: str
    """On repeated random tokens, whether the model copies at all; if not, there is no evidence here and no q."""
    kinds: tuple[str, ...]
    """What replaced a head's output: `zero`, `mean`, `position mean`, `resample`."""
    rows: int
    """Number of rows (stories)."""
    tokens: int
    """Tokens whose loss counts."""
    baseline: float
    """Loss of the full model, nats per token; on repeated random tokens over the second half only."""
    roles: list[list[str]]
    """What each head is called, by layer and head (`names`); `unresolved` where nothing was given."""

    increase: Float[Tensor, "kind layer head"]
    """Loss without the head minus the baseline."""
    low: Float[Tensor, "kind layer head"]
    """Lower end of its interval."""
    high: Float[Tensor, "kind layer head"]
    """Upper end of its interval."""
    q: Float[Tensor, "kind layer head"]
    """False discovery rate of the claim that the change is not 0."""

    tests: list[str]
    """The labels that predict tokens, each after its head (`2.3 same name`): a role, a kind of key, or `writes` and a
    word class."""
    on_predicted: Float[Tensor, "kind test"]
    """The increase on the tokens that the label predicts; NaN where it predicts none."""
    on_others: Float[Tensor, "kind test"]
    """The increase on other tokens of the same stories and frequency."""
    contrast: Float[Tensor, "kind test"]
    """`on_predicted` minus `on_others`, paired by story."""
    contrast_low: Float[Tensor, "kind test"]
    """Lower end of its interval."""
    contrast_high: Float[Tensor, "kind test"]
    """Upper end of its interval."""
    contrast_q: Float[Tensor, "kind test"]
    """False discovery rate of the claim that the contrast is not 0."""
    predicted: Float[Tensor, " test"]
    """Number of tokens that the label predicts and that have such others."""

    of_halves: list[int] = field(default_factory=list, kw_only=True)
    """Heads that matter on halves of the rows, each half followed by its complement (see `tslens.halves`); empty where
    the rows are too few for halves, or are no evidence."""

    @property
    def mattering(self) -> Bool[Tensor, "layer head"]:
        """Whether the model loses by every kind of ablation of the head: what `finding` says first."""
        return matters(self.increase, self.low, self.q)

    def counts(self) -> dict[str, int]:
        """The number of heads that matter."""
        return {MATTERING: int(self.mattering.sum())}

    def tests_of(self, layer: int, head: int) -> list[int]:
        """The places in `tests` of a head's labels that predict any token."""
        return [i for i, one in enumerate(self.tests) if one.startswith(f"{layer}.{head} ") and self.predicted[i] > 0]

    @property
    def served(self) -> Bool[Tensor, " test"]:
        """Whether the loss on the tokens that a label predicts surely rises more than on others by every kind of
        ablation."""
        return ((self.contrast_low > 0) & (self.contrast_q < Q)).all(0)

    @property
    def opposed(self) -> Bool[Tensor, " test"]:
        """Whether the loss on the tokens that a label predicts surely rises less than on others by every kind of
        ablation: such a label is true of the head and no reason why the model needs it."""
        return ((self.contrast_high < 0) & (self.contrast_q < Q)).all(0)

    def contrasts(self) -> "pd.DataFrame":
        """One row per label that predicts tokens: head, label, the tokens, and of the kind of ablation with the
        least lower end the contrast with its interval and q."""
        import pandas as pd

        rows = []
        for i, (head, _, label) in enumerate(one.partition(" ") for one in self.tests):
            kind = int(self.contrast_low[:, i].nan_to_num(-torch.inf).argmin())
            numbers = {name: float(getattr(self, name)[kind, i]) for name in CONTRAST}
            rows.append({"head": head, "label": label, "predicted": int(self.predicted[i])} | numbers)
        return pd.DataFrame(rows, columns=["head", "label", "predicted", *CONTRAST])

    def write_tables(self, folder: Path) -> None:
        """Write the table of `contrasts`."""
        self.contrasts().to_csv(folder / "contrasts.csv", index=False)

    def finding(self, layer: int, head: int) -> str:
        """What the ablations say of a head, one of `FINDINGS`: only what all kinds that were asked for say."""
        low, high, q = (x[:, layer, head].numpy() for x in (self.low, self.high, self.q))
        tests = self.tests_of(layer, head)
        role, asked = has_role(self.roles[layer][head]), bool(tests)
        if np.isnan(q).any():
            return "no evidence"
        serves = bool(self.served[tests].any())
        if self.mattering[layer, head] and not role:
            return "matters, and has no name"
        if self.mattering[layer, head]:
            where = "most" if serves else "not more"
            return f"matters, {where} on the tokens its label predicts" if asked else "matters"
        if serves:
            return "helps only on the tokens its label predicts"
        if ((low > -BOUND) & (high < BOUND)).all() and bool((self.contrast_high[:, tests] < BOUND).all()):
            return "has a name that nothing misses" if role else "no name, and nothing misses it"
        return "not decided"

    def checks(self) -> "pd.DataFrame":
        """One row per head in the order of `FINDINGS`, then by its least increase over the kinds: layer, head, role,
        finding, the increase by each kind, and of the head's label with the largest contrast, by the kind that shows it
        least, this contrast, the tokens behind it, and the label."""
        import pandas as pd

        layers, heads = self.increase.shape[1:]
        least = self.contrast.amin(0)
        rows = []
        for layer in range(layers):
            for head in range(heads):
                best = max(self.tests_of(layer, head), key=lambda test: float(least[test]), default=None)
                by_kind = dict(zip(self.kinds, self.increase[:, layer, head].tolist(), strict=True))
                rows.append(
                    {
                        "layer": layer,
                        "head": head,
                        "role": self.roles[layer][head],
                        "finding": self.finding(layer, head),
                        **by_kind,
                        "low": float(self.low[:, layer, head].min()),
                        "high": float(self.high[:, layer, head].max()),
                        "contrast": float("nan") if best is None else float(least[best]),
                        "predicted": 0 if best is None else int(self.predicted[best]),
                        "by": "" if best is None else self.tests[best].partition(" ")[2],
                    }
                )
        rows.sort(key=lambda row: (FINDINGS.index(row["finding"]), -min(row[kind] for kind in self.kinds)))
        return pd.DataFrame(rows)

    def summary(self) -> "pd.DataFrame":
        """The table of `checks`."""
        return self.checks()

    def headline(self) -> str:
        """How many heads have each finding, or that repeated tokens are no evidence."""
        if self.copying and not self.q.isfinite().any():
            return f"On {self.on}: {self.copying}"
        found = Counter(self.checks()["finding"])
        each = "; ".join(f"{name} ({found[name]})" for name in FINDINGS if found[name])
        return f"What {self.q[0].numel()} heads do: {each}."

    def __str__(self) -> str:
        read = f"Ablated on {self.rows} stories, {self.tokens:,} tokens of their beginnings."
        contrasts = as_text(self.contrasts()) if self.tests else ""
        served = f"{int(self.served.sum())} of {len(self.tests)} labels say where their head is missed"
        served += f", {int(self.opposed.sum())} where it is surely missed less than elsewhere."
        more = f"\n{served} On the tokens that a label predicts, less that on others:\n{contrasts}" if contrasts else ""
        return Result.__str__(self) if self.copying else f"{super().__str__()}\n{read}{more}"

    def figure(self) -> "Figure":
        """The least increase of the loss over the kinds, by head: what the model loses however the head is ablated. A
        star marks the heads that matter: surely, by every kind."""
        from tslens import plots

        return plots.heatmap(
            self.increase.amin(0),
            title=f"{self.model}: least loss by ablation",
            row_label="layer",
            column_label="head (★ matters: surely, by every kind)",
            colour_label="nats per token",
            centre=0.0,
            texts=[["★" if here else "" for here in row] for row in self.mattering.tolist()],
        )
