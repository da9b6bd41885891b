"""The finding of each answer in a line: the number, what it is of, and what untrained twins have of it."""

from collections import Counter
from collections.abc import Mapping
from functools import singledispatch

import torch
from jaxtyping import Float

from tslens.analysis.circuits import AccuracyResult, CompositionResult
from tslens.analysis.heads import (
    AblationResult,
    AgreementResult,
    KernelsResult,
    KindsResult,
    ProbesResult,
    RolesResult,
    SwapsResult,
    WritesResult,
)
from tslens.analysis.heads.names import commonest
from tslens.analysis.heads.probes_result import PARTS
from tslens.analysis.heads.replaced import TOKENS
from tslens.analysis.lens import TUNED_LENS, ByComponentResult, ByDepthResult, LensesResult, ResidualsResult, settled
from tslens.analysis.neurons import HeldOutResult, ProfilesResult
from tslens.evaluation.loss import LossResult
from tslens.result import CountedResult, Result
from tslens.twins import MeasuredResult, TwinsResult

NOTABLE = 5  # that are named in a line
NOT_ASKED = " (twins: not asked)"


@singledispatch
def finding(answer: Result, twins: TwinsResult | None) -> str:
    """What an answer found, in a line; counts of labels beside those of `twins`, where these were counted."""
    return ""


@finding.register
def _(answer: LossResult, twins: TwinsResult | None) -> str:
    low, high = answer.interval()
    bits = f"{answer.bits_per_byte:.3f} bits per byte"
    return f"{answer.nats_per_token:.3f} nats per token ({low:.3f} to {high:.3f}), {bits}"


@finding.register
def _(answer: TwinsResult, twins: TwinsResult | None) -> str:
    leads = [i for i in range(len(answer.labels)) if answer.leads[i]]
    said = [answer.said([answer.labels[i]]) for i in leads]
    rest = sum(int(answer.count[i]) > 0 for i in range(len(answer.labels))) - len(leads)
    others = f"{rest} other {'count is' if rest == 1 else 'counts are'} as untrained models have"
    return "; ".join([*said, *([others] if rest else []), *([answer.by_chance] if said else [])]) or "no label"


@finding.register(RolesResult)
@finding.register(ProfilesResult)
def _(answer: RolesResult | ProfilesResult, twins: TwinsResult | None) -> str:
    return _counted(answer.counts(), twins)


@finding.register
def _(answer: SwapsResult, twins: TwinsResult | None) -> str:
    parts = (x[0, TOKENS] for x in (answer.change, answer.low, answer.high))
    return f"attention that follows the words most: {_strongest(*parts)} (share of its nats beyond uniform attention)"


@finding.register
def _(answer: AgreementResult, twins: TwinsResult | None) -> str:
    if not answer.labelled:
        return "no role says what decides"
    return f"{answer.said()} (agreement {answer.agreement:.2f}){_to_confirm(twins)}"


def _to_confirm(twins: TwinsResult | None) -> str:
    label = "heads with a role"
    return f"; of a twin {twins.range_of(label)} heads have a role" if twins and label in twins.labels else ""


@finding.register
def _(answer: AblationResult, twins: TwinsResult | None) -> str:
    if answer.copying and not answer.q.isfinite().any():
        return answer.copying
    return _beside(answer, _listed(Counter(answer.checks()["finding"])))


@finding.register
def _(answer: ProbesResult, twins: TwinsResult | None) -> str:
    said = [_strongest(*(x[i] for x in (answer.gain, answer.gain_low, answer.gain_high))) for i in range(len(PARTS))]
    each = "; ".join(f"{part} {best}" for part, best in zip(PARTS, said, strict=True))
    return _beside(answer, f"parts of speech, balanced accuracy beyond the embedding's {answer.embedding:.2f}: {each}")


@finding.register(KindsResult)
@finding.register(WritesResult)
def _(answer: KindsResult | WritesResult, twins: TwinsResult | None) -> str:
    having = answer.said() + ("" if answer.of_twins else NOT_ASKED)
    if warning := answer.warning():
        having += f": {warning.strip().removesuffix('.')}"
    return "; ".join([having, *commonest(answer, NOTABLE)])


@finding.register
def _(answer: KernelsResult, twins: TwinsResult | None) -> str:
    return _beside(answer, _counted(answer.counts(), None).removesuffix(NOT_ASKED))


@finding.register
def _(answer: HeldOutResult, twins: TwinsResult | None) -> str:
    return _beside(answer, answer.said())


@finding.register
def _(answer: ByDepthResult, twins: TwinsResult | None) -> str:
    shares = answer.agreement_low.tolist()
    first = next((i for i, share in enumerate(shares) if share >= 0.5), len(shares) - 1)
    said = f"from depth {answer.depths[first]} on the likeliest token is the final one at most positions"
    label = settled(answer.depths[-2])
    return f"{said}; {twins.said([label])}" if twins is not None and label in twins.labels else f"{said}{NOT_ASKED}"


@finding.register
def _(answer: LensesResult, twins: TwinsResult | None) -> str:
    tuned = answer.lenses.index(TUNED_LENS)
    gained = answer.kl.mean(-1)
    both = f"logit lens {gained[1 - tuned]:.2f}, tuned {gained[tuned]:.2f}"
    return _beside(answer, f"KL to the final prediction, mean over depths: {both}")


@finding.register
def _(answer: ByComponentResult, twins: TwinsResult | None) -> str:
    sure = (answer.specific_low > 0) | (answer.specific_high < 0)
    order = answer.specific.abs().masked_fill(~sure, 0).argsort(descending=True)[:NOTABLE].tolist()
    said = [f"{answer.components[i]} {float(answer.specific[i]):+.2f}" for i in order if sure[i]]
    return f"most to the true next token's logit: {', '.join(said) or 'none beyond its null'}"


@finding.register
def _(answer: ResidualsResult, twins: TwinsResult | None) -> str:
    first, last = answer.median[0, 0], answer.median[0, -1]
    return f"median norm of the residual {float(first):.1f} at embed, {float(last):.1f} after the last block"


@finding.register
def _(answer: CompositionResult, twins: TwinsResult | None) -> str:
    return answer.said()


@finding.register
def _(answer: AccuracyResult, twins: TwinsResult | None) -> str:
    return _beside(answer, answer.verdict)


@finding.register
def _(answer: MeasuredResult, twins: TwinsResult | None) -> str:
    return answer.said()


def _strongest(
    value: Float[torch.Tensor, "layer head"],
    low: Float[torch.Tensor, "layer head"],
    high: Float[torch.Tensor, "layer head"],
) -> str:
    """The head with the largest of some numbers, and its number with the interval."""
    layer, head = divmod(int(value.nan_to_num(-torch.inf).argmax()), value.shape[1])
    number, *ends = (float(x[layer, head]) for x in (value, low, high))
    return f"{layer}.{head} {number:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"


def _counted(counts: Mapping[str, int], twins: TwinsResult | None) -> str:
    """Labels with their counts on all stories; then those on the stories that twins were read on, beside theirs."""
    found = [label for label, n in counts.items() if n]
    said = ", ".join(f"{counts[label]:,} {label}" for label in found) or "no label"
    if twins is None:
        return f"{said}{NOT_ASKED}"
    beside = [label for label in found if label in twins.labels]
    return f"{said}. On {twins.stories:,} {twins.unit}: {twins.said(beside)}." if beside else said


def _beside(answer: CountedResult, said: str) -> str:
    """What was said of all stories, then the counts on some of them beside those of untrained twins."""
    return f"{said}. {answer.beside_twins}" if answer.beside_twins else f"{said}{NOT_ASKED}"


def _listed(counts: Mapping[str, int]) -> str:
    """Words with their counts, the commonest first."""
    return ", ".join(f"{n} {word}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
