"""The valid things, made once, and the process that runs cases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import given
from tests.fuzz.running import Runner


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of valid things (`given.make`)."""
    folder = tmp_path_factory.mktemp("valid")
    given.make(folder)
    return folder


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A process that runs cases."""
    made = Runner(tmp_path_factory.mktemp("runner"))
    yield made
    made.close()
