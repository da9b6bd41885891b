"""Name an n-gram model after its stories, and after the models that it is other data beside."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from tslens.models import training_record
from tslens.stories.digests import digest_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def five_gram_of(
    place: str, texts: Iterable[str], models: "Mapping[str, LanguageModel]", own: Collection[str] = ()
) -> str:
    """The name of a word 5-gram of these stories: `5-gram of PLACE`, and which models have read others, by the digest
    of the stories that a run records. Models of `own` are known to have read these."""
    digest = digest_of(texts)
    others = [name for name, model in models.items() if name not in own and digest not in _read_by(model)]
    of_whom = "" if len(others) == len(models) else f" than of {', '.join(others)}"
    return f"5-gram of {place}" + (f" (other data{of_whom})" if others else "")


def _read_by(model: "LanguageModel") -> Collection[str]:
    """The digests of the stories that a model was trained on, by its record."""
    digests = (training_record(model).get("data") or {}).get("digests") or {}
    return [digest for part, digest in digests.items() if part != "validation"]
