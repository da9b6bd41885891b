"""Stories, their vocabulary, and planted models that the tests of the audit share."""

import pytest

from tslens.analysis import heads
from tslens.audit import Planted, Vocabulary, plant
from tslens.audit.running import GENERATED
from tslens.stories import stories


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return list(stories("made", limit=60, seed=11))


@pytest.fixture(scope="session")
def vocabulary(texts: list[str]) -> Vocabulary:
    return Vocabulary.of_words(texts, list(heads.Kinds(made=GENERATED).truth.values()))


@pytest.fixture(scope="session", params=[("gpt2", 3), ("llama", 3), ("gpt2", 2)], ids=["gpt2", "llama", "other turns"])
def planted(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Planted:
    style, seed = request.param
    return plant(vocabulary, style, seed=seed)
