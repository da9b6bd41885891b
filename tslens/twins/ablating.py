"""How many heads and labelled neurons of untrained twins matter, by the rules of the model's own: how often ablation
says so of any network.

Ablating every head of a network costs far more than reading it: so there are few stories, the same for the model.
A head matters if the network loses by every kind of ablation. Of a twin the kinds are asked one by one, the strictest
first, until no head is left: mostly one is enough. A twin's neurons are labelled on the stories that the model's are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from tslens.analysis import heads, neurons
from tslens.analysis.heads.ablation import DEFAULT
from tslens.analysis.heads.ablation_result import MATTERING
from tslens.analysis.neurons.mean_ablation_result import KINDS, MISSED, SERVING
from tslens.halves import PAIRS
from tslens.twins.checked import checked
from tslens.twins.counting import STORIES, TWINS, Counts, read_texts, units
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ABLATED_STORIES = 32
"""Stories of model and twins."""
ABLATED_TOKENS = 64
"""Tokens of each story whose loss is read without a head: with 19 twins this costs nearly twice what ablating the model
alone does on 64 stories to 128 tokens."""
VERSION = "heads that matter, 4"
"""Part of the key of kept counts: raise it when the rule changes."""
NEURONS_VERSION = "neurons that matter, 6"
"""The same for neurons."""


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
    64 tokens each. The counts are kept as those of labels are.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    texts = read_texts(stories, limit)

    def own() -> tuple[Counts, list[Counts]]:
        found = heads.ablation(model, texts, rows=rows, context=ABLATED_TOKENS)
        return found.counts(), [{MATTERING: count} for count in found.of_halves]

    def of_twin(twin: "LanguageModel") -> Counts:
        return {MATTERING: _mattering(twin, texts, rows)}

    version, read = f"{VERSION} {rows} {DEFAULT}", min(rows, len(texts))
    found = checked(
        model, texts, stories, version, own, of_twin, n=n, rows=read, what="ablating heads", of=units(model, MATTERING)
    )
    return replace(found, unit=f"stories of {ABLATED_TOKENS} tokens")


def ablated_neurons(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    n: int = TWINS,
    rows: int = ABLATED_STORIES,
    limit: int = STORIES,
    most: int = 200,
) -> TwinsResult:
    """Count the neurons with a part of speech, and those with a word, that a model misses, and those that it misses
    most on the tokens of their label (`neurons.mean_ablation`), and the same of `n` untrained twins.

    Neurons of model and twins are labelled on the first `limit` stories, and the `most` with the highest AUROC are
    ablated on the same `rows` of them. The interval is over these rows, the labels given.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    texts = read_texts(stories, limit)

    def counted(one: "LanguageModel") -> tuple[Counts, Sequence[Counts]]:
        profiles = neurons.profiles(one, texts)
        if not profiles.is_labelled.any():
            nothing = {f"{kind} {what}": 0 for kind in KINDS for what in (MISSED, SERVING)}
            return nothing, [nothing] * (2 * PAIRS)
        found = neurons.mean_ablation(one, texts, profiles, rows=rows, most=most, controls=False)
        return found.counts(), found.of_halves

    def own() -> tuple[Counts, Sequence[Counts]]:
        return counted(model)

    def of_twin(twin: "LanguageModel") -> Counts:
        return counted(twin)[0]

    version, read = f"{NEURONS_VERSION} {rows} {most}", min(rows, len(texts))
    return checked(model, texts, stories, version, own, of_twin, n=n, rows=read, what="ablating neurons", of=most)


def _mattering(twin: "LanguageModel", texts: Sequence[str], rows: int) -> int:
    """How many heads of a twin matter."""
    left = torch.tensor(True)
    for kind in reversed(DEFAULT):  # every kind has its own q
        left = left & heads.ablation(twin, texts, kinds=[kind], rows=rows, context=ABLATED_TOKENS).mattering
        if not left.any():
            break
    return int(left.sum())
