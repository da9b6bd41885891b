"""Answers on all of some stories and on halves of them: the interval of any number that these answers give."""

import copy
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.memory import give_back
from tslens.progress import note
from tslens.scan import Begun, Reducer, concluded, reading, states
from tslens.stats import wilson
from tslens.stories.identity import content_hash

if TYPE_CHECKING:
    from tslens.models import LanguageModel

GROUPS, PAIRS = 8, 7
"""Groups of stories, and pairs of complementary halves of them: the rows of a Hadamard matrix."""
FEWEST, ENOUGH = 20, 96
"""Stories that an interval needs, and those from which on it covers 95% in simulation."""
LEADING_P = 0.05
"""The largest rank p, among its own and the twins', of a count that leads."""


def on_halves(
    model: "LanguageModel", texts: Sequence[str], reducers: Sequence[Reducer[Any, Any]]
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

    for members in (range(GROUPS), *halves()):
        yield on(members)
        give_back()  # one after the other, since states of halves are large


def warn_of_few(stories: int) -> None:
    """Say that intervals of counts on so few stories are too narrow, if they are."""
    if stories < ENOUGH:
        note(
            f"Intervals of counts on {stories} stories are too narrow: simulated ones cover 73% on 32 stories and 82% "
            f"on 48. Give {ENOUGH} stories or more."
        )


def halves() -> Iterator[list[int]]:
    """The groups of every half, each followed by those of its complement. Two halves that are no complements share half
    of their groups, so that the differences between complements are independent where groups are."""
    for pair in range(1, GROUPS):
        sides = [(pair & group).bit_count() % 2 for group in range(GROUPS)]
        for side in (0, 1):
            yield [group for group in range(GROUPS) if sides[group] == side]


def twice(rows: int, groups: Sequence[int]) -> Int[Tensor, " row"]:
    """The rows of these groups, each twice: as many as all rows are, so that what is tested on half of few rows is
    tested as on all of them (weights of 2 and 0, as in balanced repeated replication)."""
    half = torch.isin(torch.arange(rows) % GROUPS, torch.tensor(groups)).nonzero().flatten()
    return half.repeat(2)


def reach(halves: Float[Tensor, "half *axes"]) -> Float[Tensor, "*axes"]:
    """Half the length of the 95% interval of numbers, from the same numbers on halves of the stories.

    Balanced half-sampling (McCarthy 1969, doi:10.2307/1402116; for other numbers than means, Shao and Wu 1989,
    doi:10.1214/aos/1176347263): half the difference between complements varies as a mean over all stories does, and t
    has a degree of freedom for each. A bootstrap would read stories twice, which count once in every list of top
    tokens. The interval is that of a number on as many stories: labels become more or fewer with more of them.
    """
    from scipy.stats import t

    apart = (halves[::2] - halves[1::2]) / 2
    return (apart**2).mean(0).sqrt() * float(t.ppf(0.975, len(apart)))


def around(
    count: Int[Tensor, "*axes"], halves: Int[Tensor, "half *axes"], of: Int[Tensor, "*axes"]
) -> tuple[Float[Tensor, "*axes"], Float[Tensor, "*axes"]]:
    """Lower and upper end of the 95% interval of counts of labels, from the same counts on halves of the stories, and
    from how many heads or neurons there are; where this is 0, the number is a share, and halves alone tell.

    Halves say nothing where no label is significant on half of the stories, or all agree by chance. So the distance of
    each end is that from halves and that of Wilson's interval together, as squares add (Zou and Donner 2008,
    doi:10.1002/sim.3095): labels that come and go independently vary at most as a binomial count does. `tslens audit`
    simulates it on 96 stories with significant units, and on 32. On 32 a half finds hardly any unit that all stories
    just find, and covers 73%, on 48 stories 82% (`warn_of_few`). Where each story of a half can count twice (`twice`,
    of ablations), 97% are covered on 32.
    """
    return joined(count.double(), reach(halves.double()), of)


def joined(
    count: Float[Tensor, "*axes"], width: Float[Tensor, "*axes"], of: Int[Tensor, "*axes"], *, runs: int = 1
) -> tuple[Float[Tensor, "*axes"], Float[Tensor, "*axes"]]:
    """Lower and upper end of the interval of counts of `of` heads or neurons each: their half-width by halves of the
    stories or by runs, joined with Wilson's for a mean count of so many runs, as squares add (see `around`). It lies
    between 0 and `of`, and has a width where all halves or runs agree. Where `of` is 0, the half-width alone counts."""
    known, units = of > 0, runs * of.clamp(min=1)
    share = wilson((runs * count).clamp(min=0).minimum(units).numpy(), units.numpy())
    below, above = (
        torch.where(known, torch.as_tensor(end) * of - count, 0.0).square() for end in (share.low, share.high)
    )
    low, high = count - (width.square() + below).sqrt(), count + (width.square() + above).sqrt()
    return low.clamp(min=0).float(), torch.where(known, high.minimum(of), high).float()


def leading(
    low: Float[Tensor, "*axes"], most: Int[Tensor, "*axes"], p: Float[Tensor, "*axes"]
) -> Bool[Tensor, "*axes"]:
    """Whether the lower end of a count's interval, as the whole count nearest to it, exceeds the count of every twin,
    and p is at most 0.05. Where twins have none, one head or neuron alone does not lead."""
    return (low > most + 0.5) & (p <= LEADING_P)
