"""Counts of the labels of a model and of its untrained twins on the same stories, kept beside the model."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch

from tslens import models, stats
from tslens.analysis import heads, lens, neurons
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.halves import ENOUGH, FEWEST, PAIRS, around, leading, on_halves, warn_of_few
from tslens.memory import give_back
from tslens.models.twins import twins
from tslens.progress import off, stage
from tslens.result import read_on
from tslens.scan import Reducer, reading
from tslens.twins import kept as store
from tslens.twins.reading import Question, ask
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

TWINS, STORIES = 19, 100
VERSION = 13
"""Part of the key of kept counts: raise it when the rule of a label changes."""
MODEL = "the model"
QUESTIONS: tuple[Reducer[Any, Any], ...] = (
    heads.Roles(),
    heads.Kernels(),
    neurons.Profiles(),
    neurons.HeldOut(whole=False),
    lens.ByDepth(every=4),
)
"""What is counted unless something else is asked: roles and kernels of heads, labels of neurons and those that predict
where they fire on other stories, and positions that the lens settles; of a model without MLPs no neurons."""
OF_NEURONS = (neurons.Profiles, neurons.HeldOut)

Counts = dict[str, int]


class Counted(Protocol):
    """A Result that counts its labels."""

    def counts(self) -> Counts:
        """The number of heads, neurons, or positions in 1,000, with each label that claims something."""
        ...


def compare(
    model: "LanguageModel",
    stories: Iterable[str],
    reducers: Sequence[Reducer[Any, Any]] | None = None,
    *,
    n: int = TWINS,
    limit: int = STORIES,
) -> TwinsResult:
    """Count the labels of a model and of `n` of its untrained twins on the first `limit` stories, each text once.

    Every reducer's Result has `counts()`; the reducers are `usual_questions` unless given. All counts are kept in the
    run's folder, or else in the cache: a second call reads them, and a call that was stopped is resumed.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    texts = enough_texts(stories, n, limit)
    reducers = usual_questions(model) if reducers is None else reducers
    (asked,), chosen = questions(model, texts, stories, [reducers]), twins(n)
    ask(model, texts, [asked], chosen)
    of = {label: units(model, label) for label in asked.kept[MODEL]}
    found = result_of(models.name_of(model), len(texts), asked.kept, [str(twin) for twin in chosen], of, read_once=True)
    return cast(TwinsResult, read_on(found, stories))


def kept_counts(model: "LanguageModel", stories: Iterable[str], reducer: Reducer[Any, Any]) -> TwinsResult | None:
    """The counts of `usual_questions` beside those of all twins, if these are kept for these stories and this reducer
    is one of them, as a page or a study leaves them; None otherwise, without reading a twin."""
    if isinstance(models.spec_of(model, compressors=True), models.CompressorSpec):  # which has no twins
        return None
    asked, texts = usual_questions(model), read_texts(stories, STORIES)
    if reducer not in asked or len(texts) < FEWEST:
        return None
    known, _ = store.read(model, store.key(str(VERSION), model, texts, stories, asked), is_whole)
    names = [str(twin) for twin in twins(TWINS)]
    if not {MODEL, *names} <= known.keys():
        return None
    of = {label: units(model, label) for label in known[MODEL]}
    found = result_of(models.name_of(model), len(texts), known, names, of, read_once=True)
    return cast(TwinsResult, read_on(found, stories))


def usual_questions(model: "LanguageModel") -> tuple[Reducer[Any, Any], ...]:
    """`QUESTIONS`, without those about neurons where the model has none."""
    spec = models.spec_of(model)
    return tuple(one for one in QUESTIONS if spec.mlp_width or not isinstance(one, OF_NEURONS))


def enough_texts(stories: Iterable[str], n: int, limit: int) -> list[str]:
    """The first stories, each text once; InputError for fewer than give an interval, or for no twin."""
    if n < 1:
        raise InputError(f"{n} twins are no control; give 1 or more, {TWINS} for p = 0.05.")
    texts = read_texts(stories, limit)
    if len(texts) < FEWEST:
        raise InputError(f"An interval of a count needs {FEWEST} different stories; there are {len(texts)}.")
    warn_of_few(len(texts))
    return texts


def read_texts(stories: Iterable[str], limit: int) -> list[str]:
    """The first stories, each text once."""
    return list(dict.fromkeys(islice(several_texts(stories), limit)))


def questions(
    model: "LanguageModel", texts: Sequence[str], stories: object, several: Sequence[Sequence[Reducer[Any, Any]]]
) -> list[Question]:
    """What each of several comparisons asks of the twins: how many heads or neurons have each label. The model's own
    counts are there; those that are not kept are read once for all comparisons."""
    kept = [store.read(model, store.key(str(VERSION), model, texts, stories, one), is_whole) for one in several]
    if left := [i for i, (known, _) in enumerate(kept) if MODEL not in known]:
        with stage("counting labels"), off():
            counted = _on_halves(model, texts, [several[i] for i in left])
        for i, found in zip(left, counted, strict=True):
            known, place = kept[i]
            known |= found
            store.write(place, known)
    return [Question(one, _all_of, known, place) for one, (known, place) in zip(several, kept, strict=True)]


def units(model: "LanguageModel", label: str) -> int:
    """How many heads or neurons of a model could have a label; 0 for a share of positions."""
    spec = models.spec_of(model)
    heads_of_all = spec.n_layers * spec.n_heads
    if "positions" in label:
        return 0
    if "queries and keys" in label:
        return heads_of_all + spec.n_layers * spec.key_value_heads
    return heads_of_all if "heads" in label or "kernels" in label else spec.n_layers * spec.mlp_width


def result_of(
    model: str,
    stories: int,
    kept: Mapping[str, Counts],
    names: list[str],
    of: Mapping[str, int],
    *,
    read_once: bool = False,
) -> TwinsResult:
    """The counts of a model, of halves of its stories and of the twins of these names, as kept. `of` is how many heads
    or neurons could have a label; 0, or without an entry, a share of positions or prompts. Counts in which a half reads
    each of its stories once lead only where the stories are enough for their intervals (see `halves.around`)."""
    labels = list(kept[MODEL])
    own, halves, of_twins = (
        torch.tensor([[kept[name][label] for label in labels] for name in rows])
        for rows in ([MODEL], [name for name in kept if name.startswith("half ")], names)
    )
    count, most = own[0], of_twins.amax(0)
    units_of = torch.tensor([of.get(label, 0) for label in labels])
    low, high = around(count, halves, units_of)
    p = torch.from_numpy(stats.rank_p(count.numpy(), of_twins.numpy())).float()
    few = read_once and stories < ENOUGH
    return TwinsResult(
        model=model,
        stories=stories,
        labels=labels,
        twins=names,
        count=count,
        low=low,
        high=high,
        least=of_twins.amin(0),
        most=most,
        p=p,
        leads=leading(low, most, p) & ((units_of == 0) | (not few)),
        of_twins=of_twins,
    )


def _all_of(answers: Iterable[Counted]) -> Counts:
    counts: Counts = {}
    for answer in answers:
        counts |= answer.counts()
    return counts


def _on_halves(
    model: "LanguageModel", texts: Sequence[str], several: Sequence[Sequence[Reducer[Any, Any]]]
) -> list[dict[str, Counts]]:
    """For each comparison the counts on all texts, and those on halves of them (see `on_halves`). Reducers that read
    the same are read together, others one after the other: the states of many halves are large."""
    asked = [reducer for reducers in several for reducer in reducers]
    counted: list[list[Counts]] = [[] for _ in asked]
    for first, reducer in enumerate(asked):
        if not counted[first]:
            same = [i for i, other in enumerate(asked) if reading(other) == reading(reducer)]
            for answers in on_halves(model, texts, [asked[i] for i in same]):
                for i, answer in zip(same, answers, strict=True):
                    counted[i].append(answer.counts())
            give_back()
    rest, found = iter(counted), []
    for reducers in several:
        of_halves = zip(*islice(rest, len(reducers)), strict=True)
        merged = [dict(chain.from_iterable(counts.items() for counts in parts)) for parts in of_halves]
        found.append({f"half {i - 1}" if i else MODEL: counts for i, counts in enumerate(merged)})
    return found


def is_whole(found: Any) -> bool:
    """Whether a file holds counts: of the model, of all halves, and of some twins, all of the same labels."""
    if not isinstance(found, dict) or not all(isinstance(counts, dict) for counts in found.values()):
        return False
    halves = [f"half {i}" for i in range(2 * PAIRS)]
    values = [value for counts in found.values() for value in counts.values()]
    return (
        {MODEL, *halves} <= found.keys()
        and all(counts.keys() == found[MODEL].keys() for counts in found.values())
        and all(type(value) is int for value in values)
    )
