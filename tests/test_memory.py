"""Memory that was freed goes back to the system: measured in processes whose heap nothing else holds."""

import ctypes
import subprocess
import sys
import textwrap

import pytest

from tslens.memory import give_back, giving_back

BEGUN = """
from pathlib import Path
import numpy as np
from tslens.memory import give_back, giving_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
"""


def given_back(code: str, function: str) -> int:
    """The bytes that a process gives back in this code, which prints them."""
    if not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), function):
        pytest.skip("needs glibc and /proc")
    done = subprocess.run([sys.executable, "-c", BEGUN + textwrap.dedent(code)], capture_output=True, check=True)
    return int(done.stdout)


def test_small_blocks_that_were_freed_are_given_back() -> None:
    freed = given_back(
        """
        blocks = [np.ones(60_000, dtype=np.uint8) for _ in range(4000)]  # too small to be mapped one by one
        kept, full = blocks[::100], resident()
        del blocks
        give_back()
        print(full - resident())
        """,
        "malloc_trim",
    )
    assert freed > 150_000_000


def test_blocks_of_four_megabytes_are_given_back_though_other_blocks_lie_after_them() -> None:
    freed = given_back(
        """
        with giving_back():
            blocks = [np.ones(6_000_000, dtype=np.uint8) for _ in range(40)]
            kept, full = blocks[::10], resident()
            del blocks
            print(full - resident())
        """,
        "mallopt",
    )
    assert freed > 200_000_000


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back()
    with giving_back():
        pass
