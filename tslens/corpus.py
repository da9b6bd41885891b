"""The stories a model is read on: its run's validation stories, a source the user names, or stories it writes itself.

Stories that a model writes are cached in `$TSLENS_CACHE/stories/` (else `$XDG_CACHE_HOME/tslens/stories/`, else
`~/.cache/tslens/stories/`), under a hash of its weights, its tokenizer and the sampling settings.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tslens import files, models, runs
from tslens.errors import InputError
from tslens.generate import Sampling, generate
from tslens.paths import is_file
from tslens.stories import MADE_SOURCES, Source, Stories, stories
from tslens.stories.sources import EXTENSIONS, HUB_ID
from tslens.stories.split import SPLITS
from tslens.train import validation_stories
from tslens.train.prepare import VALIDATION

if TYPE_CHECKING:
    from tslens.models import LanguageModel

SELF = "self"
BLOCK = 50
"""Number of stories of a cached block; block i is drawn with seed i."""
TOKENS = 300
"""Largest number of tokens of a story that a model writes."""
EMPTY_BLOCKS = 3
"""Number of blocks without a story after which the model is assumed to write none."""


@dataclass(frozen=True)
class Corpus:
    """Stories for a model to read, with their description."""

    texts: tuple[str, ...]
    source: str
    """Their source and split, in words."""
    remark: str = ""
    """Their relation to the training stories, as a sentence; may be empty."""
    recipe: str = ""
    """What determines stories that the model writes itself: its weights and the sampling; empty for other stories."""
    trained_on: tuple[str, ...] = ()
    """Sources among them on whose stories, by its record, the model was trained."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def description(self) -> str:
        """One line: number of stories, source, split, and the remark."""
        return f"{counted(len(self))}: {self.source}.{' ' if self.remark else ''}{self.remark}"


def counted(n: int) -> str:
    """A number of stories, in words."""
    return f"{n:,} {'story' if n == 1 else 'stories'}"


def model_stories(
    model: "LanguageModel",
    source: str | None = None,
    *,
    limit: int | None = 200,
    self_written: bool = True,
    tokens: int | None = TOKENS,
) -> Corpus:
    """Stories to read a model on, at most `limit`, in memory.

    Without `source`: the validation stories that its run kept (`validation`); where it kept none, stories that the
    model writes itself (`self`), at temperature 1 with fixed seeds (500 if `limit` is None), of `tokens` at most (None:
    up to its context). `train`: the training split of its training source. Anything else is a source for `stories`.

    InputError if the requested stories do not exist, and, if `self_written` is False, if the model would have to write
    them itself.
    """
    if limit is not None and not (isinstance(limit, int) and limit >= 1):
        raise InputError(f"limit={limit!r} leaves no story; give a whole number of 1 or more")
    name, record = models.name_of(model), _seen_from_here(models.training_record(model), models.home_of(model))
    if source is None or source == "validation":
        found = _kept(model, record, limit)
        if found is not None:
            return found
        if source is None and self_written:
            return _written(model, limit, tokens)
        also = "or `self`, for what it writes itself"
        if not self_written:
            also = "the loss of a model on what it writes itself is only its entropy"
        raise InputError(f"{name} keeps no validation stories. Name the stories to read with --stories ({also}).")
    if source == SELF:
        return _written(model, limit, tokens)
    if source == "train":
        read = _training(name, record, limit)
    else:
        read = stories(source, limit=limit)
    texts = tuple(read)
    return Corpus(texts, read.name, relation(record, read), trained_on=tuple(seen_in_training(record, read)))


def _kept(model: "LanguageModel", record: Mapping[str, Any], limit: int | None) -> Corpus | None:
    """The validation stories that the model's run kept; None if it kept none."""
    home, trained_on = models.home_of(model), _trained_on(record)
    place = None if home is None else home / "data" / VALIDATION
    if place is None or not is_file(place, runs.RESTORE):
        return None
    run, of = models.name_of(model).partition("@")[0], f" (of {trained_on})" if trained_on else ""
    return Corpus(tuple(validation_stories.read(place)[:limit]), f"validation stories that {run} kept{of}")


def _training(name: str, record: Mapping[str, Any], limit: int | None) -> Stories:
    trained_on = _trained_on(record)
    if not trained_on:
        raise InputError(f"{name} has no record of what it was trained on. Name the stories to read with --stories.")
    data = (record.get("recipe") or {}).get("data") or {}
    split = None if "@" in trained_on else "train"
    try:
        return stories(trained_on, split=split, limit=limit, seed=data.get("seed", 0))
    except (InputError, FileNotFoundError) as error:
        raise InputError(
            f"{name} was trained on {trained_on}, which cannot be read here. Name the stories to read with --stories."
        ) from error


def _seen_from_here(record: Mapping[str, Any], home: Path | None) -> Mapping[str, Any]:
    """The record with its sources as they are named from this folder, where the run was trained in another."""
    data = record.get("data") or {}
    if home is None or not isinstance(data.get("read_from"), str) or not (trained_on := _trained_on(record)):
        return record

    def seen(name: str) -> str:
        place = re.split("[@:]", name)[0]
        there = home / data["read_from"] / place
        return name if Path(place).is_absolute() or not there.exists() else os.path.relpath(there) + name[len(place) :]

    return {**record, "data": {**data, "source": ",".join(map(seen, trained_on.split(",")))}}


def _trained_on(record: Mapping[str, Any]) -> str:
    return str((record.get("data") or {}).get("source") or "")


def relation(record: Mapping[str, Any], read: Stories) -> str:
    """A sentence if, by the model's `config.json`, the stories are among its training stories or are of another source.
    Empty if they are the validation split of its source, or if the config names no source.
    """
    trained_on = _trained_on(record)
    if not trained_on:
        return ""
    trained = {_place(name.partition("@")[0]) for name in trained_on.split(",")}
    if not any(_place(place) in trained for place, _, _ in _places(read)):
        if not any(_is_source(name) for name in trained):
            return f"By its record it was trained on {trained_on}; whether these are among them is not known."
        return f"By its record it was trained on {trained_on}, not on {read.name} by that name."
    if not (seen := seen_in_training(record, read)):
        return ""
    return (
        f"By its record it was trained on stories of {', '.join(seen)}; those kept from training are "
        f"{', '.join(f'{place}@validation' for place in seen)}."
    )


def seen_in_training(record: Mapping[str, Any], read: Stories) -> list[str]:
    """Those sources of the stories that training used too, by the model's `config.json`, but for held-out splits."""
    trained = {_place(name.partition("@")[0]) for name in _trained_on(record).split(",") if name}
    return [place for place, part, split in _places(read) if _place(place) in trained and not _held_out(part, split)]


def _places(read: Stories) -> list[tuple[str, Source | str, str | None]]:
    """Each source of the stories: its name, the source, its split."""
    return [
        (part if isinstance(part, str) else part.place, part, split)
        for part, split in zip(read.sources, read.splits, strict=True)
    ]


def _place(name: str) -> str:
    """A source's name without its column; a file by its absolute path, so that equal files have equal names."""
    place = name.strip()
    if place not in MADE_SOURCES and not Path(place).exists():
        place = place.partition(":")[0]
    return str(Path(place).resolve()) if Path(place).exists() else place


def _is_source(place: str) -> bool:
    """Whether a record's words name a source, and do not describe one."""
    return place in MADE_SOURCES or Path(place).suffix.lower() in EXTENSIONS or bool(HUB_ID.fullmatch(place))


def _held_out(part: Source | str, split: str | None) -> bool:
    """Whether a source is read in a split that training does not use: ours for a file, its own for a dataset."""
    if split is not None or isinstance(part, str) or part.path.is_file():
        return split == SPLITS[1]
    return part.part != SPLITS[0]


def _written(model: "LanguageModel", limit: int | None, tokens: int | None) -> Corpus:
    """Stories that the model writes at temperature 1, without those that are only white space."""
    wanted, texts, empty = 500 if limit is None else limit, [], 0
    folder = files.cache() / "stories" / _key(model, tokens)
    for block in count():
        written = [text for text in _block(model, folder / f"{block}.json", block, tokens) if text.strip()]
        texts += written
        empty += not written
        if len(texts) >= wanted:
            break
        if empty >= EMPTY_BLOCKS:
            raise InputError(
                f"{models.name_of(model)} writes no stories, and keeps none. Name the stories to read with --stories."
            )
    how = f"temperature 1, seeds 0 to {block}" if block else "temperature 1, seed 0"
    after = " after an instruction that asks for nothing" if models.story_head_of(model) else ""
    source = f"stories that {models.name_of(model)} wrote itself{after} ({how})"
    remark = "A loss on these is their entropy, not how well it predicts others."
    return Corpus(tuple(texts[:wanted]), source, remark, recipe=folder.name)


def _key(model: "LanguageModel", tokens: int | None = TOKENS) -> str:
    """A hash of everything that determines what a model writes."""
    begun = models.story_head_of(model)
    how = json.dumps({"block": BLOCK, "tokens": tokens} | ({"begun": begun} if begun else {}))
    return hashlib.blake2b(f"{how}{models.weights_key(model)}".encode(), digest_size=16).hexdigest()


def _block(model: "LanguageModel", place: Path, number: int, most: int | None) -> list[str]:
    """A block of stories of a model, from the cache or written now."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = files.read_json(place)
        if isinstance(found, list) and len(found) == BLOCK and all(isinstance(text, str) for text in found):
            return found
    room = models.spec_of(model, compressors=True).n_ctx - 1
    begun = models.story_head_of(model)
    written = generate(model, begun, n=BLOCK, max_new_tokens=min(most or room, room), sampling=Sampling(seed=number))
    texts = [text[len(begun) :] for text in written]
    with contextlib.suppress(OSError):  # where nothing can be kept, they are written anew next time
        files.write_json(place, texts)
    return texts
