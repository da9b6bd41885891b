"""What is saved for the backward pass, counted by hand."""

import torch

from tslens.forward.saved_bytes import saved_bytes


def test_saved_bytes_are_counted_once_and_without_parameters() -> None:
    """x·w saves x and w; the two squares save y, once: 2 x 3 inputs and 2 x 5 products, in 4 bytes each."""
    layer = torch.nn.Linear(3, 5, bias=False)

    def loss() -> torch.Tensor:
        y = layer(torch.ones(2, 3))
        return (y.square() + y.square()).sum()

    assert saved_bytes(layer, loss) == 4 * (6 + 10)
