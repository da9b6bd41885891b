"""How many heads of untrained twins matter, by the rule of the model's own: how often ablation says so of any network.

Ablating every head of a network costs far more than reading it: so there are few stories, the same for the model.
A head matters if the network loses by every kind of ablation. Of a twin the kinds are asked one by one, the strictest
first, until no head is left: mostly one is enough.
"""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import torch

from tslens import models
from tslens.analysis import heads
from tslens.analysis.heads.ablation import DEFAULT
from tslens.analysis.heads.ablation_result import MATTERING
from tslens.errors import InputError
from tslens.halves import FEWEST
from tslens.models.twins import twins
from tslens.progress import bar, note, off
from tslens.result import read_on
from tslens.twins import kept as store
from tslens.twins.counting import MODEL, STORIES, TWINS, is_whole, read_texts, result_of
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ABLATED_STORIES = 32
"""Stories of model and twins: with 19 twins nearly four times what ablating the model alone costs on 64."""
VERSION = "heads that matter, 2"
"""Part of the key of kept counts: raise it when the rule changes."""


def ablated(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    n: int = TWINS,
    rows: int = ABLATED_STORIES,
    limit: int = STORIES,
) -> TwinsResult:
    """Count the heads that matter (`heads.ablation`: zero, mean and resample) of a model and of `n` untrained twins.

    Model and twins are ablated on the same `rows` of the first `limit` stories, which a hash of their text chooses, to
    128 tokens each. The counts are kept as those of labels are.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    texts = read_texts(stories, limit)
    if n < 1 or min(len(texts), rows) < FEWEST:
        raise InputError(
            f"{n} twins on {min(len(texts), rows)} stories are no control: give 1 or more twins, and {FEWEST} stories."
        )
    name = store.key(f"{VERSION} {rows} {DEFAULT}", model, texts, stories, [])
    kept, place = store.read(model, name, is_whole)
    chosen = list(map(str, twins(n)))
    left = [twin for twin in twins(n) if str(twin) not in kept]
    with bar("ablating heads of untrained twins", len(left) + (MODEL not in kept)) as shown:
        if MODEL not in kept:
            with off():
                own = heads.ablation(model, texts, rows=rows)
            kept |= {MODEL: own.counts()} | {f"half {i}": {MATTERING: count} for i, count in enumerate(own.of_halves)}
            shown.advance()
        for i, twin in enumerate(left):
            began = time.monotonic()
            with off():
                kept[str(twin)] = {MATTERING: _mattering(twin.of(model), texts, rows)}
            store.write(place, kept)
            shown.advance()
            if i == 0 and len(left) > 1:
                seconds = (time.monotonic() - began) * (len(left) - 1)
                note(f"Ablating the heads of {len(left)} untrained twins, once: about {seconds:.0f} s more.")
    return cast(TwinsResult, read_on(result_of(models.name_of(model), min(rows, len(texts)), kept, chosen), stories))


def _mattering(twin: "LanguageModel", texts: Sequence[str], rows: int) -> int:
    """How many heads of a twin matter."""
    left = torch.tensor(True)
    for kind in reversed(DEFAULT):  # every kind has its own q
        left = left & heads.ablation(twin, texts, kinds=[kind], rows=rows).mattering
        if not left.any():
            break
    return int(left.sum())
