"""Findings: sentences that carry their numbers."""

import html
import math
from collections import Counter
from dataclasses import dataclass, replace

import torch

from tslens.analysis.heads import EVIDENT, FADING, GROWING, MOSTLY, PUBLISHED, ROLES
from tslens.analysis.heads.ablation_result import MATTERING
from tslens.analysis.lens import settled
from tslens.analysis.lens.result import PER
from tslens.analysis.neurons import SILENT
from tslens.analysis.neurons.held_out_result import ALIKE, TESTED
from tslens.corpus import counted
from tslens.report.causes import Causes
from tslens.report.causes_view import claim
from tslens.report.compute import ReportData
from tslens.report.features import FoundFeatures
from tslens.report.features import claim as claim_of_features
from tslens.twins import TwinsResult


@dataclass(frozen=True)
class Finding:
    """A number, the claim about it, and its evidence."""

    figure: str
    claim: str
    evidence: str
    section: str
    leads: bool = True
    """False for a count that untrained twins reach too, or that was compared with none."""


def findings(data: ReportData) -> list[Finding]:
    """The findings of a report: first those that untrained twins do not reach, most general first."""
    said = [say(data) for say in (_prediction, _roles, _parts_of_speech, _induction, _depth, _words, _published_rule)]
    if data.causes is not None:
        said.insert(2, _causes(data.causes))
    said += map(_features, data.features)
    return sorted(said, key=lambda finding: not finding.leads)


def card(finding: Finding) -> str:
    """The finding as an item of the page's list; one that does not lead is grey."""
    escape = html.escape
    figure = f'<a class="figure" href="#{finding.section}">{escape(finding.figure)}</a>'
    claim, evidence = escape(finding.claim), escape(finding.evidence)
    aside = "" if finding.leads else ' class="aside"'
    return f'<li{aside}>{figure}<p class="claim">{claim}</p><p class="evidence">{evidence}</p></li>'


def _beside(twins: TwinsResult | None, label: str, unit: str = "") -> tuple[str, str, bool]:
    """For a count: its twins' in parentheses, a sentence of evidence, and whether it leads."""
    if twins is None:
        return "not compared with untrained twins", "No untrained twin was counted.", False
    at = twins.place(label)
    doubt = twins.doubt(label)
    evidence = (
        f"On {counted(twins.stories)}: {int(twins.count[at]):,}{unit} [{float(twins.low[at]):,.1f}, "
        f"{float(twins.high[at]):,.1f}], {len(twins.twins)} untrained twins {twins.range_of(label)}, "
        f"p = {float(twins.p[at]):.2f}{f': {doubt}' if doubt else ''}."
    )
    return f"untrained twins: {twins.range_of(label)}", evidence, not doubt


def _twins_of(twins: TwinsResult | None, label: str) -> str:
    """The twins of a count that evidence names, in parentheses after it; nothing without twins."""
    return "" if twins is None else f" (untrained twins: {twins.range_of(label)})"


def _prediction(data: ReportData) -> Finding:
    low, high = data.loss.interval("text_bytes")
    return Finding(
        f"{data.loss.bits_per_byte:.3f} bits per byte",
        f"is what it needs to predict {data.source}: {data.loss.nats_per_token:.3f} nats per token.",
        f"{counted(len(data.loss.nats))}, {int(data.loss.tokens.sum()):,} tokens; "
        f"{_interval(low, high, '.3f', ' bits per byte')}. {data.remark}".rstrip(),
        "model",
    )


def _roles(data: ReportData) -> Finding:
    heads = data.heads
    names = [ROLES[code] for code in heads.role_code.flatten().tolist()]
    counts = Counter(name for name in names if name in EVIDENT)
    described = [f"{names.count(kind)} {kind}" for kind in ("content-dependent", "diffuse") if kind in names]
    others = f"Of the others {' and '.join(described)}: descriptions, not roles." if described else ""
    if data.causes is not None and (lost := data.causes.lost):
        others = f"{lost} more, which swaps contradict, do not count; twins are not swapped. {others}".rstrip()
    beside, evidence, leads = _beside(data.twins, "heads with a role")
    figure = f"{sum(counts.values())} of {len(names)} heads"
    if not counts:
        said = f"{evidence} {others}".rstrip()
        return Finding(figure, f"have a role that beats its null ({beside}).", said, "heads", False)
    effect = torch.tensor([name in EVIDENT for name in names]).view_as(heads.effect)
    best = int(torch.where(effect, heads.effect.nan_to_num(-1.0), -1.0).argmax())
    layer, head = divmod(best, heads.effect.shape[1])
    low, high = float(heads.effect_low.flatten()[best]), float(heads.effect_high.flatten()[best])
    return Finding(
        figure,
        f"have a role that beats its null: {_listed(counts)} ({beside}).",
        f"{evidence} The clearest is layer {layer}, head {head}, {names[best]}: effect "
        f"{float(heads.effect.flatten()[best]):.2f} [{low:.2f}, {high:.2f}], q "
        f"{_small(float(heads.q.flatten()[best]))}. {others}".rstrip(),
        "heads",
        leads,
    )


def _causes(causes: Causes) -> Finding:
    figure, said, more = claim(causes)
    beside, evidence, leads = _beside(causes.ablated, MATTERING)
    return Finding(figure, f"{said} ({beside}).", f"{evidence} {more}", "heads", leads)


def _features(found: FoundFeatures) -> Finding:
    figure, said = claim_of_features(found, 0)
    where = f"of a sparse autoencoder of {found.compared.hook}"
    return Finding(figure, f"{where} {said}", found.recovered.said(), "features", found.exceeds[0])


def _induction(data: ReportData) -> Finding:
    heads = data.heads
    best = int(heads.induction_random.nan_to_num(-1.0).argmax())
    layer, head = divmod(best, heads.induction_random.shape[1])
    on_random, on_stories, lift = (
        float(t.flatten()[best]) for t in (heads.induction_random, heads.induction, heads.induction_lift)
    )
    found = int((heads.role_code == ROLES.index("induction")).sum())
    beside, evidence, leads = _beside(data.twins, "induction heads")
    nearest = "the strongest" if found else "the nearest"
    return Finding(
        f"{found} induction {'head' if found == 1 else 'heads'}",
        f"by role ({beside}). On repeated random tokens {nearest}, layer {layer}, head {head}, gives "
        f"{on_random:.0%} of its attention to the token that followed the first time.",
        f"{evidence} On natural stories, where a token has occurred before, it gives {on_stories:.0%}, "
        f"{lift:.1f} times what even attention would.",
        "heads",
        leads and found > 0,
    )


def _published_rule(data: ReportData) -> Finding:
    heads = data.heads
    beside, evidence, _ = _beside(data.twins, PUBLISHED)
    return Finding(
        f"{int(heads.published_positional.sum())} of {heads.r_full.numel()} heads",
        f"would be called positional by the published rule ({beside}): correlation of weight and distance above 0.5 "
        f"over the full square. Over the causal half it is above 0.5 in {int((heads.r_causal > 0.5).sum())}"
        f"{_twins_of(data.twins, GROWING)} and below -0.5, where attention fades with distance, in "
        f"{int((heads.r_causal < -0.5).sum())}{_twins_of(data.twins, FADING)}.",
        f"{evidence} The largest published correlation is {_largest(heads.r_full):.2f}. The positional fraction of "
        f"{int((heads.positional_low > 0.5).sum())} heads{_twins_of(data.twins, MOSTLY)} is above 0.5 with its whole "
        "interval; between 0.4 and 0.6 no head is called positional.",
        "heads",
        False,
    )


def _parts_of_speech(data: ReportData) -> Finding:
    t = data.tested
    named = t.label >= 0
    counts = Counter(t.tags[label] for label in t.label[named & t.predicts].tolist())
    claim = "have a part of speech that predicts where they fire, on other stories and other words, rare or frequent"
    said = f"{claim}: {_listed(counts)}" if counts else claim
    return _predicting(data, "part-of-speech neurons", named, int((data.neurons.label >= 0).sum()), said)


def _words(data: ReportData) -> Finding:
    claim = "prefer one word, and fire on it in other stories too"
    found = _predicting(data, "one-word neurons", data.tested.by_word, int(data.neurons.by_word.sum()), claim)
    silent = int((data.neurons.firing_rate == 0).sum())
    never = f"{silent:,} never fire{_twins_of(data.twins, SILENT)}."
    return replace(found, evidence=f"{found.evidence} {never}") if silent else found


def _predicting(data: ReportData, label: str, named: torch.Tensor, on_all: int, claim: str) -> Finding:
    """Of the neurons that one half of the stories gives a label, those whose label predicts on the other half."""
    t = data.tested
    predicts = named & t.predicts
    found = int(predicts.sum())
    beside, evidence, leads = _beside(data.twins, f"{label} that predict")
    earned, have = _twins_of(data.twins, label), "1 neuron has one" if on_all == 1 else f"{on_all:,} neurons have one"
    more = (
        f"One half of the stories gives {int(named.sum()):,} such labels; {int(named.sum()) - found:,} of them do not "
        f"predict on the other (tail selectors) or are untested. On all stories {have}{earned}."
        if t.n_tested
        else f"{t.said()}."
    )
    if found:
        at = _best(torch.where(predicts, t.least, -1.0))
        (area, hits), low, high = t.value[at][:2].tolist(), t.low[at].tolist(), t.high[at].tolist()
        base = float(t.value[at][TESTED.index("base_rate")])
        among = "" if t.by_word[at] else f", among words of like frequency {float(t.value[at][ALIKE]):.2f}"
        more += (
            f" For instance {at[0]}.{at[1]}, {t.label_of(*at)}: AUROC {area:.2f} [{low[0]:.2f}, {high[0]:.2f}]{among}, "
            f"and of its highest tenth {hits:.0%} [{low[1]:.0%}, {high[1]:.0%}] are such tokens, of all {base:.0%}."
        )
    figure = f"{found:,} of {named.numel():,} neurons"
    return Finding(figure, f"{claim} ({beside}).", f"{evidence} {more}", "neurons", leads and found > 0)


def _best(support: torch.Tensor) -> tuple[int, int]:
    """Layer and neuron with the most support."""
    layer, neuron = divmod(int(support.nan_to_num(-1.0).argmax()), support.shape[1])
    return layer, neuron


def _depth(data: ReportData) -> Finding:
    depth = data.depth
    at = len(depth.depths) - 2
    low, high = float(depth.agreement_low[at]), float(depth.agreement_high[at])
    beside, evidence, leads = _beside(data.twins, label := settled(depth.depths[at]), f" of {PER:,} positions")
    if (twins := data.twins) is not None:
        least, most = (float(of[twins.place(label)]) / PER for of in (twins.least, twins.most))
        beside = f"untrained twins: {least:.0%} to {most:.0%}"
    return Finding(
        f"{float(depth.agreement[at]):.0%} settled",
        "before the last block: at that share of positions the lens's likeliest token is already the model's own "
        f"({float(depth.agreement[0]):.0%} before any block; {beside}).",
        f"Over {counted(depth.stories)}: {_interval(low, high, '.0%')}. {evidence} Read by depth, the loss goes from "
        f"{float(depth.loss[0]):.2f} through {float(depth.loss[at]):.2f} to {float(depth.loss[-1]):.2f} nats a token.",
        "lens",
        leads,
    )


def _interval(low: float, high: float, form: str, unit: str = "") -> str:
    known = math.isfinite(low)
    return f"95% interval over stories {low:{form}} to {high:{form}}{unit}" if known else "one story gives no interval"


def _listed(counts: Counter[str]) -> str:
    """'12 NOUN, 7 VERB and 3 others'."""
    common = counts.most_common(5)
    parts = [f"{count:,} {name}" for name, count in common]
    rest = sum(counts.values()) - sum(count for _, count in common)
    parts += [f"{rest:,} other"] if rest else []
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _small(q: float) -> str:
    return "< 0.001" if q < 0.001 else f"= {q:.3f}"


def _largest(values: torch.Tensor) -> float:
    return float(values.nan_to_num(-1.0).max())
