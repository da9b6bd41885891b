"""Counter-based draws: the published generator, ranges, and no trace of what is drawn beside."""

import torch

from tslens import draws


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
