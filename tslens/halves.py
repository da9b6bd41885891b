"""Answers on all of some stories and on halves of them: the interval of any number that these answers give."""

import copy
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens.draws import draw
from tslens.scan import Begun, Reducer, concluded, reading, states
from tslens.stories.identity import content_hash
from tslens.threads import in_threads

if TYPE_CHECKING:
    from tslens.models import LanguageModel

GROUPS, PAIRS = 10, 6
"""Groups of stories, and pairs of complementary halves of them."""
FEWEST = 2 * GROUPS
"""Stories that an interval needs."""


def on_halves(
    model: "LanguageModel", texts: Sequence[str], reducers: Sequence[Reducer[Any, Any]], *, pairs: int = PAIRS
) -> Iterator[list[Any]]:
    """The answers of the reducers on all texts, then those on halves of them, each half followed by its complement.

    The model reads every text once, also for reducers of which one goes on from another's answer. Groups and halves
    depend on the texts alone, not on their order.
    """
    ordered, asked = sorted(texts, key=content_hash), list[Reducer[Any, Any]]()
    for reducer in map(reading, reducers):
        asked += [reducer] if reducer not in asked else []
    begun = [Begun(reducer, partial(copy.deepcopy, reducer.start(model))) for reducer in asked]
    groups = [states(model, ordered[i::GROUPS], begun) for i in range(GROUPS)]

    def on(members: Sequence[int]) -> list[Any]:
        found = []
        for i, reducer in enumerate(asked):
            first, *others = (groups[group][i] for group in members)
            found.append(reducer.finish(reduce(reducer.merge, others, copy.deepcopy(first))))  # which merging changes
        return [concluded(r, found[asked.index(reading(r))]) for r in reducers]

    yield on(range(GROUPS))
    each = halves(pairs)
    for half, complement in zip(each, each, strict=True):
        yield from in_threads(on, [half, complement])


def halves(pairs: int = PAIRS) -> Iterator[list[int]]:
    """The groups of `pairs` halves, each followed by those of its complement."""
    for pair in range(pairs):
        order = np.argsort(draw(torch.tensor(pair), torch.arange(GROUPS)).numpy()).tolist()
        for half in (order[: GROUPS // 2], order[GROUPS // 2 :]):
            yield sorted(half)


def reach(halves: Float[Tensor, "half *axes"]) -> Float[Tensor, "*axes"]:
    """Half the length of the 95% interval of numbers, from the same numbers on halves of the stories.

    Repeated half-sampling (Shao and Wu 1989, doi:10.1214/aos/1176347263), which holds for counts and maxima too. A
    bootstrap would read stories twice, which count once in every list of top tokens.
    """
    from scipy.stats import t

    return halves.std(0) * float(t.ppf(0.975, GROUPS - 1))
