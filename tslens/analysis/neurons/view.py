"""One neuron's examples in context: as a table, as text and as HTML."""

import dataclasses
import html
from typing import TYPE_CHECKING, Any

from torch import Tensor

from tslens.analysis.neurons.labels import NEARLY
from tslens.plots.text import listed, one_line, shown
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd

    from tslens.analysis.neurons.result import ProfilesResult


@dataclasses.dataclass(frozen=True)
class Profile:
    """One neuron: its top tokens, quantile and random samples in context. Shows itself in Jupyter."""

    neurons: "ProfilesResult"
    layer: int
    index: int

    def to_frame(self) -> "pd.DataFrame":
        """One row per example: its list, the activation, the token, its tag and its context."""
        import pandas as pd

        return pd.DataFrame(
            [{**e, "before": "".join(e["before"]), "after": "".join(e["after"])} for e in self.examples()]
        )

    def examples(self) -> list[dict[str, Any]]:
        """Every example: `list` (top, quantile, random), `value`, `token`, `tag`, `before`, `after`, `story`, `pos`."""
        a, at = self.neurons, (self.layer, self.index)
        top = zip(a.top_values[at], a.top_contexts[at], a.top_tags[at], a.top_story[at], a.top_pos[at], strict=True)
        rows = [self._row("top", *entry) for entry in top if entry[2] >= 0]
        for level, values, samples in zip(a.quantiles, a.quantile_values[at], a.quantile_samples[at], strict=True):
            rows += [self._sampled(f"{level:.0%} quantile", v, int(s)) for v, s in zip(values, samples, strict=True)]
        return rows + [self._sampled("random", v, s) for s, v in enumerate(a.random_values[at])]

    def _sampled(self, kind: str, value: Tensor, i: int) -> dict[str, Any]:
        a = self.neurons
        return self._row(kind, value, a.sample_contexts[i], a.sample_tags[i], a.sample_story[i], a.sample_pos[i])

    def _row(
        self, kind: str, value: Tensor, context: Tensor, tag: Tensor, story: Tensor, pos: Tensor
    ) -> dict[str, Any]:
        around = [self.neurons.pieces[token] if token >= 0 else "" for token in context.tolist()]
        middle = len(around) // 2
        return {
            "list": kind,
            "value": float(value),
            "before": around[:middle],
            "token": around[middle],
            "after": around[middle + 1 :],
            "tag": self.neurons.tags[int(tag)],
            "story": int(story),
            "pos": int(pos),
        }

    def __str__(self) -> str:
        table = as_text(self.to_frame())
        return f"{self._title()}\n{table}"

    def _title(self) -> str:
        a, at = self.neurons, (self.layer, self.index)
        best, pieces = a.tags[int(a.best[at])], a.pieces
        return (
            f"layer {self.layer}, neuron {self.index}: {a.label_of(*at)} "
            f"({best} {a.share[at]:.0%} [{a.share_low[at]:.0%}, {a.share_high[at]:.0%}] of {a.distinct[at]} top words, "
            f"lift {a.lift[at]:.1f}, q {a.q[at]:.2g}, "
            f"AUROC {a.auroc[at]:.2f} [{a.auroc_low[at]:.2f}, {a.auroc_high[at]:.2f}]{self._one_word()}); "
            f"fires on {a.firing_rate[at]:.1%}; "
            f"promotes {listed(a.promoted_tokens[at].tolist(), pieces)}; "
            f"suppresses {listed(a.suppressed_tokens[at].tolist(), pieces)}"
        )

    def _one_word(self) -> str:
        """The evidence on the word that is nearly all of the top tokens; empty where no word is."""
        a, at = self.neurons, (self.layer, self.index)
        if not a.word_share[at] >= NEARLY:
            return ""
        word = f"; {a.word_share[at]:.0%} of the top is '{shown(a.pieces[int(a.word[at])])}', "
        if a.word_auroc_low[at].isnan():
            return word + "too rare in the sample to test"
        return word + f"AUROC {a.word_auroc[at]:.2f}, at least {a.word_auroc_low[at]:.2f}, q {a.word_q[at]:.2g}"

    def _repr_html_(self) -> str:
        rows = self.examples()
        largest = max((abs(e["value"]) for e in rows), default=0.0) or 1.0
        cells = "".join(_html_row(example, largest) for example in rows)
        head = "<tr><th>list</th><th>activation</th><th>tag</th><th>context</th></tr>"
        return f"<div class='tslens-neuron'><p>{html.escape(self._title())}</p><table>{head}{cells}</table></div>"


def _text(text: str) -> str:
    return html.escape(one_line(text))


def _color(value: float) -> str:
    return "255,140,0" if value >= 0 else "60,120,216"


def _html_row(example: dict[str, Any], largest: float) -> str:
    """An example in HTML; the token's shade is its activation, orange above zero and blue below."""
    colour, strength = _color(example["value"]), abs(example["value"]) / largest
    marked = f"<mark style='background:rgba({colour},{strength:.2f})'>{_text(example['token'])}</mark>"
    context = _text("".join(example["before"])) + marked + _text("".join(example["after"]))
    columns = (html.escape(example["list"]), f"{example['value']:.3f}", html.escape(example["tag"]), context)
    return "<tr>" + "".join(f"<td>{column}</td>" for column in columns) + "</tr>"
