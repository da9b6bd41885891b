"""The answers of finished parts: in the run's folder, or in the cache, under a name that says what they are about."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tslens import __version__, files, lock, models
from tslens.corpus import Corpus
from tslens.errors import InputError
from tslens.files import cache
from tslens.progress import note
from tslens.result import Result

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FOLDER = "study"
RECORD = "part.json"
VERSION = 20
"""Part of the name of what is kept: raise it when a part asks something else, or an answer's rule changes."""


@dataclass(frozen=True)
class Kept:
    """The folder of one study, with a folder for every finished part; None where nothing can be written."""

    folder: Path | None

    def read(self, part: str, kinds: Mapping[str, type[Result]]) -> tuple[dict[str, Result], float] | None:
        """A part's answers by their names, and the seconds they took; None where they are not kept whole."""
        if self.folder is None:
            return None
        place = self.folder / part
        with contextlib.suppress(OSError, InputError, KeyError, TypeError, ValueError):
            record = files.read_json(place / RECORD)
            return {name: kinds[name].load(place / name) for name in record["answers"]}, float(record["seconds"])
        return None

    def write(self, part: str, answers: Mapping[str, Result], seconds: float) -> None:
        """Keep a part: its folder appears whole, or not at all."""
        if self.folder is None:
            return
        try:
            with files.atomic_folder(self.folder / part) as fresh:
                for name, answer in answers.items():
                    answer.save(fresh / name)
                files.write_json(fresh / RECORD, {"answers": list(answers), "seconds": seconds})
        except OSError as error:
            note(f"The answers of {part!r} cannot be kept in {self.folder} ({str(error.strerror).lower()}).")


@contextlib.contextmanager
def kept(model: "LanguageModel", stories: Corpus, asked: Sequence[Any]) -> Iterator[Kept]:
    """What is kept of a study of these stories with these settings; nobody else writes there meanwhile.

    InputError if another process does.
    """
    home = models.home_of(model)
    own = home is not None and home not in models.bundled().values()
    folder = (home if own and home is not None else cache()) / FOLDER / _key(model, stories, asked)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        note(
            f"Answers cannot be kept in {folder} ({str(error.strerror).lower()}): a study that is stopped begins anew."
        )
        yield Kept(None)
        return
    with lock.held(folder, otherwise="study other stories"):
        files.sweep(folder)
        note(f"Answers are kept in {folder}, part by part.")
        yield Kept(folder)


def _key(model: "LanguageModel", stories: Corpus, asked: Sequence[Any]) -> str:
    """A hash of all that decides the answers. Stories that the model writes itself count as their recipe: another
    machine's rounding changes a few of them."""
    digest = hashlib.blake2b(digest_size=16)
    texts = [stories.recipe, str(len(stories))] if stories.recipe else list(stories)
    for part in (
        str(VERSION),
        __version__,
        models.name_of(model),
        models.weights_key(model),
        *map(repr, asked),
        *texts,
    ):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()
