"""The finding of each answer in a line: the number, what it is of, and what untrained twins have of it."""

from collections.abc import Mapping
from functools import singledispatch

from tslens.analysis.heads import (
    AblationResult,
    AgreementResult,
    KindsResult,
    RolesResult,
    WritesResult,
)
from tslens.analysis.heads.names import commonest
from tslens.analysis.lens import ByDepthResult, settled
from tslens.analysis.neurons import ProfilesResult
from tslens.result import CountedResult, Result
from tslens.twins import TwinsResult

NOTABLE = 5  # that are named in a line
NOT_ASKED = " (no untrained twin was asked)"


@singledispatch
def finding(answer: Result, twins: TwinsResult | None) -> str:
    """What an answer found, in a line; counts of labels beside those of `twins`, where these were counted."""
    return answer.headline().removesuffix(".")


@finding.register
def _(answer: TwinsResult, twins: TwinsResult | None) -> str:
    leads = [i for i in range(len(answer.labels)) if answer.leads[i]]
    said = [answer.said([answer.labels[i]]) for i in leads]
    others = {"not surely more than": answer.count > answer.most, "not more than": (answer.count <= answer.most)}
    for what, chosen in others.items():
        if n := int((chosen & (answer.count > 0) & ~answer.leads).sum()):
            said.append(f"{n} other {'count is' if n == 1 else 'counts are'} {what} those of untrained models")
    return "; ".join([*said, *([answer.by_chance] if leads else [])]) or "no label"


@finding.register(RolesResult)
@finding.register(ProfilesResult)
def _(answer: RolesResult | ProfilesResult, twins: TwinsResult | None) -> str:
    return _counted(answer.counts(), twins)


@finding.register
def _(answer: AgreementResult, twins: TwinsResult | None) -> str:
    return f"{answer.headline().removesuffix('.')}{_to_confirm(twins)}"


def _to_confirm(twins: TwinsResult | None) -> str:
    label = "heads with a role"
    return f"; of a twin {twins.range_of(label)} heads have a role" if twins and label in twins.labels else ""


@finding.register
def _(answer: CountedResult, twins: TwinsResult | None) -> str:
    said = answer.headline()
    return f"{said} {answer.beside_twins}" if answer.beside_twins else f"{said.removesuffix('.')}{NOT_ASKED}"


@finding.register
def _(answer: AblationResult, twins: TwinsResult | None) -> str:
    if answer.copying and not answer.q.isfinite().any():
        return answer.copying
    return finding.dispatch(CountedResult)(answer, twins)


@finding.register(KindsResult)
@finding.register(WritesResult)
def _(answer: KindsResult | WritesResult, twins: TwinsResult | None) -> str:
    having = answer.said() + ("" if answer.of_twins else NOT_ASKED)
    if warning := answer.warning():
        having += f": {warning.strip().removesuffix('.')}"
    return "; ".join([having, *commonest(answer, NOTABLE)])


@finding.register
def _(answer: ByDepthResult, twins: TwinsResult | None) -> str:
    said, label = answer.headline().removesuffix("."), settled(answer.depths[-2])
    return f"{said}; {twins.said([label])}" if twins is not None and label in twins.labels else f"{said}{NOT_ASKED}"


def _counted(counts: Mapping[str, int], twins: TwinsResult | None) -> str:
    """Labels with their counts on all stories; then those on the stories that twins were read on, beside theirs."""
    found = [label for label, n in counts.items() if n]
    said = ", ".join(f"{counts[label]:,} {label}" for label in found) or "no label"
    if twins is None:
        return f"{said}{NOT_ASKED}"
    beside = [label for label in found if label in twins.labels]
    return f"{said}. On {twins.stories:,} {twins.unit}: {twins.said(beside)}." if beside else said
