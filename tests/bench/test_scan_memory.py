"""The memory of a process is its own: neither what its parent once had, nor less than what it holds."""

import numpy as np
import pytest
import torch

from tslens.bench.scan_memory import largest_resident, scan_memory
from tslens.bench.size import Size


def test_what_is_held_counts() -> None:
    before = largest_resident()
    held = torch.ones(before // 4 + 50_000_000)  # four bytes each: more than ever before
    assert largest_resident() >= before + 200_000_000
    del held


@pytest.mark.thorough
def test_a_scan_in_a_process_of_its_own_is_told_without_its_parents_memory() -> None:
    """`getrusage` would say that it is as large as this process has been."""
    held = np.ones(250_000_000)
    assert largest_resident() > 2e9
    taken = scan_memory(Size(learnt=30, flat=3, flat_shape="16x1", flat_vocabulary=300), 2)
    assert 0 < taken < 0.5e9
    del held
