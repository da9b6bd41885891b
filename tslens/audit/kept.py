"""Store of verdicts: in the run's folder, or in the cache, under a hash of weights, plants and rules of labels."""

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tslens import files
from tslens.errors import InputError
from tslens.progress import note
from tslens.twins import kept as store
from tslens.twins.counting import VERSION as RULES

if TYPE_CHECKING:
    from tslens.audit.result import AuditResult
    from tslens.models import LanguageModel

VERSION = "every kind of label, 11"
"""Part of the key of kept verdicts: raise it when what is planted changes."""


@dataclass(frozen=True)
class Verdict:
    """What an audit of a model found."""

    passes: bool
    verdict: str
    """One sentence."""
    corpus: str
    """The stories that it was read on."""
    command: str
    """The command that makes it again."""
    size: int = 0
    """Models that were built by hand, each read on so many stories: their product."""


def keep(model: "LanguageModel", found: "AuditResult") -> None:
    """Keep the verdict beside the model, unless that of a larger audit is there, which stays; where nothing can be
    kept, it has to be found again."""
    verdict = Verdict(found.passes, found.verdict, found.corpus, found.command, found.models * found.stories)
    if (known := verdict_of(model)) is not None and known.size > verdict.size:
        note(f"The page keeps the verdict of a larger audit: {known.command}")
        return
    with contextlib.suppress(OSError):
        files.write_json(_places(model)[0], asdict(verdict))


def verdict_of(model: "LanguageModel") -> Verdict | None:
    """The verdict that was kept for a model with these weights, by the rules of today; None if there is none."""
    for place in _places(model):
        with contextlib.suppress(OSError, InputError, TypeError):
            return Verdict(**files.read_json(place))
    return None


def _places(model: "LanguageModel") -> list[Path]:
    """Where a verdict may lie, and first where one is kept."""
    return store.places(model, f"audit/{store.of_weights(model, f'{VERSION} {RULES}')}.json")
