"""When do neurons of each part of speech appear in training, and in which layers?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch
from jaxtyping import Int

from tslens.dynamics.points import folder_of, points
from tslens.models.twins import Twin
from tslens.progress import bar, off
from tslens.result import read_on
from tslens.twins import counting
from tslens.twins.counting import STORIES, TWINS
from tslens.twins.layers import question, result_of
from tslens.twins.layers_result import ANY, RULES, LayersResult, side_by_side
from tslens.twins.reading import ask

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LayersByStepResult(LayersResult):
    """`LayersResult` for the snapshots of a run: the models are the run after each step, earliest first.

    The twins are freshly initialised models of the run's shape, the same ones for every step: a model that was never
    trained is no step's own. The weights of a snapshot are not permuted; `twins.layers` does so for one model.
    """

    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = LayersResult.axis_names

    step: Int[torch.Tensor, " place"]
    """Steps of training before it."""

    @property
    def steps(self) -> list[int]:
        """The steps, in their order."""
        return list(dict.fromkeys(self.step.tolist()))

    def summary(self) -> "pd.DataFrame":
        """All parts of speech together, and each that ever predicts: by layer, the neurons whose label predicts after
        each step, and of the last step their interval, the largest count of a twin, and those that prefer it."""
        frame = self.to_frame()
        counted, preferred = (frame[frame["rule"] == rule] for rule in RULES)
        names = {step: f"@{step}" for step in self.steps}
        table = counted.pivot(index=["tag", "layer"], columns="step", values="count").rename(columns=names)
        end = counted[counted["step"] == self.steps[-1]].set_index(["tag", "layer"])
        table = table.join(end[["low", "high", "most", "p"]].rename(columns={"most": "twins_most"}))
        last = preferred[preferred["step"] == self.steps[-1]].set_index(["tag", "layer"])
        table = table.join(last[["count"]].rename(columns={"count": "prefer"})).reset_index()
        ever = table[list(names.values())].any(axis=1) | (table["tag"] == ANY)
        return table[ever].sort_values(["tag", "layer"], key=self._order, kind="stable").reset_index(drop=True)

    def _order(self, column: "pd.Series[Any]") -> "pd.Series[Any]":
        return column.map(self.tags.index) if column.name == "tag" else column

    def _said_of(self, model: str) -> str:
        return super()._said_of(model) if model == self.models[-1] else ""

    def _chart(self, rule: str, tag: str, title: str) -> dict[str, Any]:
        """The arguments of a chart of one part of speech by one rule: a line for each layer over the steps, and one for
        the twins of all layers."""
        series, bands = dict[str, Any](), dict[str, Any]()
        controls = []
        for layer in dict.fromkeys(self.layer.tolist()):
            (middle, *ends), of_twins = self._shares(rule, tag, (self.layer == layer).nonzero().flatten().tolist())
            series[f"layer {layer}"], bands[f"layer {layer}"] = middle, ends
            controls.append(torch.stack(of_twins))
        mean, least, most = torch.stack(controls).unbind(1)
        series["untrained twins"], bands["untrained twins"] = mean.mean(0), (least.amin(0), most.amax(0))
        chart = {"series": series, "bands": bands, "title": title, "x_label": "training step", "ticks": self.steps}
        return chart | {"y_label": "share of the layer's neurons"}


def layers(
    run: str | Path,
    stories: Iterable[str],
    *,
    n: int = TWINS,
    limit: int = STORIES,
    checkpoints: bool = False,
) -> LayersByStepResult:
    """Count the neurons of each part of speech in every layer of a run at each of its points (see `points`), and of `n`
    freshly initialised models of its shape, on the first `limit` stories, each text once.

    All counts are kept in the run's folder. The twins are read once for all steps.

    Raises:
        InputError: a run without snapshots, a compressor or a model without neurons, no twin, or fewer stories than
            give an interval.
    """
    texts, known = counting.enough_texts(stories, n, limit), points(run, checkpoints=checkpoints)
    chosen = [Twin("fresh", seed) for seed in range(n)]
    names, end = [str(twin) for twin in chosen], known[-1].load()
    ask(end, texts, [asked := question(end, texts, stories)], chosen)
    of_twins = {name: asked.kept[name] for name in names}
    found = []
    with bar(f"neurons by layer of {folder_of(run).name}", len(known)) as shown:
        for point in known:
            with off():
                model = point.load()
                own = question(model, texts, stories).kept
            found.append(result_of(model, len(texts), own | of_twins, names))
            shown.advance()
    step = torch.tensor([point.step for point in known]).repeat_interleave(len(found[0].layer))
    answer = LayersByStepResult(**vars(side_by_side(found)), step=step)
    return cast(LayersByStepResult, read_on(answer, stories))
