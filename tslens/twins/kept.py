"""Store of what was found on twins: in the run's folder, or in the cache, named after all that decides it."""

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tslens import files, models
from tslens.corpus import Corpus, cache, weights_key
from tslens.errors import InputError
from tslens.scan import Reducer

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def key(
    version: str,
    model: "LanguageModel",
    texts: Sequence[str],
    stories: object,
    reducers: Sequence[Reducer[Any, Any]],
) -> str:
    """The file's name, after all that decides what it holds.

    Stories that the model writes itself count as their recipe: another machine's rounding changes a few of them. The
    stories that a reducer brings along (its `texts`) count as they are.
    """
    recipe = stories.recipe if isinstance(stories, Corpus) else ""
    digest = hashlib.blake2b(digest_size=16)
    for part in (
        version,
        *map(repr, reducers),
        weights_key(model),
        *([recipe, str(len(texts))] if recipe else texts),
        *(text for reducer in reducers for text in getattr(reducer, "texts", ())),
    ):
        digest.update(part.encode() + b"\0")
    return f"{digest.hexdigest()}.json"


def read(model: "LanguageModel", name: str, is_whole: Callable[[Any], bool]) -> tuple[dict[str, Any], Path]:
    """What was kept under this name, if it is whole, and the file to keep more in."""
    home = models.home_of(model)
    bundled = home in models.bundled().values()
    place = (home if home is not None and not bundled else cache()) / "twins" / name
    for source in (place, *([home / "twins" / name] if home is not None and bundled else [])):
        with contextlib.suppress(OSError, InputError):
            if is_whole(found := files.read_json(source)):
                return found, place
    return {}, place


def write(place: Path, kept: Mapping[str, Any]) -> None:
    """Keep it; where nothing can be kept, all is found anew next time."""
    with contextlib.suppress(OSError):
        files.write_json(place, dict(kept))
