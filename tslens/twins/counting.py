"""Counts of the labels of a model and of its untrained twins on the same stories, kept beside the model."""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch

from tslens import models
from tslens.errors import InputError
from tslens.halves import FEWEST, PAIRS, on_halves, reach
from tslens.models.twins import twins
from tslens.progress import bar, note, off
from tslens.result import read_on
from tslens.scan import Reducer, scan
from tslens.twins import kept as store
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

TWINS, STORIES = 19, 100
VERSION = 2
"""Part of the key of kept counts: raise it when the rule of a label changes."""
MODEL = "the model"

Counts = dict[str, int]


class Counted(Protocol):
    """A Result that counts its labels."""

    def counts(self) -> Counts:
        """The number of heads or neurons with each label that claims something."""
        ...


def compare(
    model: "LanguageModel",
    stories: Iterable[str],
    reducers: Sequence[Reducer[Any, Any]],
    *,
    n: int = TWINS,
    limit: int = STORIES,
) -> TwinsResult:
    """Count the labels of a model and of `n` of its untrained twins on the first `limit` stories, each text once.

    Every reducer's Result has `counts()`. All counts are kept in the run's folder, or else in the cache: a second call
    reads them, and a call that was stopped is resumed.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    if n < 1:
        raise InputError(f"{n} twins are no control; give 1 or more, {TWINS} for p = 0.05.")
    texts = list(dict.fromkeys(islice(stories, limit)))
    if len(texts) < FEWEST:
        raise InputError(f"An interval of a count needs {FEWEST} different stories; there are {len(texts)}.")
    name = store.key(str(VERSION), model, texts, stories, reducers)
    kept, place = store.read(model, name, _is_whole)
    chosen = twins(n)
    left = [twin for twin in chosen if str(twin) not in kept]
    with bar("labels of untrained twins", len(left)) as shown:
        if MODEL not in kept:
            with off():
                kept |= _on_halves(model, texts, reducers)
            store.write(place, kept)
        for i, twin in enumerate(left):
            began = time.monotonic()
            with off():
                kept[str(twin)] = _counts(twin.of(model), texts, reducers)
            store.write(place, kept)
            shown.advance()
            if i == 0 and len(left) > 1:
                seconds = (time.monotonic() - began) * (len(left) - 1)
                note(f"Counting {len(left)} untrained twins on {len(texts)} stories, once: about {seconds:.0f} s more.")
    found = _result(models.name_of(model), len(texts), kept, [str(twin) for twin in chosen])
    return cast(TwinsResult, read_on(found, stories))


def _result(model: str, stories: int, kept: Mapping[str, Counts], names: list[str]) -> TwinsResult:
    labels = list(kept[MODEL])
    own, halves, of_twins = (
        torch.tensor([[kept[name][label] for label in labels] for name in rows])
        for rows in ([MODEL], [name for name in kept if name.startswith("half ")], names)
    )
    count, most = own[0], of_twins.amax(0)
    width = reach(halves.double())
    low = (count - width).clamp(min=0)
    return TwinsResult(
        model=model,
        stories=stories,
        labels=labels,
        twins=names,
        count=count,
        low=low.float(),
        high=(count + width).float(),
        least=of_twins.amin(0),
        most=most,
        p=(1 + (of_twins >= count).sum(0)).float() / (1 + len(names)),
        leads=low > most,
        of_twins=of_twins,
    )


def _counts(model: "LanguageModel", texts: Sequence[str], reducers: Sequence[Reducer[Any, Any]]) -> Counts:
    return _all_of(scan(model, texts, reducers))


def _all_of(answers: Iterable[Counted]) -> Counts:
    counts: Counts = {}
    for answer in answers:
        counts |= answer.counts()
    return counts


def _on_halves(
    model: "LanguageModel", texts: Sequence[str], reducers: Sequence[Reducer[Any, Any]]
) -> dict[str, Counts]:
    """The counts on all texts, and those on halves of them (see `on_halves`)."""
    answers = on_halves(model, texts, reducers)
    found = {MODEL: _all_of(next(answers))}
    return found | {f"half {i}": _all_of(half) for i, half in enumerate(answers)}


def _is_whole(found: Any) -> bool:
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
