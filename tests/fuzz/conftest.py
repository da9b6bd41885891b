"""The valid things, made once, and the process that runs cases."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.fuzz import given
from tests.fuzz.running import Runner


@pytest.fixture(scope="session")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of valid things (`given.make`), made once for all processes of pytest-xdist."""
    home = tmp_path_factory.getbasetemp()
    home = home.parent if "PYTEST_XDIST_WORKER" in os.environ else home
    with FileLock(home / "valid.lock"):
        if not (home / "valid").exists():
            (home / "making").mkdir()
            given.make(home / "making")
            (home / "making").rename(home / "valid")
    return home / "valid"


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A process that runs cases."""
    made = Runner(tmp_path_factory.mktemp("runner"))
    yield made
    made.close()
