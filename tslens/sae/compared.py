"""Neurons, features and random features of one activation, labelled and tested by the same rules."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor

from tslens.analysis.neurons import HeldOut, HeldOutResult, ProfilesResult
from tslens.analysis.neurons.held_out_measures import MEASURES
from tslens.errors import InputError
from tslens.forward import check_hooks
from tslens.halves import FEWEST, PAIRS, around, on_halves
from tslens.models import name_of, spec_of
from tslens.progress import bar, off
from tslens.result import read_on
from tslens.sae.features import Features, apart
from tslens.sae.result import ComparedFeaturesResult, FeaturesResult, HeldOutFeaturesResult
from tslens.scan import scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Q = 0.05
"""Of a label that holds on other stories."""


def compared_features(
    model: "LanguageModel", stories: Iterable[str], asked: Sequence[Features]
) -> tuple[ComparedFeaturesResult, list[FeaturesResult], list[HeldOutFeaturesResult]]:
    """The table of neurons, features and random features of a model (`asked`: see `readers`), then what it is made
    from: the profiles of each kind, and its labels of one half of the stories tested on the other.

    Raises:
        InputError: fewer stories than give an interval, a story that is trained on too, no SAELens, or as
            `dictionary` says.
    """
    texts, hook = apart(stories, asked), asked[0].training.hook
    if len(texts) < FEWEST:
        raise InputError(f"An interval of a count needs {FEWEST} different stories; there are {len(texts)}.")
    check_hooks(spec_of(model), [hook])
    for reducer in asked:
        reducer.dictionary(model)  # under a bar of its own
    halves = []
    with bar("labels on all stories and on halves", 1 + 2 * PAIRS) as shown, off():
        answers = on_halves(model, texts, asked)
        profiles = next(answers)
        shown.advance()
        for half in answers:
            halves.append(_counts(half))
            shown.advance()
    tested = scan(model, texts, [replace(reducer, by=HeldOut()) for reducer in asked])
    table = read_on(_table(name_of(model), hook, profiles, torch.stack(halves), tested), stories)
    return table, profiles, tested


def _table(
    model: str,
    hook: str,
    profiles: Sequence[FeaturesResult],
    halves: Int[Tensor, "half kind label"],
    tested: Sequence[HeldOutResult],
) -> ComparedFeaturesResult:
    alive = torch.stack([(found.firing_rate > 0).sum() for found in profiles])
    labelled = _counts(profiles)
    low, high = around(labelled, halves, alive[:, None].expand_as(labelled))
    of_tests = [[_tested(found, which) for which in (found.label >= 0, found.by_word)] for found in tested]
    counts = torch.tensor([[one[:3] for one in row] for row in of_tests])
    medians = torch.tensor([[one[3:] for one in row] for row in of_tests])
    return ComparedFeaturesResult(
        model=model,
        hook=hook,
        stories=profiles[0].n_stories,
        number=torch.tensor([found.label.numel() for found in profiles]),
        alive=alive,
        active=torch.stack([found.firing_rate.double().sum().float() for found in profiles]),
        explained=torch.tensor([found.explained for found in profiles]),
        labelled=labelled,
        labelled_low=low,
        labelled_high=high,
        share=labelled / alive[:, None].clamp(min=1),
        tested=counts[..., 0],
        holding=counts[..., 1],
        predicting=counts[..., 2],
        auroc=medians[..., 0],
        precision=medians[..., 1],
        base_rate=medians[..., 2],
    )


def _counts(profiles: Sequence[ProfilesResult]) -> Int[Tensor, "kind label"]:
    """The labels of each kind, of parts of speech and of one word, among what fires."""
    rows = []
    for found in profiles:
        fires = found.firing_rate > 0
        rows.append(torch.stack([((found.label >= 0) & fires).sum(), (found.by_word & fires).sum()]))
    return torch.stack(rows)


def _tested(found: HeldOutResult, which: Tensor) -> tuple[int, int, int, float, float, float]:
    """How many of these labels were tested, hold and predict; their median AUROC, precision and base rate."""
    value = found.value[which]
    enough = ~value[:, MEASURES.index("auroc")].isnan()
    holding, predicting = int((found.q[which] <= Q).sum()), int(found.predicts[which].sum())
    auroc, precision, base = (
        float(value[enough, MEASURES.index(name)].nanmedian()) if enough.any() else torch.nan
        for name in ("auroc", "precision", "base_rate")
    )
    return int(enough.sum()), holding, predicting, auroc, precision, base
