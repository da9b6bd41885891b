"""Store of what takes long to find on a model: in its run's folder or in the cache, named after all that decides it."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tslens import files, models
from tslens.corpus import Corpus
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
    """A name for what was found, after all that decides it.

    Stories that the model writes itself count as their recipe: another machine's rounding changes a few of them. The
    stories that a reducer brings along (its `texts`) count as they are.
    """
    recipe = stories.recipe if isinstance(stories, Corpus) else ""
    digest = hashlib.blake2b(digest_size=16)
    for part in (
        version,
        *map(repr, reducers),
        models.weights_key(model),
        *([recipe, str(len(texts))] if recipe else texts),
        *(text for reducer in reducers for text in getattr(reducer, "texts", ())),
    ):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def of_weights(model: "LanguageModel", version: str) -> str:
    """A name for what depends on a model's weights and on these rules alone."""
    return hashlib.blake2b(f"{version}\0{models.weights_key(model)}".encode(), digest_size=16).hexdigest()


def places(model: "LanguageModel", name: str) -> list[Path]:
    """Where something of this name is kept: first the place to keep more in; of a bundled model also its folder."""
    home = models.home_of(model)
    bundled = home in models.bundled().values()
    first = home if home is not None and not bundled else files.cache()
    return [folder / name for folder in (first, *([home] if home is not None and bundled else []))]


def is_writable(model: "LanguageModel") -> bool:
    """Whether what is found on twins can be kept."""
    folder = places(model, "twins")[0]
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return os.access(folder, os.W_OK)


def read(model: "LanguageModel", name: str, is_whole: Callable[[Any], bool]) -> tuple[dict[str, Any], Path]:
    """What was found on twins and kept under this name, if it is whole, and the file to keep more in."""
    first, *others = places(model, f"twins/{name}.json")
    for source in (first, *others):
        with contextlib.suppress(OSError, InputError):
            if is_whole(found := files.read_json(source)):
                return found, first
    return {}, first


def write(place: Path, kept: Mapping[str, Any]) -> None:
    """Keep it; where nothing can be kept, all is found anew next time."""
    with contextlib.suppress(OSError):
        files.write_json(place, dict(kept))
