"""How much of what a model writes is copied, and how much repeats?"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from tslens import progress, stats
from tslens.errors import InputError
from tslens.evaluation.copies import diversity
from tslens.evaluation.copies.cutting import Cut
from tslens.evaluation.copies.names import WHO, sample
from tslens.evaluation.copies.result import CopiesResult
from tslens.evaluation.copies.showing import shown
from tslens.evaluation.copies.tracing import Corpora, Trace, trace_all
from tslens.evaluation.rouge import rouge, rouge_2
from tslens.evaluation.rouge import words as rouge_words
from tslens.ngrams import words

SPAN, WHOLE = 25, 8
"""Words and marks of a copied span from which on a text is a copy, and from which on it is where they are the whole."""
POINTS = 20
FOREIGN = "0unheard0"  # a word that no text has


def copies(
    cuts: Sequence[Cut],
    written: Sequence[str],
    known: Corpora,
    *,
    held_out: Sequence[Cut] = (),
    span: int = SPAN,
    model: str = "",
    twins: Mapping[str, Sequence[str]] = {},
    endings_under: Sequence[Sequence[float]] = (),
) -> CopiesResult:
    """Compare what was written after each prompt with its true ending, with the other texts and with training stories.

    Args:
        cuts: the prompts, with their true endings where known.
        written: the text after each prompt, without it; it may be empty.
        known: the training stories.
        held_out: stories that were not trained on, cut alike; their true endings are treated as texts, as baseline.
        span: words of a copied span, or of its skeleton, from which on a text is a copy; a shorter text of 8 or more is
            one as a whole.
        model: the model's name.
        twins: what untrained twins of the model wrote after the same prompts, by their names.
        endings_under: the log-probability of each true ending under the model, and then under each twin.

    ROUGE and its comparisons follow Eldan and Li (2023, arXiv 2305.07759), on the continuation alone; new n-grams McCoy
    et al. (2023, doi:10.1162/tacl_a_00567). InputError for fewer than two stories.
    """
    _check(cuts, [written, *twins.values(), *endings_under])
    held_out, endings = [cut for cut in held_out if cut.ending], [cut.ending for cut in cuts]
    rows = [*cuts, *held_out, *list(cuts) * len(twins)]
    texts = [*written, *(cut.ending for cut in held_out), *chain.from_iterable(twins.values())]
    references = [*endings, *_next_endings(held_out), *endings * len(twins)]
    who = np.repeat(range(2 + len(twins)), [len(cuts), len(held_out), *[len(cuts)] * len(twins)])
    traces = trace_all(texts, known)
    kind = _kinds(texts, traces, span)
    groups = _groups(rows, [(*WHO, *twins)[i] for i in who])
    return CopiesResult(
        model=model,
        train=known.index.record.source,
        n_train=known.index.n_stories,
        span=span,
        twins=list(twins),
        who=torch.tensor(who),
        kind=torch.tensor(kind),
        shown=shown(rows, texts, who, traces, kind, known),
        **_of_texts(rows, texts, references),
        **_of_endings(endings, len(held_out), endings_under, len(twins)),
        **_of_traces(traces),
        **_varieties(texts, groups, [cut.story for cut in rows]),
    )


def _kinds(texts: Sequence[str], traces: Sequence[Trace], span: int) -> list[int]:
    """Whether each text is a copy, as `CopiesResult.kind`."""
    least = [min(span, max(WHOLE, len(words(text)))) for text in texts]
    return [1 if t.longest >= n else 2 if t.template >= n else 0 for t, n in zip(traces, least, strict=True)]


def _check(cuts: Sequence[Cut], columns: Sequence[Sequence[Any]]) -> None:
    """InputError for fewer than two stories, ValueError for a column that has not one value for each prompt."""
    if wrong := [len(column) for column in columns if len(column) != len(cuts)]:
        raise ValueError(f"{wrong[0]} texts for {len(cuts)} prompts")
    if len({cut.story for cut in cuts}) < 2:
        raise InputError("an interval over stories takes at least 2 stories; give more prompts.")


def _of_texts(rows: Sequence[Cut], texts: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """What each text is after, its length, and its overlap with the true ending, alone and with the prompt."""
    prompted = [_with_prompt(cut, text) for cut, text in zip(rows, texts, strict=True)]
    return {
        "prompts": [cut.prompt for cut in rows],
        "texts": list(texts),
        "story": torch.tensor([cut.story for cut in rows]),
        "cut": torch.tensor([cut.share for cut in rows], dtype=torch.float64),
        "words": torch.tensor([len(words(text)) for text in texts]),
        "rouge": torch.tensor([_rouge(reference, text) for reference, text in zip(references, texts, strict=True)]),
        "with_prompt": torch.tensor([a for a, _ in prompted]),
        "floor": torch.tensor([b for _, b in prompted]),
    }


def _of_endings(endings: Sequence[str], held_out: int, under: Sequence[Sequence[float]], twins: int) -> dict[str, Any]:
    """The log-probability of the true ending of each text's prompt under who wrote the text, and its bytes."""
    sizes, unknown = [len(ending.encode()) for ending in endings], [float("nan")] * len(endings)
    by_writer = [*under, *[unknown] * (1 + twins - len(under))]
    values = [*by_writer[0], *[float("nan")] * held_out, *chain.from_iterable(by_writer[1:])]
    return {
        "ending_log_probability": torch.tensor(values, dtype=torch.float64),
        "ending_bytes": torch.tensor([*sizes, *[0] * held_out, *sizes * twins]),
    }


def _of_traces(traces: Sequence[Trace]) -> dict[str, Any]:
    """What each text has of the training stories."""
    of: dict[str, Any] = {name: torch.tensor([getattr(trace, name) for trace in traces]) for name in _TRACED}
    return of | {"new": torch.tensor(np.stack([trace.new for trace in traces]))}


_TRACED = (
    *("nearest", "nearest_f", "nearest_story", "longest", "longest_story"),
    *("template", "template_story", "plot", "plot_story"),
)


def _next_endings(cuts: Sequence[Cut]) -> list[str]:
    """For each cut the ending of the next story, cut at the same share; empty if there is none."""
    found = []
    for i, cut in enumerate(cuts):
        others = (other for other in [*cuts[i + 1 :], *cuts[:i]] if _alike(other, cut) and other.story != cut.story)
        found.append(next((other.ending for other in others), ""))
    return found


def _alike(a: Cut, b: Cut) -> bool:
    return a.share == b.share or bool(np.isnan(a.share) and np.isnan(b.share))


def _groups(rows: Sequence[Cut], writers: Sequence[str]) -> dict[str, list[int]]:
    """The texts of each set: one writer, one cut."""
    found: dict[str, list[int]] = {}
    for i, cut in enumerate(rows):
        found.setdefault(sample(writers[i], cut.share), []).append(i)
    return found


def _rouge(reference: str, text: str) -> list[list[float]]:
    return [list(score) for score in rouge(reference, text)] if reference else [[float("nan")] * 3] * 3


def _with_prompt(cut: Cut, text: str) -> tuple[float, float]:
    """ROUGE-2 precision with the prompt on both sides, and its floor; NaN without a true ending."""
    if not cut.ending:
        return float("nan"), float("nan")
    story, foreign = cut.prompt + cut.ending, f" {FOREIGN}" * len(rouge_words(text))
    return rouge_2(story, cut.prompt + text).precision, rouge_2(story, cut.prompt + foreign).precision


def _varieties(texts: Sequence[str], groups: dict[str, list[int]], stories: Sequence[int]) -> dict[str, Any]:
    """The nearest other text, distinct-n, self-BLEU and vocabulary growth of each set of two or more stories."""
    chosen = {name: m for name, m in groups.items() if len({stories[i] for i in m}) > 1}
    own = {name: [texts[i] for i in members] for name, members in chosen.items()}
    sizes = [sum(len(words(text)) for text in texts) for texts in own.values()]
    places = np.unique(np.geomspace(1, max(sizes, default=1) or 1, POINTS).astype(int))
    distinct, bleu, near, grown = [], [], [], []
    among = torch.full((len(texts),), float("nan"), dtype=torch.float64)
    for name, of_set in progress.track(own.items(), "comparing texts with one another", len(own)):
        of = [stories[i] for i in chosen[name]]
        distinct.append([_bounds(diversity.distinct(of_set, n, of)) for n in diversity.ORDERS])
        bleu.append(_bounds(diversity.self_bleu(of_set, of)[1]))
        each, mean = diversity.among(of_set, of)
        among[chosen[name]] = torch.tensor(each)
        near.append(_bounds(mean))
        grown.append(diversity.growth(of_set, places.tolist()).T)
    return {
        "samples": list(own),
        "among": among,
        "among_mean": torch.tensor(near).reshape(len(own), 3),
        "distinct": torch.tensor(distinct).reshape(len(own), len(diversity.ORDERS), 3),
        "self_bleu": torch.tensor(bleu).reshape(len(own), 3),
        "places": torch.tensor(places),
        "growth": torch.tensor(np.array(grown).reshape(len(own), len(places), 3)),
    }


def _bounds(interval: stats.Interval) -> list[float]:
    return [float(interval.estimate), float(interval.low), float(interval.high)]
