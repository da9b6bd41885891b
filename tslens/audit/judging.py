"""Labels that the analyses give to a planted model, held against what each head and neuron is."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tslens import pos
from tslens.analysis import heads, neurons
from tslens.analysis.heads.result import EVIDENT, RolesResult
from tslens.analysis.neurons.held_out_result import HeldOutResult
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.words import words
from tslens.audit.planted import Planted
from tslens.audit.plants import HEADS, NEURONS, PARTS, RANDOM
from tslens.models import LanguageModel
from tslens.scan import Begun, states

ONE_WORD, PART_OF_SPEECH = "one word", "part of speech"
LABELS = (*EVIDENT, PART_OF_SPEECH, ONE_WORD)
"""The labels that claim something, of heads and then of neurons."""

ANY_KIND = heads.KindsResult.label.format("any")
PLANTED_KINDS = {heads.KindsResult.label.format(plant.kind): plant.kind for plant in HEADS.values() if plant.kind}
"""The kinds of keys that are planted, by the names of their counts."""
PREDICTS = f"{PART_OF_SPEECH} that predicts"
"""The label of a neuron's part of speech that holds on other stories and words (`neurons.held_out`)."""
ALL = (*LABELS, PREDICTS, *PLANTED_KINDS, ANY_KIND)


@dataclass(frozen=True)
class Judged:
    """A head or neuron of a planted model, and the label that it got."""

    kind: str
    """`head` or `neuron`."""
    place: tuple[int, int]
    """Layer, and head or neuron."""
    truth: str
    """What it is: a plant, or a kind of random component."""
    label: str
    """What it was called; empty for a neuron without a label."""
    right: bool
    """Whether this is right: of a plant, one of its labels; of a random component, no label that claims something."""
    kinds: tuple[str, ...] = ()
    """Kinds of keys that a head is said to choose."""
    predicts: str = ""
    """The part of speech of a neuron that predicts where it fires on other stories and words."""

    @property
    def random(self) -> bool:
        """Whether it is a random component."""
        return self.truth in RANDOM

    @property
    def mixture(self) -> bool:
        """Whether it is two plants in one head."""
        return self.truth in PARTS

    @property
    def wrong_kinds(self) -> set[str]:
        """Kinds of keys that a head is said to choose, and does not."""
        return set(self.kinds) - right_kinds(self.truth)


def judge(planted: Planted, texts: Sequence[str], kinds: heads.Kinds | None = None) -> list[Judged]:
    """Every head and neuron of a planted model with its label, by one pass over stories. No head has a kind of key
    without `kinds`, whose control knows what untrained twins score."""
    roles, profiles, tested, chosen = answers(planted.model, texts, kinds or heads.Kinds())
    return judge_heads(planted, roles, chosen) + judge_neurons(planted, profiles, tested)


def answers(
    model: LanguageModel, texts: Sequence[str], kinds: heads.Kinds
) -> tuple[RolesResult, ProfilesResult, HeldOutResult, heads.KindsResult]:
    """The roles of heads, the labels of neurons, their tests and the kinds of keys by one pass over stories, the last
    with the generated stories of `kinds` beside them, whose pronouns have a known truth."""
    roles, profiles, tested = heads.Roles(), neurons.Profiles(), neurons.HeldOut()
    found = states(model, texts, [roles, profiles, tested, kinds])
    if kinds.texts:
        states(model, kinds.texts, [Begun(kinds, lambda: found[3])])  # adds to the same sums
    return roles.finish(found[0]), profiles.finish(found[1]), tested.finish(found[2]), kinds.finish(found[3])


def judge_heads(planted: Planted, roles: RolesResult, chosen: heads.KindsResult) -> list[Judged]:
    """Every head with its role, and the kinds of keys that it is said to choose."""
    found, kinds = [], chosen.kinds
    for (layer, head), truth in planted.heads.items():
        label = roles.roles[layer][head]
        right = label not in EVIDENT if truth in RANDOM else label in right_labels(truth, roles, layer, head)
        found.append(Judged("head", (layer, head), truth, label, right, tuple(kinds[layer][head])))
    return found


def right_labels(truth: str, roles: RolesResult, layer: int, head: int) -> tuple[str, ...]:
    """The roles that are right for a plant; for a mixture `unresolved` and the part that has most of its attention."""
    if truth not in PARTS:
        return HEADS[truth].labels
    field, positional = PARTS[truth]
    larger = float(getattr(roles, field)[layer, head]) > 0.5
    return ("unresolved", *(positional if larger else ("content-dependent",)))


def right_kinds(truth: str) -> set[str]:
    """The kinds of keys that a head may be said to choose: none, of one that looks at no content or is random."""
    plant = HEADS.get(truth)
    return set() if plant is None else {plant.kind, *plant.also} - {""}


def judge_neurons(planted: Planted, profiles: ProfilesResult, tested: HeldOutResult) -> list[Judged]:
    """Every neuron with its label: a part of speech, `one word`, or nothing; and the part of speech that predicts."""
    number = words(profiles.pieces)
    planted_word = number[planted.vocabulary.word]
    found = []
    for (layer, neuron), truth in planted.neurons.items():
        tag = int(profiles.label[layer, neuron])
        label = pos.TAGS[tag] if tag >= 0 else ONE_WORD if profiles.by_word[layer, neuron] else ""
        right = label == ("" if truth in RANDOM else NEURONS[truth].label)
        if label == ONE_WORD and truth == ONE_WORD:
            right = bool(number[profiles.word[layer, neuron]] == planted_word)
        sure = int(torch.where(tested.predicts, tested.label, -1)[layer, neuron])
        predicts = pos.TAGS[sure] if sure >= 0 else ""
        found.append(Judged("neuron", (layer, neuron), truth, label, right, predicts=predicts))
    return found


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
    found |= _of_kinds([j for j in judged if j.kind == "head"])
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
