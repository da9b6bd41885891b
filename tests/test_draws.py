"""Counter-based draws: the published generator, ranges, and no trace of what is drawn beside."""

from typing import Any

import pytest
import torch

from tslens import draws
from tslens.analysis import circuits, lens
from tslens.generate import Sampling
from tslens.sae.training import Training
from tslens.tuned import tuned_lens


def test_splitmix64_is_the_published_one() -> None:
    """Its first outputs from seed 0 are mix(gamma), mix(2 gamma), mix(3 gamma); here a counter times gamma is mixed."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [x % 2**64 for x in draws.splitmix64(torch.tensor([1, 2, 3])).tolist()] == expected


def test_draws_are_even_and_do_not_depend_on_their_neighbours() -> None:
    rows, columns = torch.arange(200)[:, None], torch.arange(300)
    found = draws.below(torch.tensor(6), draws.draw(rows, columns))
    assert found.shape == (200, 300) and found.min() == 0 and found.max() == 5
    counts = torch.bincount(found.flatten())
    assert (counts - 10_000).abs().max() < 500  # five standard deviations
    assert draws.below(torch.tensor(6), draws.draw(torch.tensor(7), torch.tensor(11))) == found[7, 11]
    assert (draws.draw(rows, columns) != draws.draw(columns, rows)).all(0)[1:].any()


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused_by_every_door(seed: int, refused: Any) -> None:
    """Before anything is read; a library would raise an error of its own."""
    model: Any = None
    for door in (
        lambda: circuits.accuracy(model, "character", seed=seed),
        lambda: circuits.circuit(model, "character", seed=seed),
        lambda: circuits.patching(model, "character", seed=seed),
        lambda: circuits.paths(model, seed=seed),
        lambda: circuits.tokens(model, 0, 0, seed=seed),
        lambda: lens.translators(model, [], seed=seed),
        lambda: tuned_lens(model, [], seed=seed),
        lambda: Training("blocks.0.hook_resid_post", seed=seed),
        lambda: Sampling(seed=seed),
    ):
        with refused(f"seed is {seed}; it must be a whole number from 0 to 4294967295"):
            door()
