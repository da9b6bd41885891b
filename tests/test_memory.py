"""Memory that was freed goes back to the system."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from tslens.memory import give_back, giving_back


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_small_blocks_that_were_freed_are_given_back() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("another C library than glibc")
    blocks = [np.ones(60_000, dtype=np.uint8) for _ in range(4000)]  # too small to be mapped one by one
    kept = blocks[::100]
    full = resident()
    del blocks
    give_back()
    assert full - resident() > 150_000_000 and len(kept) == 40


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_blocks_of_four_megabytes_are_given_back_though_other_blocks_lie_after_them() -> None:
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("another C library than glibc")
    with giving_back():
        blocks = [np.ones(6_000_000, dtype=np.uint8) for _ in range(40)]
        kept, full = blocks[::10], resident()
        del blocks
        assert full - resident() > 200_000_000 and len(kept) == 4


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back()
    with giving_back():
        pass
