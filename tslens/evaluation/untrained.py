"""Untrained twins of models, which are scored beside them: what they score too, no training gave."""

from collections.abc import Mapping

from tslens import progress
from tslens.errors import InputError
from tslens.models import LanguageModel
from tslens.models.twins import twins

KINDS = 2
"""Twins of a model unless another number is asked for: one of each kind."""
MOST = 1_000
"""Twins of a model that are held at once."""


def untrained(models: Mapping[str, LanguageModel], n: int = KINDS) -> dict[str, LanguageModel]:
    """`n` twins of each model, by name: in turns with the values of every weight permuted, and freshly initialised.

    Of several points of a run (`RUN@STEP`) the last given has twins. A model that has none, as one without a tokenizer,
    is said. InputError for a negative number, or for over `MOST`.
    """
    if not 0 <= n <= MOST:
        raise InputError(f"--twins is {n:,}; give from 0 to {MOST:,}: all are held at once.")
    found: dict[str, LanguageModel] = {}
    finished = {name.rpartition("@")[0] or name: name for name in models}
    for name in finished.values() if n else ():
        try:
            found |= {f"{twin} of {name}": twin.of(models[name]) for twin in twins(n)}
        except InputError as error:
            progress.note(f"no untrained twin of {name}: {error}")
    return found
