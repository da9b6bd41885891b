"""Findings: sentences that carry their numbers."""

import html
import math
from collections import Counter
from dataclasses import dataclass, replace

import torch

from tslens.analysis.heads import EVIDENT, ROLES
from tslens.analysis.heads.ablation_result import MATTERING
from tslens.analysis.lens import settled
from tslens.analysis.lens.result import PER
from tslens.analysis.neurons import SILENT
from tslens.analysis.neurons.held_out_result import ALIKE, TESTED
from tslens.corpus import counted
from tslens.report.beside import Beside, counts
from tslens.report.causes import Causes
from tslens.report.causes_view import claim, claims_of_kinds
from tslens.report.compute import ReportData
from tslens.report.features import FoundFeatures
from tslens.report.features import claim as claim_of_features
from tslens.report.glossary import explained
from tslens.report.neurons import FoundNeurons


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
    said = [say(data) for say in (_prediction, _roles, _induction, _depth)]
    if data.neurons is not None:
        said.insert(2, _parts_of_speech(data, data.neurons))
        said.append(_words(data, data.neurons))
    if data.causes is not None:
        kinds = (
            Finding(figure, claimed, more, "heads", leads)
            for figure, claimed, more, leads in claims_of_kinds(data.causes)
        )
        said[2:2] = [_causes(data.causes), *kinds]
    said += map(_features, data.features)
    return sorted(said, key=lambda finding: not finding.leads)


def card(finding: Finding) -> str:
    """The finding as an item of the page's list; one that does not lead is grey."""
    escape = html.escape
    figure = f'<a class="figure" href="#{finding.section}">{escape(finding.figure)}</a>'
    claim, evidence = explained(finding.claim), explained(finding.evidence)
    aside = "" if finding.leads else ' class="aside"'
    return f'<li{aside}>{figure}<p class="claim">{claim}</p><p class="evidence">{evidence}</p></li>'


def _prediction(data: ReportData) -> Finding:
    low, high = data.loss.interval("text_bytes")
    remarks = " ".join(filter(None, [data.loss.said_of_unknown(), data.remark]))
    return Finding(
        f"{data.loss.bits_per_byte:.3f} bits per byte",
        f"is what it needs to predict {data.source}: {data.loss.nats_per_token:.3f} nats per token.",
        f"{counted(len(data.loss.nats))}, {int(data.loss.tokens.sum()):,} tokens; "
        f"{_interval(low, high, '.3f', ' bits per byte')}. {remarks}".rstrip(),
        "model",
        False,
    )


def _roles(data: ReportData) -> Finding:
    heads = data.heads
    names = [ROLES[code] for code in heads.role_code.flatten().tolist()]
    found = Counter(name for name in names if name in EVIDENT)
    described = [f"{names.count(kind)} {kind}" for kind in ("content-dependent", "diffuse") if kind in names]
    others = f"Of the others {' and '.join(described)}: descriptions, not roles." if described else ""
    if data.causes is not None and (lost := data.causes.lost):
        others = f"{lost} more, which swaps contradict, do not count; twins are not swapped. {others}"
    beside = Beside.of(data.twins, "heads with a role", sum(found.values()))
    figure = f"{beside.count} of {len(names)} heads"
    claim = f"have a role that beats its null{beside.where} ({beside.said})."
    if not found:
        said, claim = f"{beside.evidence} {others}".rstrip(), f"have a role that beats its null ({beside.said})."
        return Finding(f"0 of {len(names)} heads", claim, said, "heads", False)
    effect = torch.tensor([name in EVIDENT for name in names]).view_as(heads.effect)
    best = int(torch.where(effect, heads.effect.nan_to_num(-1.0), -1.0).argmax())
    layer, head = divmod(best, heads.effect.shape[1])
    low, high = float(heads.effect_low.flatten()[best]), float(heads.effect_high.flatten()[best])
    return Finding(
        figure,
        claim,
        f"{beside.evidence} On all {counted(heads.stories)}: {_listed(found)}. The clearest is layer {layer}, head "
        f"{head}, {names[best]}: effect "
        f"{float(heads.effect.flatten()[best]):.2f} [{low:.2f}, {high:.2f}], q "
        f"{_small(float(heads.q.flatten()[best]))}. {others}".rstrip(),
        "heads",
        beside.leads,
    )


def _causes(causes: Causes) -> Finding:
    figure, said, more = claim(causes)
    beside = Beside.of(causes.ablated, MATTERING, 0)
    if causes.ablated is not None:
        figure = f"{beside.count} of {causes.roles.role_code.numel()} heads matter"
    return Finding(figure, f"{said}{beside.where} ({beside.said}).", f"{beside.evidence} {more}", "heads", beside.leads)


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
    beside = Beside.of(data.twins, "induction heads", found)
    nearest = "the strongest" if found else "the nearest"
    return Finding(
        f"{beside.count} induction {'head' if beside.count == 1 else 'heads'}",
        f"by role{beside.where} ({beside.said}). On repeated random tokens {nearest}, layer {layer}, head {head}, "
        f"gives {on_random:.0%} of its attention to the token that followed the first time.",
        f"{beside.evidence} On natural stories, where a token has occurred before, it gives {on_stories:.0%}, "
        f"{lift:.1f} times what even attention would.",
        "heads",
        beside.leads and found > 0,
    )


def _parts_of_speech(data: ReportData, found: FoundNeurons) -> Finding:
    claim = "have a part of speech that predicts where they fire, on other stories and other words, rare or frequent"
    named, on_all = found.tested.label >= 0, int((found.profiles.label >= 0).sum())
    return _predicting(data, found, "part-of-speech neurons", named, on_all, claim)


def _words(data: ReportData, of: FoundNeurons) -> Finding:
    claim = "prefer one word, and fire on it in other stories too"
    on_all = int(of.profiles.by_word.sum())
    found = _predicting(data, of, "one-word neurons", of.tested.by_word, on_all, claim)
    silent = counts(data.twins, SILENT, n := int((of.profiles.firing_rate == 0).sum()))
    return replace(found, evidence=f"{found.evidence} {silent} never fire.") if n else found


def _predicting(
    data: ReportData, of_neurons: FoundNeurons, label: str, named: torch.Tensor, on_all: int, claim: str
) -> Finding:
    """Of the neurons that one half of the stories gives a label, those whose label predicts on the other half."""
    t = of_neurons.tested
    predicts = named & t.predicts
    found = int(predicts.sum())
    beside = Beside.of(data.twins, f"{label} that predict", found)
    more = (
        f"Before this test {counts(data.twins, label, on_all)} have a label. On all "
        f"{counted(of_neurons.profiles.n_stories)} one half gives {int(named.sum()):,} such labels, of which "
        f"{int(named.sum()) - found:,} do not predict on the other (tail selectors) or are untested."
        if t.n_tested
        else f"{t.said()}."
    )
    if found:
        clear = predicts & (of_neurons.clear | t.by_word)
        of = Counter(t.tags[i] for i in t.label[predicts].tolist() if i >= 0)
        more += f" The {found:,} that predict are {_listed(of)}." if of and t.n_tested else ""
        if t.n_tested and label.startswith("part") and (odd := found - int(clear.sum())):
            more += f" On all stories {odd:,} of these {found:,} have no such label, or few top tokens that fit it."
        at = _best(torch.where(clear if clear.any() else predicts, t.least, -1.0))
        (area, hits), low, high = t.value[at][:2].tolist(), t.low[at].tolist(), t.high[at].tolist()
        base = float(t.value[at][TESTED.index("base_rate")])
        among = "" if t.by_word[at] else f", among words of like frequency {float(t.value[at][ALIKE]):.2f}"
        more += (
            f" For instance {at[0]}.{at[1]}, {t.label_of(*at)}: AUROC {area:.2f} [{low[0]:.2f}, {high[0]:.2f}]{among}, "
            f"and of its highest tenth {hits:.0%} [{low[1]:.0%}, {high[1]:.0%}] are such tokens, of all {base:.0%}."
        )
    figure = f"{beside.count:,} of {named.numel():,} neurons"
    said = f"{claim}{beside.where and ','}{beside.where} ({beside.said})."
    return Finding(figure, said, f"{beside.evidence} {more}", "neurons", beside.leads and found > 0)


def _best(support: torch.Tensor) -> tuple[int, int]:
    """Layer and neuron with the most support."""
    layer, neuron = divmod(int(support.nan_to_num(-1.0).argmax()), support.shape[1])
    return layer, neuron


def _depth(data: ReportData) -> Finding:
    depth = data.depth
    at = len(depth.depths) - 2
    low, high = float(depth.agreement_low[at]), float(depth.agreement_high[at])
    own, label = float(depth.agreement[at]), settled(depth.depths[at])
    beside = Beside.of(twins := data.twins, label, 0, f" of {PER:,} positions")
    figure, said = own, beside.said
    if twins is not None:
        figure, least, most = (float(of[twins.place(label)]) / PER for of in (twins.count, twins.least, twins.most))
        said = f"untrained twins: {least:.0%} to {most:.0%}"
    return Finding(
        f"{figure:.0%} settled",
        f"before the last block{beside.where}: at that share of positions the lens's likeliest token is already the "
        f"model's own ({float(depth.agreement[0]):.0%} before any block; {said}).",
        f"Over {counted(depth.stories)} {own:.0%}: {_interval(low, high, '.0%')}. {beside.evidence} Read by "
        f"depth, the loss goes from {float(depth.loss[0]):.2f} through {float(depth.loss[at]):.2f} to "
        f"{float(depth.loss[-1]):.2f} nats a token.",
        "lens",
        beside.leads,
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
