"""The features whose labels other stories support best, with what they fire on as text, for a page."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.neurons.held_out_measures import MEASURES
from tslens.plots.text import one_line, shown
from tslens.result import Result
from tslens.sae.compared import Q
from tslens.sae.result import FeaturesResult, HeldOutFeaturesResult

if TYPE_CHECKING:
    import pandas as pd

BEST, CONTEXTS, PROMOTED = 6, 3, 5
"""Features of each kind of label, and contexts and promoted tokens of each."""
SHOWN = ("auroc", "precision")
"""The measures that are kept with their intervals."""


@dataclasses.dataclass(frozen=True, eq=False)
class BestFeaturesResult(Result):
    """Features with a label that holds on other stories, those first whose tokens are most surely of it: the lower end
    of the precision lies furthest above the base rate. Parts of speech and words are chosen apart.

    The strongest contexts alone mislead (Bolukbasi et al. 2021, arXiv 2104.07143): precision and AUROC stand beside
    them. Intervals are 95%, over stories that did not give the label.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("place",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"place": "features", "measure": SHOWN}

    model: str
    """The model's name."""
    hook: str
    """The activation that the features are of."""
    width: int
    """Features of the autoencoder."""
    k: int
    """Features that are active on a token, at most."""
    features: list[int]
    """Their numbers."""
    labels: list[str]
    """Their labels."""
    by_word: Bool[Tensor, " place"]
    """Whether the label is a word."""
    firing_rate: Float[Tensor, " place"]
    """Share of tokens on which each is above 0."""
    value: Float[Tensor, "place measure"]
    """AUROC and precision on stories that did not give the label."""
    low: Float[Tensor, "place measure"]
    """Lower ends of their intervals."""
    high: Float[Tensor, "place measure"]
    """Upper ends of them."""
    base_rate: Float[Tensor, " place"]
    """Share of the label among all tokens: the precision of a random activation."""
    contexts: list[list[list[str]]]
    """The strongest contexts of each, without those that recur: what comes before, the token, what comes after."""
    promotes: list[list[str]]
    """Tokens whose logits each raises most."""

    def headline(self) -> str:
        """How many there are, and which is the surest."""
        if not self.features:
            return "No feature has a label that holds on other stories."
        return f"The surest of {len(self.features)} features whose label holds on other stories: {self.labels[0]}."

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per feature, with its label and measures."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(1, "label", self.labels)
            for i, name in enumerate(SHOWN):
                for end in ("value", "low", "high"):
                    frame[name if end == "value" else f"{name}_{end}"] = getattr(self, end)[:, i].numpy()
            frame["contexts"] = [" | ".join("".join(parts).strip() for parts in examples) for examples in self.contexts]
        return frame


def best(profile: FeaturesResult, tested: HeldOutFeaturesResult, *, n: int = BEST) -> BestFeaturesResult:
    """At most `n` features with a part of speech and as many with one word, from the profiles of a dictionary's
    features and the test of their labels on other stories."""
    at, base = [MEASURES.index(name) for name in SHOWN], MEASURES.index("base_rate")
    precision = MEASURES.index("precision")
    excess = (tested.low[0, :, precision] - tested.value[0, :, base]).nan_to_num(-torch.inf)
    holds = (tested.q[0] <= Q) & (excess > -torch.inf)
    chosen: list[int] = []
    for which in (tested.label[0] >= 0, tested.by_word[0]):
        of_label = (holds & which).nonzero().flatten()
        chosen += of_label[excess[of_label].argsort(descending=True, stable=True)][:n].tolist()
    places = torch.tensor(chosen, dtype=torch.int64)
    return BestFeaturesResult(
        model=profile.model,
        hook=profile.hook,
        width=profile.label.shape[1],
        k=profile.k,
        features=chosen,
        labels=[tested.label_of(0, number) for number in chosen],
        by_word=tested.by_word[0, places],
        firing_rate=profile.firing_rate[0, places],
        value=tested.value[0, places][:, at],
        low=tested.low[0, places][:, at],
        high=tested.high[0, places][:, at],
        base_rate=tested.value[0, places, base],
        contexts=[
            _contexts(profile.top_contexts[0, number], profile.top_pos[0, number], profile.pieces) for number in chosen
        ],
        promotes=[
            [shown(profile.pieces[token]) for token in profile.promoted_tokens[0, number, :PROMOTED].tolist()]
            for number in chosen
        ],
    )


def _contexts(
    windows: Int[Tensor, "rank window"], positions: Int[Tensor, " rank"], pieces: Sequence[str]
) -> list[list[str]]:
    """The first different contexts as text on one line, in three parts, without BOS."""
    text, middle = [*map(one_line, pieces), ""], windows.shape[1] // 2  # -1 is nothing
    bos = middle - positions[:, None] == torch.arange(windows.shape[1])
    rows = dict.fromkeys(map(tuple, windows.masked_fill(bos, -1).tolist()))
    parts = slice(middle), slice(middle, middle + 1), slice(middle + 1, None)
    return [["".join(text[token] for token in row[part]) for part in parts] for row in rows if row[middle] >= 0][
        :CONTEXTS
    ]
