"""The result for neurons of each part of speech, layer by layer, of one or several models, beside untrained twins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int

from tslens.errors import InputError
from tslens.result import Result, axes_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RULES = ("predicts", "prefers")
"""What is counted: labels made on half of the stories that predict where the neuron fires on the others and on other
words, and labels on all stories, untested."""
ANY = "any"
"""Stands for all parts of speech together."""
CHARTS = (
    ("predicts", ANY, "Part of speech that predicts"),
    ("predicts", "NOUN", "NOUN that predicts"),
    ("predicts", "ADJ", "ADJ that predicts"),
    ("prefers", ANY, "Part of speech preferred"),
)
LINES = 120
"""Largest number of printed rows."""


@dataclass(frozen=True, eq=False)
class LayersResult(Result):
    """How many neurons of each layer have each part of speech, of a model or of several on the same stories, beside
    untrained twins.

    The axis `place` is a layer of a model. Models and twins are counted on the same stories, of which each model reads
    as much as its context holds. Intervals are 95%, over stories (see `TwinsResult`); `p` and `leads` are of each count
    by itself, so among many layers and parts of speech a few exceed every twin by chance.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("rule", "tag", "place")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"rule": RULES, "tag": "tags", "twin": "twins"}

    stories: int
    """Stories that models and twins were read on."""
    twins: list[str]
    """Kind and seed of each twin."""
    tags: list[str]
    """`any`, all parts of speech together, then each."""
    models: list[str]
    """By place, the model's name."""
    layer: Int[torch.Tensor, " place"]
    """The layer."""
    depth: Float[torch.Tensor, " place"]
    """The share of the model's blocks up to this one, itself included."""
    neurons: Int[torch.Tensor, " place"]
    """Neurons of the layer."""
    count: Int[torch.Tensor, "rule tag place"]
    """Neurons with the part of speech."""
    low: Float[torch.Tensor, "rule tag place"]
    """Lower end of the interval, at least 0."""
    high: Float[torch.Tensor, "rule tag place"]
    """Upper end of the interval."""
    least: Int[torch.Tensor, "rule tag place"]
    """The smallest count of a twin."""
    most: Int[torch.Tensor, "rule tag place"]
    """The largest count of a twin."""
    p: Float[torch.Tensor, "rule tag place"]
    """Rank of the count among its own and the twins': 0.05 at best with 19 twins (see `TwinsResult`)."""
    leads: Bool[torch.Tensor, "rule tag place"]
    """Whether the lower end of the interval exceeds the count of every twin."""
    of_twins: Int[torch.Tensor, "twin rule tag place"]
    """The counts of the twins."""

    def places_of(self, model: str) -> list[int]:
        """The places of a model's layers; InputError for a model that was not counted."""
        if model not in self.models:
            known = ", ".join(dict.fromkeys(self.models))
            raise InputError(f"{model!r} was not counted; the models are {known}.")
        return [i for i, name in enumerate(self.models) if name == model]

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per rule, part of speech and layer, with the model, the layer's depth and its number of neurons."""
        frame = super().to_frame(field)
        if field is None:
            at = frame.pop("place").to_numpy()
            columns = {"model": self.models, **{name: getattr(self, name).tolist() for name in self._of_places()}}
            for i, (name, values) in enumerate(columns.items()):
                frame.insert(2 + i, name, [values[place] for place in at])
        return frame

    def _of_places(self) -> list[str]:
        """The fields that say what each place is."""
        return [field.name for field in fields(self) if axes_of(self, field.name) == ("place",)]

    def summary(self) -> "pd.DataFrame":
        """By layer, for all parts of speech together and each that a label names: the neurons whose label predicts,
        with interval and twins, and those that prefer it, with theirs."""
        frame = self.to_frame()
        counted, preferred = (frame[frame["rule"] == rule].reset_index(drop=True) for rule in RULES)
        named = {"count": "predict", "least": "twins_least", "most": "twins_most"}
        numbers = ["count", "low", "high", "least", "most", "p", "leads"]
        table = counted[["tag", "model", "layer", "neurons", *numbers]].rename(columns=named)
        for name, field in (
            ("prefer", "count"),
            ("prefer_low", "low"),
            ("prefer_high", "high"),
            ("prefer_twins", "most"),
        ):
            table[name] = preferred[field]
        shown = table[(table["tag"] == ANY) | (table["predict"] > 0) | (table["twins_most"] > 0)].reset_index(drop=True)
        return shown if len(set(self.models)) > 1 else shown.drop(columns="model")

    def said(self) -> str:
        """For each model the neurons of its layers whose part of speech predicts, and those that prefer one."""
        return "\n".join(filter(None, map(self._said_of, dict.fromkeys(self.models))))

    def _said_of(self, model: str) -> str:
        places = self.places_of(model)
        parts = [
            f"{_listed(self.count[rule, 0, places])} {does} (twins: at most {_listed(self.most[rule, 0, places])})"
            for rule, does in enumerate(
                ("have a part of speech that predicts where they fire on other stories and words", "prefer one")
            )
        ]
        return f"Of the {int(self.neurons[places[0]]):,} neurons of each layer of {model} {', '.join(parts)}."

    def __str__(self) -> str:
        lines = [self.said(), self._table(LINES), *([f"On {self.corpus}"] if self.corpus else [])]
        return "\n".join([*lines, f"Counted on {self.stories:,} stories, beside {len(self.twins)} untrained twins."])

    def figure(self) -> "Figure":
        """The share of each layer's neurons whose part of speech predicts, of all, nouns and adjectives, and the share
        that prefer one; with intervals, and the twins' range shaded beside their mean. By layer, or by depth where
        several models are counted."""
        from tslens import plots

        return plots.panels(*(self._chart(*chart) for chart in CHARTS))

    def _chart(self, rule: str, tag: str, title: str) -> dict[str, Any]:
        """The arguments of a chart of one part of speech by one rule: a line for each model, and one for its twins."""
        series, x, bands = dict[str, Any](), dict[str, Any](), dict[str, Any]()
        names = list(dict.fromkeys(self.models))
        several = len(names) > 1
        for model in names:
            places = self.places_of(model)
            controls = f"twins of {model}" if several else "untrained twins"
            for name, (middle, *ends) in zip((model, controls), self._shares(rule, tag, places), strict=True):
                series[name], bands[name] = middle, ends
                x[name] = (self.depth if several else self.layer)[places]
        x_label = "share of the blocks passed" if several else "layer"
        chart = {"series": series, "x": x, "bands": bands, "title": title, "x_label": x_label}
        return chart | {"y_label": "share of the layer's neurons"}

    def _shares(self, rule: str, tag: str, places: list[int]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Share of the layers' neurons, its lower and its upper end: the model's own, and the twins' mean and range."""
        by, of, neurons = RULES.index(rule), self.tags.index(tag), self.neurons[places]
        controls = self.of_twins[:, by, of][:, places] / neurons
        own = [part[by, of][places] / neurons for part in (self.count, self.low, self.high)]
        return own, [controls.mean(0), controls.amin(0), controls.amax(0)]


def side_by_side(answers: Sequence[LayersResult]) -> LayersResult:
    """The counts of several models in one result; InputError unless the models have different names and were counted
    on as many stories beside as many twins."""
    names = [answer.models[0] for answer in answers]
    if len(set(names)) < len(names):
        raise InputError(f"{' and '.join(names)} have the same name: give models of different names.")
    first = answers[0]
    if any(
        (answer.stories, answer.twins, answer.corpus) != (first.stories, first.twins, first.corpus)
        for answer in answers
    ):
        raise InputError(f"{' and '.join(names)} were counted on different stories or beside different twins.")
    axes = {name: axes_of(first, name) or () for name in first.tensors()}
    joined = {
        name: torch.cat([answer.tensors()[name] for answer in answers], of.index("place")) for name, of in axes.items()
    }
    plain: dict[str, Any] = {field.name: getattr(first, field.name) for field in fields(LayersResult)}
    plain["models"] = [model for answer in answers for model in answer.models]
    return LayersResult(**plain | joined)


def _listed(numbers: torch.Tensor) -> str:
    """Numbers in words, once where all are equal: '3, 10 and 17', '0'."""
    texts = [f"{int(x):,}" for x in numbers]
    return texts[0] if len(set(texts)) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
