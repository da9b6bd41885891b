"""The notes at the end of a page."""

from collections.abc import Iterator

import torch

from tslens.analysis.heads import FADING, GROWING, MOSTLY, PUBLISHED
from tslens.report.beside import Beside, counts
from tslens.report.compute import ReportData
from tslens.report.neurons import strongest
from tslens.report.payload import Cuts


def about(data: ReportData, cuts: Cuts) -> Iterator[str]:
    """Notes on rounding, on what was cut, and on the evidence; the published rule beside ours."""
    yield (
        "Intervals are 95%. A label is given where an effect beats its null after correction for all that was tried "
        "(Benjamini-Hochberg); otherwise it is unresolved. Attention is kept in 8 bits on a square-root scale (error "
        "at most 0.004) and for the causal half alone; other numbers of the tables in 12 bits."
    )
    if (audit := data.audit) is not None:
        yield f"{audit.verdict} {f'On {audit.corpus} ' if audit.corpus else ''}Made by: {audit.command}"
    yield published_rule(data)
    yield data.live.precision if data.live else f"The model itself could run in this page. {data.no_live}"
    shown, stories = sum(n > 0 for n in cuts.attended), len(data.patterns)
    if shown < stories:
        yield f"Attention is here for {shown} of {stories} stories: more would have outgrown the page's budget."
    for n, pattern in zip(cuts.attended, data.patterns, strict=True):
        if 0 < n < len(pattern.tokens):
            yield f"Of a story of {len(pattern.tokens)} tokens, attention is here for the first {n}."
    if data.neurons is not None and (full := cuts.detail.full) < (neurons := data.neurons.n):
        yield (
            "Of each neuron the page holds its statistics. Contexts, samples and the logits that it writes are here in "
            f"full for {full:,} of {neurons:,} neurons, those whose label has the best evidence (least false discovery "
            f"rate, then AUROC); of the others {strongest(cuts.detail)}: more would have outgrown the page's budget."
        )


def published_rule(data: ReportData) -> str:
    """How many heads a rule of others calls positional."""
    heads, twins = data.heads, data.twins
    beside = Beside.of(twins, PUBLISHED, int(heads.published_positional.sum()))
    growing, fading, mostly = (
        counts(twins, label, int(found.sum()))
        for label, found in (
            (GROWING, heads.r_causal > 0.5),
            (FADING, heads.r_causal < -0.5),
            (MOSTLY, heads.positional_low > 0.5),
        )
    )
    return (
        f"{beside.count} of {heads.r_full.numel()} heads would be called positional by the published "
        f"rule{beside.where} ({beside.said}): correlation of weight and distance above 0.5 over the full square. Over "
        f"the causal half it is above 0.5 in {growing} and below -0.5, where attention fades with distance, in "
        f"{fading}. {beside.evidence} The largest published correlation is {_largest(heads.r_full):.2f}. The "
        f"positional fraction of {mostly} is above 0.5 with its whole interval; between 0.4 and 0.6 no head is called "
        "positional."
    )


def _largest(values: torch.Tensor) -> float:
    return float(values.nan_to_num(-1.0).max())
