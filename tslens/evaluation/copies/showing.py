"""The texts that are shown beside a training story: those with the longest copies, and those with the nearest plots."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tslens.evaluation.copies.cutting import Cut
from tslens.evaluation.copies.names import KINDS, PLOT
from tslens.evaluation.copies.tracing import Corpora, Trace
from tslens.ngrams import words

COPIES = 12  # texts with the longest copies
PLOTS = 4  # texts with the nearest plots


def shown(
    rows: Sequence[Cut],
    texts: Sequence[str],
    who: np.ndarray,
    traces: Sequence[Trace],
    kind: Sequence[int],
    known: Corpora,
) -> list[dict[str, Any]]:
    """The written texts with the longest copies, exact ones first, each with the training story that has its span; then
    the texts of no copy whose plots are nearest to a training story's, each with that story."""
    own = np.flatnonzero(who == 0).tolist()
    longest = sorted(own, key=lambda i: (kind[i] != 1, -traces[i].template, i))
    plots = sorted((i for i in own if kind[i] == 0 and traces[i].plot > 0), key=lambda i: (-traces[i].plot, i))
    chosen = [(i, _copy(traces[i], kind[i], known)) for i in longest[:COPIES]]
    chosen += [(i, _plot(traces[i], known)) for i in plots[:PLOTS]]
    return [{"prompt": rows[i].prompt, "text": texts[i]} | beside for i, beside in chosen]


def _copy(trace: Trace, kind: int, known: Corpora) -> dict[str, Any]:
    """The training story that has the longest copied span, or that of its skeleton if the text is a template copy."""
    template = kind == 2
    story = trace.template_story if template else trace.longest_story
    text = known.index.story(story) if story >= 0 else ""
    return {
        "kind": KINDS[kind],
        "words": trace.template if template else trace.longest,
        "span": trace.template_span if template else trace.span,
        "story": story,
        "story_text": text,
        "story_span": _of_same_skeleton(trace.template_skeleton, text, known) if template else trace.span,
    }


def _plot(trace: Trace, known: Corpora) -> dict[str, Any]:
    """The training story with the nearest plot; no span is marked."""
    text = known.index.story(trace.plot_story)
    return {
        "kind": PLOT,
        "cosine": trace.plot,
        "span": "",
        "story": trace.plot_story,
        "story_text": text,
        "story_span": "",
    }


def _of_same_skeleton(skeleton: str, text: str, known: Corpora) -> str:
    """The words of the text's first span that has this skeleton; empty if there is none."""
    wanted, found, own = skeleton.split(), known.skeleton(text).split(), words(text)
    n = len(wanted)
    at = next((i for i in range(len(found) - n + 1) if found[i : i + n] == wanted), None)
    return "" if at is None else " ".join(own[at : at + n])
