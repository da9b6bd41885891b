"""Labels that the analyses give to a planted model, held against what each head and neuron is."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import torch

from tslens import pos
from tslens.analysis import heads, neurons
from tslens.analysis.heads.result import EVIDENT, RolesResult
from tslens.analysis.neurons.held_out_result import HeldOutResult
from tslens.analysis.neurons.result import ProfilesResult
from tslens.audit.mixtures import by_position
from tslens.audit.neuron_plants import NEURONS
from tslens.audit.planted import Place, Planted
from tslens.audit.plants import HEADS, PARTS, RANDOM
from tslens.models import LanguageModel
from tslens.pos.types import words
from tslens.scan import Begun, states

ONE_WORD, PART_OF_SPEECH = "one word", "part of speech"
LABELS = (*EVIDENT, PART_OF_SPEECH, ONE_WORD)
"""The labels that claim something, of heads and then of neurons."""

ANY_KIND = heads.KindsResult.label.format("any")
PLANTED_KINDS = {heads.KindsResult.label.format(plant.kind): plant.kind for plant in HEADS.values() if plant.kind}
"""The kinds of keys that are planted, by the names of their counts."""
PREDICTS = f"{PART_OF_SPEECH} that predicts"
"""The label of a neuron's part of speech that holds on other stories and words (`neurons.held_out`)."""
ANY_WRITTEN = heads.WritesResult.label.format("any")
_COUNTED = [*(plant.more for plant in HEADS.values()), *(plant.more for plant in NEURONS.values())]
MORE = (*dict.fromkeys(chain.from_iterable(_COUNTED)), ANY_WRITTEN)
"""What other questions count plants as: families of kernels, classes that are written, sets of words."""
(SETS,) = NEURONS["set of words"].more
ALL = (*LABELS, PREDICTS, *PLANTED_KINDS, ANY_KIND, *MORE)


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
    more: tuple[str, ...] = ()
    """Those of `MORE` that it is counted as."""
    writes: bool = True
    """Whether it is known what it writes."""
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


@dataclass(frozen=True)
class Controlled:
    """The reducers whose labels need to know what untrained twins score; without it no head has such a label."""

    kinds: heads.Kinds = field(default_factory=heads.Kinds)
    writes: heads.Writes = field(default_factory=heads.Writes)


@dataclass(frozen=True)
class Answers:
    """What is said of a model's heads and neurons."""

    roles: RolesResult
    kernels: heads.KernelsResult
    kinds: heads.KindsResult
    writes: heads.WritesResult
    profiles: ProfilesResult
    tested: HeldOutResult
    patterns: neurons.PatternsResult

    def counts(self) -> Counter[str]:
        """How many heads or neurons have each label, by the names that results give to their counts."""
        return sum((Counter(getattr(self, f.name).counts()) for f in dataclasses.fields(self)), Counter[str]())


def judge(planted: Planted, texts: Sequence[str], controlled: Controlled | None = None) -> list[Judged]:
    """Every head and neuron of a planted model with its labels, by one pass over stories."""
    found = answers(planted.model, texts, controlled or Controlled())
    return judge_heads(planted, found, by_position(planted, texts)) + judge_neurons(planted, found)


def answers(model: LanguageModel, texts: Sequence[str], controlled: Controlled) -> Answers:
    """All answers by one pass over stories; kinds of keys with their generated stories beside them, whose pronouns have
    a known truth."""
    roles, profiles, tested, patterns = heads.Roles(), neurons.Profiles(), neurons.HeldOut(), neurons.Patterns()
    kinds, writes = controlled.kinds, controlled.writes
    found = states(model, texts, [roles, profiles, tested, kinds, writes])
    if kinds.texts:
        states(model, kinds.texts, [Begun(kinds, lambda: found[3])])  # adds to the same sums
    of_heads = roles.finish(found[0])
    return Answers(
        of_heads,
        heads.kernels(of_heads),
        kinds.finish(found[3]),
        writes.finish(found[4]),
        profiles.finish(found[1]),
        tested.finish(found[2]),
        patterns.finish(found[2]),  # which reads as the tests of labels do
    )


def judge_heads(planted: Planted, found: Answers, positional: Mapping[Place, bool]) -> list[Judged]:
    """Every head with its role, the kinds of keys that it is said to choose, its kernel, and what it writes;
    `positional` says of every mixture whether that is its larger part."""
    judged, kinds, written = [], found.kinds.kinds, found.writes.kinds
    for (layer, head), truth in planted.heads.items():
        label, family = found.roles.roles[layer][head], found.kernels.families[layer][head]
        larger = positional.get((layer, head), False)
        right = label not in EVIDENT if truth in RANDOM else label in right_labels(truth, positional=larger)
        more = [f"{family} kernels"] if family else []
        more += [heads.WritesResult.label.format(name) for name in written[layer][head]]
        about = (tuple(kinds[layer][head]), tuple(more), planted.writes)
        judged.append(Judged("head", (layer, head), truth, label, right, *about))
    return judged


def right_labels(truth: str, *, positional: bool) -> tuple[str, ...]:
    """The roles that are right for a plant; for a mixture `unresolved` and its larger part."""
    if truth not in PARTS:
        return HEADS[truth].labels
    return ("unresolved", *(PARTS[truth][1] if positional else ("content-dependent",)))


def right_kinds(truth: str) -> set[str]:
    """The kinds of keys that a head may be said to choose: none, of one that looks at no content or is random."""
    plant = HEADS.get(truth)
    return set() if plant is None else {plant.kind, *plant.also} - {""}


def judge_neurons(planted: Planted, answers: Answers) -> list[Judged]:
    """Every neuron with its label: a part of speech, `one word`, or nothing; the part of speech that predicts, and
    whether a set of words does."""
    profiles, tested, in_set = answers.profiles, answers.tested, answers.patterns.predicts[0]
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
        more = (SETS,) if in_set[layer, neuron] else ()
        found.append(Judged("neuron", (layer, neuron), truth, label, right, more=more, predicts=predicts))
    return found


def right_more(truth: str) -> tuple[str, ...]:
    """Those of `MORE` that a plant should be counted as."""
    plant = HEADS.get(truth) or NEURONS.get(truth)
    return plant.more if plant else ()
