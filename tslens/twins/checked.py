"""Counts of labels that a causal check gives, of a model and of its untrained twins, kept: what no scan answers."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from tslens import models
from tslens.errors import InputError
from tslens.halves import FEWEST
from tslens.models.twins import twins
from tslens.progress import bar, note, off
from tslens.result import read_on
from tslens.twins import kept as store
from tslens.twins.counting import MODEL, Counts, is_whole, result_of
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def named(own: Counts, of_halves: Sequence[Counts]) -> dict[str, Counts]:
    """The counts of a model and of halves of what it read, under the names by which they are kept."""
    return {MODEL: own} | {f"half {i}": counts for i, counts in enumerate(of_halves)}


def checked(
    model: "LanguageModel",
    texts: Sequence[str],
    stories: object,
    version: str,
    own: Callable[[], tuple[Counts, Sequence[Counts]]],
    of_twin: Callable[["LanguageModel"], Counts],
    *,
    n: int,
    rows: int,
    what: str,
    of: int,
    read_once: bool = False,
) -> TwinsResult:
    """The counts of a model (`own`: on all stories, and on halves of them) beside those of `n` twins, on `rows` of the
    texts; both are kept under `version` and all that decides them. `what` is done to `of` neurons or heads, in words;
    `read_once` is that of `result_of`.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    if n < 1 or rows < FEWEST:
        raise InputError(f"{n} twins on {rows} stories are no control: give 1 or more twins, and {FEWEST} stories.")
    kept, place = store.read(model, store.key(version, model, texts, stories, []), is_whole)
    left = [twin for twin in twins(n) if str(twin) not in kept]
    with bar(f"{what} of untrained twins", len(left) + (MODEL not in kept)) as shown:
        if MODEL not in kept:
            with off():
                whole, halves = own()
            kept |= named(whole, halves)
            shown.advance()
        for i, twin in enumerate(left):
            began = time.monotonic()
            with off():
                kept[str(twin)] = of_twin(twin.of(model))
            store.write(place, kept)
            shown.advance()
            if i == 0 and len(left) > 1:
                seconds = (time.monotonic() - began) * (len(left) - 1)
                note(f"{what.capitalize()} of {len(left)} untrained twins, once: about {seconds:.0f} s more.")
    every = dict.fromkeys(kept[MODEL], of)
    found = result_of(models.name_of(model), rows, kept, [str(twin) for twin in twins(n)], every, read_once=read_once)
    return cast(TwinsResult, read_on(found, stories))
