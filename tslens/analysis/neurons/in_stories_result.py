"""The result for neurons in whole stories: the activation on every token, shown as marked text."""

import dataclasses
import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from tslens.plots.text import one_line, shown
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True, eq=False)
class InStoriesResult(Result):
    """The activation of a few neurons on every token of a few stories (see `in_stories`)."""

    frame_axes: ClassVar[tuple[str, ...]] = ("neuron", "token")

    value: Float[Tensor, "neuron token"]
    """Activations (`blocks.L.mlp.hook_post`) on the tokens of all stories, one story after another, BOS included."""
    chosen: list[list[int]]
    """Layer and number of each neuron."""
    reasons: list[str]
    """Why each was chosen; empty where nothing was said."""
    tokens: list[list[str]]
    """The tokens of each story as displayed text, BOS first."""
    model: str
    """The model's name."""

    def of_story(self, story: int) -> Float[Tensor, "neuron pos"]:
        """The activations on the tokens of one story."""
        begin = sum(map(len, self.tokens[:story]))
        return self.value[:, begin : begin + len(self.tokens[story])]

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per neuron and token: layer, neuron, story, position, token and activation."""
        import pandas as pd

        if field is not None:
            return super().to_frame(field)
        rows = [
            (layer, neuron, story, pos, token, value)
            for i, (layer, neuron) in enumerate(self.chosen)
            for story, tokens in enumerate(self.tokens)
            for pos, (token, value) in enumerate(zip(tokens, self.of_story(story)[i].tolist(), strict=True))
        ]
        return pd.DataFrame(rows, columns=["layer", "neuron", "story", "pos", "token", "value"])

    def summary(self) -> "pd.DataFrame":
        """For every neuron and story the token with the largest activation, BOS aside."""
        import pandas as pd

        columns = ["layer", "neuron", "chosen as", "story", "token", "pos", "value"]
        return pd.DataFrame(list(self._strongest()), columns=columns)

    def _strongest(self) -> Iterator[tuple[Any, ...]]:
        for i, (layer, neuron) in enumerate(self.chosen):
            for story, tokens in enumerate(self.tokens):
                if len(tokens) > 1:
                    pos = 1 + int(self.of_story(story)[i, 1:].argmax())
                    value = float(self.of_story(story)[i, pos])
                    yield layer, neuron, self.reasons[i], story, shown(tokens[pos]), pos, value

    def _repr_html_(self) -> str:
        """Every story under every neuron, its tokens shaded by activation: orange above zero and blue below."""
        parts = []
        for i, (layer, neuron) in enumerate(self.chosen):
            why = f" ({html.escape(self.reasons[i])})" if self.reasons[i] else ""
            parts.append(f"<h4>Neuron {layer}.{neuron}{why}</h4>")
            largest = float(self.value[i].abs().max()) or 1.0
            parts += [self._marked(story, i, largest) for story in range(len(self.tokens))]
        return f"<div class='tslens-in-stories'>{''.join(parts)}</div>"

    def _marked(self, story: int, i: int, largest: float) -> str:
        marked = (
            f"<span style='background:rgba({'255,140,0' if value >= 0 else '60,120,216'},{abs(value) / largest:.2f})' "
            f"title='{value:.2f}'>{html.escape(one_line(token))}</span>"
            for token, value in zip(self.tokens[story][1:], self.of_story(story)[i, 1:].tolist(), strict=True)
        )
        return f"<p>{''.join(marked)}</p>"
