"""How often plants have the labels that they should have, and other heads and neurons those."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from tslens.analysis import heads
from tslens.analysis.heads.kernels import POSITIONAL
from tslens.analysis.heads.result import EVIDENT
from tslens.audit.coverage import one_sided
from tslens.audit.judging import (
    ALL,
    ANY_KIND,
    ANY_WRITTEN,
    LABELS,
    MORE,
    ONE_WORD,
    PART_OF_SPEECH,
    PLANTED_KINDS,
    PREDICTS,
    SETS,
    Judged,
    right_kinds,
    right_more,
)
from tslens.audit.neuron_plants import NEURONS
from tslens.audit.plants import HEADS

if TYPE_CHECKING:
    from tslens.audit.result import AuditResult

MOST_FALSE = 0.05


def kind_of_label(judged: Judged) -> str:
    """The one of `LABELS` that the label of a head or neuron is; empty where it claims nothing."""
    if judged.kind == "head":
        return judged.label if judged.label in EVIDENT else ""
    return judged.label if judged.label in (ONE_WORD, "") else PART_OF_SPEECH


def expected(judged: Judged) -> str:
    """The one of `LABELS` that a pure plant should get; empty for random components, for mixtures, and for plants whose
    right label claims nothing or is not the only one."""
    if judged.random or judged.mixture:
        return ""
    if judged.kind == "head":
        labels = HEADS[judged.truth].labels
        return labels[0] if len(labels) == 1 and labels[0] in EVIDENT else ""
    wanted = NEURONS[judged.truth].label
    return wanted if wanted in (ONE_WORD, "") else PART_OF_SPEECH


@dataclass(frozen=True)
class Tally:
    """How often one label was given, rightly and wrongly."""

    label: str
    planted: int = 0
    """Pure plants that should get it."""
    named: int = 0
    """Of these, those that got it."""
    random: int = 0
    """Random components that could get it: heads, or neurons. Of a kind of key all heads that do not choose it."""
    false: int = 0
    """Of these, those that got it."""

    def __add__(self, other: "Tally") -> "Tally":
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(self)[1:]}
        return Tally(self.label, **sums)


def tallies(judged: Sequence[Judged]) -> dict[str, Tally]:
    """One tally for each of `ALL`."""
    found = {PREDICTS: _of_tests([j for j in judged if j.kind == "neuron"])}
    for label in LABELS:
        kind = "head" if label in EVIDENT else "neuron"
        of_kind = [j for j in judged if j.kind == kind]
        wanted = [j for j in of_kind if expected(j) == label]
        random = [j for j in of_kind if j.random]
        found[label] = Tally(
            label,
            planted=len(wanted),
            named=sum(j.right for j in wanted),
            random=len(random),
            false=sum(kind_of_label(j) == label for j in random),
        )
    found |= _of_kinds([j for j in judged if j.kind == "head"]) | _of_more(judged)
    return {label: found[label] for label in ALL}


def _of_tests(judged: Sequence[Judged]) -> Tally:
    """The tally of `PREDICTS`: neurons of a part of speech, and all others, which have none."""
    wanted = [j for j in judged if expected(j) == PART_OF_SPEECH]
    others = [j for j in judged if j.random or NEURONS[j.truth].label in (ONE_WORD, "")]
    named = sum(j.predicts == NEURONS[j.truth].label for j in wanted)
    return Tally(PREDICTS, len(wanted), named, len(others), sum(bool(j.predicts) for j in others))


def _of_kinds(judged: Sequence[Judged]) -> dict[str, Tally]:
    """One tally for each of `PLANTED_KINDS`, and one of all kinds, those that are not planted too: there every head
    counts that is said to choose a kind and does not."""
    found = {}
    for label, kind in PLANTED_KINDS.items():
        named = [kind in j.kinds for j in judged if j.truth in HEADS and HEADS[j.truth].kind == kind]
        others = [kind in j.wrong_kinds for j in judged if kind not in right_kinds(j.truth)]
        found[label] = Tally(label, len(named), sum(named), len(others), sum(others))
    planted, right = (sum(getattr(tally, field) for tally in found.values()) for field in ("planted", "named"))
    wrong = sum(bool(j.wrong_kinds) for j in judged)
    return found | {ANY_KIND: Tally(ANY_KIND, planted, right, len(judged), wrong)}


def _of_more(judged: Sequence[Judged]) -> dict[str, Tally]:
    """One tally for each of `MORE`, and one of all classes that are written.

    Who could get a label wrongly: a set of words neurons that are random; a kernel heads that position does not decide;
    a written class all heads of models built by hand, but for that of the induction pair, which writes the classes of
    what it copies.
    """
    found, written = {}, [label for label in MORE if _is_written(label) and label != ANY_WRITTEN]
    for label in MORE[:-1]:
        of_kind = [j for j in judged if (j.kind == "neuron") == (label == SETS)]
        wanted = [label in j.more for j in of_kind if label in right_more(j.truth)]
        others = [label in j.more for j in of_kind if label not in right_more(j.truth) and _could(j, label)]
        found[label] = Tally(label, len(wanted), sum(wanted), len(others), sum(others))
    could = [j for j in judged if j.kind == "head" and _could(j, ANY_WRITTEN)]
    wrong = [any(_is_written(label) for label in set(j.more) - set(right_more(j.truth))) for j in could]
    planted, named = (sum(getattr(found[label], part) for label in written) for part in ("planted", "named"))
    return found | {ANY_WRITTEN: Tally(ANY_WRITTEN, planted, named, len(could), sum(wrong))}


def _is_written(label: str) -> bool:
    return label.startswith(heads.WritesResult.label.format(""))


def _could(judged: Judged, label: str) -> bool:
    """Whether it is wrong for this head or neuron to be counted as this one of `MORE`, which it should not be."""
    if label == SETS:
        return judged.random
    if _is_written(label):
        return judged.writes and judged.truth != "induction"
    return judged.random or not (judged.mixture or set(HEADS[judged.truth].labels) & POSITIONAL)


def often_false(labels: Sequence[str], false: Tensor, named: Tensor, low: Tensor, high: Tensor) -> str:
    """The kinds of keys whose share of false discoveries, of all heads that have the kind, lies surely above 5%: the
    lower end of its interval does. In a sentence; empty if there are none."""
    rows = zip(labels, *(part.tolist() for part in (false, named, low, high)), strict=True)
    found = [
        f"'{PLANTED_KINDS[label]}' ({n} of {n + right}, {below:.0%} to {above:.0%})"
        for label, n, right, below, above in rows
        if label in PLANTED_KINDS and below > MOST_FALSE
    ]
    return f" Surely more than {MOST_FALSE:.0%} false discoveries: {', '.join(found)}." if found else ""


def unplanted(labels: Sequence[str], planted: Tensor) -> str:
    """What was not planted, in a sentence; empty if everything was."""
    rows = zip(labels, planted.tolist(), strict=True)
    left = [PLANTED_KINDS[name] for name, n in rows if name in PLANTED_KINDS and not n]
    return f" Not audited, since models of this style hold no plant of them: {', '.join(left)}." if left else ""


def more_found(labels: Sequence[str], planted: Tensor, named: Tensor, random: Tensor, false: Tensor) -> str:
    """How many of `MORE` are found, sets of words by themselves since no audit fails by them; empty without any."""
    of = {label: i for i, label in enumerate(labels)}
    found, more = "", [of[label] for label in MORE if label in of and label not in (ANY_WRITTEN, SETS)]
    if more:
        found += f"{int(named[more].sum())} of {int(planted[more].sum())} kernels and written classes are found, "
    if (at := of.get(SETS)) is not None:
        share = float(false[at] / random[at].clamp(min=1))
        found += f"{int(named[at])} of {int(planted[at])} sets of words ({share:.0%} of random neurons have one; "
        found += "no audit fails by them), "
    return found


def _of_given(found: "AuditResult", label: str) -> str:
    """The share of random components among all that were given a label."""
    at = found.labels.index(label)
    false, named = int(found.false[at]), int(found.named[at])
    return f"{false / max(false + named, 1):.0%}"


def notes(found: "AuditResult") -> list[str]:
    """What a reader of the tables must know."""
    return [
        f"Kinds of keys and written classes have the thresholds of {found.twins} untrained twins here. In an analysis "
        "they have those of 19, or of turned heads where these are higher: heads get them more rarely then, wrongly or "
        "rightly, and how much more rarely is not audited.",
        "The share of what is named so is of all that are named; for one word and sets of words it is of the random "
        f"neurons, which do fire on such words ({_of_given(found, ONE_WORD)} of all that are called after one word are "
        "random). So sets of words fail no audit, neither missed nor found there.",
        "The word of a planted neuron is the commonest: one of which 1,000 random tokens hold fewer than 10 is tested "
        "by tokens of its own (analyze neurons), in no count and in no audit.",
        "Families of kernels have no interval, so there is no coverage of it.",
        one_sided(found.tests, found.test_kinds, found.test_value.tolist(), found.runs),
        "Not audited: written classes but nouns and articles, absolute and broad kernels, words before a neuron's.",
    ]
