"""Findings: sentences that carry their numbers."""

import math
from collections import Counter
from dataclasses import dataclass

import torch

from tslens.analysis.heads import ROLES
from tslens.analysis.neurons import ProfilesResult
from tslens.corpus import counted
from tslens.report.compute import ReportData


@dataclass(frozen=True)
class Finding:
    """A number, the claim about it, and its evidence."""

    figure: str
    claim: str
    evidence: str
    section: str


def findings(data: ReportData) -> list[Finding]:
    """The findings of a report, most general first."""
    return [say(data) for say in (_prediction, _roles, _induction, _published_rule, _neurons, _depth)]


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
    counts = Counter(name for name in names if name != "unresolved")
    total, resolved = len(names), sum(counts.values())
    left = f"{total - resolved} {'is' if total - resolved == 1 else 'are'}"
    if not resolved:
        return Finding(
            f"0 of {total} heads",
            "have a role that beats its null.",
            f"Tried on {counted(heads.stories)}; the others are called unresolved rather than guessed.",
            "heads",
        )
    effect = torch.where(heads.role_code == ROLES.index("unresolved"), -1.0, heads.effect.nan_to_num(-1.0)).flatten()
    best = int(effect.argmax())
    layer, head = divmod(best, heads.effect.shape[1])
    low, high = float(heads.effect_low.flatten()[best]), float(heads.effect_high.flatten()[best])
    return Finding(
        f"{resolved} of {total} heads",
        f"have a role that beats its null: {_listed(counts)}.",
        f"The clearest is layer {layer}, head {head}, {names[best]}: effect {float(effect[best]):.2f} "
        f"[{low:.2f}, {high:.2f}], q {_small(float(heads.q.flatten()[best]))}. {left} unresolved.",
        "heads",
    )


def _induction(data: ReportData) -> Finding:
    heads = data.heads
    best = int(heads.induction_random.nan_to_num(-1.0).argmax())
    layer, head = divmod(best, heads.induction_random.shape[1])
    on_random, on_stories, lift = (
        float(t.flatten()[best]) for t in (heads.induction_random, heads.induction, heads.induction_lift)
    )
    found = int((heads.role_code == ROLES.index("induction")).sum())
    nearest = "the strongest" if found else "the nearest"
    return Finding(
        f"{found} induction {'head' if found == 1 else 'heads'}",
        f"by role. On repeated random tokens {nearest}, layer {layer}, head {head}, gives {on_random:.0%} of its "
        "attention to the token that followed the first time.",
        f"On natural stories, where a token has occurred before, it gives {on_stories:.0%}, {lift:.1f} times what even "
        "attention would.",
        "heads",
    )


def _published_rule(data: ReportData) -> Finding:
    heads = data.heads
    total = heads.r_full.numel()
    return Finding(
        f"{int(heads.published_positional.sum())} of {total} heads",
        "would be called positional by the published rule (correlation of weight and distance above 0.5 over the full "
        f"square). Over the causal half it is above 0.5 in {int((heads.r_causal > 0.5).sum())} and below -0.5, where "
        f"attention fades with distance, in {int((heads.r_causal < -0.5).sum())}.",
        f"The largest published correlation is {_largest(heads.r_full):.2f}. By the positional fraction, "
        f"{int((heads.positional_low > 0.5).sum())} heads are positional with their whole interval above 0.5.",
        "heads",
    )


def _neurons(data: ReportData) -> Finding:
    n = data.neurons
    labels = n.label.flatten().tolist()
    counts = Counter(n.tags[label] for label in labels if label >= 0)
    counts += Counter({"one word": int(n.by_word.sum())})  # and what is zero goes
    silent = int((n.firing_rate == 0).sum())
    quiet = f" {silent:,} never fire." if silent else ""
    if not counts:
        return Finding(
            f"0 of {len(labels):,} neurons",
            "prefer a part of speech or one word both in their top tokens and on random ones.",
            f"Tried on {n.n_tokens:,} tokens, with the false discovery rate over all neurons and tags.{quiet}",
            "neurons",
        )
    return Finding(
        f"{sum(counts.values()):,} of {len(labels):,} neurons",
        f"prefer a part of speech or one word, in their top tokens and on random ones too: {_listed(counts)}.",
        f"For instance {_clearest(n)}. The others are unresolved.{quiet}",
        "neurons",
    )


def _clearest(n: ProfilesResult) -> str:
    """The neuron whose part of speech is best supported by its top words, or else whose word by random tokens."""
    tagged = bool((n.label >= 0).any())
    support = torch.where(n.label >= 0, n.share_low, -1.0) if tagged else torch.where(n.by_word, n.word_auroc_low, -1.0)
    best = int(support.nan_to_num(-1.0).argmax())
    at = divmod(best, n.label.shape[1])
    name = f"{at[0]}.{at[1]}, {n.label_of(*at)}"
    if not tagged:
        return f"{name}: {float(n.word_share[at]):.0%} of its top tokens, AUROC {float(n.word_auroc[at]):.2f}"
    return (
        f"{name}: {float(n.share[at]):.0%} [{float(n.share_low[at]):.0%}, {float(n.share_high[at]):.0%}] of its "
        f"{int(n.distinct[at])} different top words, {float(n.lift[at]):.1f} times the base rate, AUROC on random "
        f"tokens {float(n.auroc[at]):.2f} [{float(n.auroc_low[at]):.2f}, {float(n.auroc_high[at]):.2f}], "
        f"q {_small(float(n.q[at]))}"
    )


def _depth(data: ReportData) -> Finding:
    depth = data.depth
    at = len(depth.depths) - 2
    low, high = float(depth.agreement_low[at]), float(depth.agreement_high[at])
    return Finding(
        f"{float(depth.agreement[at]):.0%} settled",
        "before the last block: at that share of positions the lens's likeliest token is already the model's own "
        f"({float(depth.agreement[0]):.0%} before any block).",
        f"Over {counted(depth.stories)}: {_interval(low, high, '.0%')}. Read by depth, the loss goes from "
        f"{float(depth.loss[0]):.2f} through {float(depth.loss[at]):.2f} to {float(depth.loss[-1]):.2f} nats a token.",
        "lens",
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
