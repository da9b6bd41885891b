"""Stories, their vocabulary, and two planted models that the tests of the audit share."""

import pytest

from tslens.audit import Planted, Vocabulary, plant
from tslens.stories import stories


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return list(stories("made", limit=60, seed=11))


@pytest.fixture(scope="session")
def vocabulary(texts: list[str]) -> Vocabulary:
    return Vocabulary.of_words(texts)


@pytest.fixture(scope="session", params=["gpt2", "llama"])
def planted(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Planted:
    return plant(vocabulary, request.param, seed=3)
