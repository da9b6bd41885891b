"""The table of neurons, and how it is printed: what was found in one sentence, then the best supported ones."""

from typing import TYPE_CHECKING

import torch

from tslens.analysis.neurons.choice import PREDICTS, is_too_rare
from tslens.analysis.neurons.labels import ENOUGH
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from tslens.analysis.neurons.result import ProfilesResult

COLUMNS = (
    *("layer", "neuron", "label", "share", "distinct", "lift", "q", "auroc", "auroc_low", "auroc_high"),
    *("word_share", "word_auroc", "word_auroc_low", "firing_rate", "max", "top tokens", "promotes"),
)
HELD_OUT = ("held_auroc", "held_low", "precision", "recall")
"""Of the test of a label on other stories: the AUROC with the lower end of its interval, and precision and recall in
the neuron's top decile. The columns `auroc` are of the random tokens that helped to give the label."""
SHOWN = 20
"""Neurons of the printed table."""


def table(found: "ProfilesResult") -> "pd.DataFrame":
    """The main columns of the chosen neurons, or in the order in which they were chosen: those whose labels predict on
    other stories first, then the best supported."""
    frame = found.to_frame().assign(rest=[test != PREDICTS for row in found.tests for test in row] or True)
    if found.chosen is not None:
        frame = frame.iloc[[layer * found.label.shape[1] + neuron for layer, neuron in found.chosen]]
    if not found.of_word:
        frame = frame.sort_values(["rest", "q", "auroc"], ascending=[True, True, False], kind="stable")
    at = COLUMNS.index("word_share")
    return frame[[*COLUMNS[:at], *(HELD_OUT if found.held_out else ()), *COLUMNS[at:]]].reset_index(drop=True)


def tested(found: "ProfilesResult") -> dict[str, list[float]]:
    """The columns of `HELD_OUT`, of all neurons; none where labels were not tested."""
    rows = [row or [float("nan")] * len(HELD_OUT) for layer in found.held_out for row in layer]
    return {name: [row[i] for row in rows] for i, name in enumerate(HELD_OUT)} if rows else {}


def text(found: "ProfilesResult") -> str:
    """The headline, the first rows of the summary, the stories, and the counts of untrained twins."""
    rows = table(found)
    cut = f"The first {SHOWN} of {len(rows):,}; --out writes all." if len(rows) > SHOWN else ""
    essential = [*found.essential]
    if found.held_out:
        essential[essential.index("auroc") : essential.index("auroc") + 1] = HELD_OUT[:2]
    if found.of_word:  # what shows the word goes before the rest
        essential = [name for name in essential if name not in ("q", "held_low", "firing_rate")]
    shown = as_text(rows.head(SHOWN), essential) if len(rows) else "None is of that kind."
    lines = [headline(found), found.said_of_twins(), shown, cut, found.said_of_stories(), _rare(found)]
    return "\n".join(filter(None, lines))


def headline(found: "ProfilesResult") -> str:
    """How many neurons prefer a part of speech and how many one word, by label, and how many of either labels predict;
    where some were chosen, of these."""
    of = torch.ones_like(found.is_labelled) if found.chosen is None else torch.zeros_like(found.is_labelled)
    for layer, neuron in found.chosen or ():
        of[layer, neuron] = True
    each = {tag: int(((found.label == i) & of).sum()) for i, tag in enumerate(found.tags)}
    most = sorted(((n, name) for name, n in each.items() if n), key=lambda one: (-one[0], one[1]))
    by_label = f": {', '.join(f'{n:,} {name}' for n, name in most)}" if most else ""
    kinds = {"part of speech": (found.label >= 0) & of, "one word": found.by_word & of}
    parts, words = (int(kind.sum()) for kind in kinds.values())
    among = f"of {found.label.numel():,} {found.called} {found.model}"
    said = f"{parts:,} {among} prefer a part of speech"
    if found.chosen is not None:
        kind = f"have {found.of_word!r} among their top tokens" if found.of_word else "are of the kind asked for"
        said = f"{int(of.sum()):,} {among} {kind}; {parts:,} of them prefer a part of speech"
    tested = ""
    if found.tests:
        tested = f" {_predicting(found, kinds)}: one half of the stories gives them too, and they predict on the other."
    beside = f"held against {len(found.sample_tokens):,} random tokens"
    return f"{said}, and {words:,} one word, {beside}{by_label}.{tested}"


def _rare(found: "ProfilesResult") -> str:
    """How many neurons have a word on top that is too rare among the random tokens; empty if none has."""
    if not (n := int(is_too_rare(found).sum())):
        return ""
    said = (
        f"Of {n:,} more neurons one word is on top that has fewer than {ENOUGH} of the {len(found.sample_tokens):,} "
        "random tokens, too few to label it: "
    )
    if found.rare_words is None:
        return f"{said}more (`--sample`) test it."
    beside = found.rare_beside or "Untrained twins, which may have as many, were not asked (`--twins 19`)."
    return f"{said}{len(found.rare_words):,} fire on it, by more tokens of it. {beside}"


def _predicting(found: "ProfilesResult", kinds: "dict[str, Tensor]") -> str:
    predicts = torch.tensor([[test == PREDICTS for test in row] for row in found.tests])
    parts, words = (int((predicts & kind).sum()) for kind in kinds.values())
    return f"Of these labels {parts:,} of a part of speech and {words:,} of one word hold"
