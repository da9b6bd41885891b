"""The tuned lens of a model: read where it is kept, else fitted on the model's training stories and kept.

A run keeps it in its folder (`tuned-lens/`), any other model in the cache, under a hash of its weights.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tslens import files, models
from tslens.analysis import lens
from tslens.analysis.lens import TranslatorsResult
from tslens.corpus import SELF, Corpus, model_stories
from tslens.draws import check_seed
from tslens.errors import InputError
from tslens.files import cache
from tslens.progress import note
from tslens.result import is_saved
from tslens.stories.identity import content_hash

if TYPE_CHECKING:
    from tslens.models import LanguageModel

STORIES = 1000
RECORD = "fitted.json"


def tuned_lens(
    model: "LanguageModel",
    held_out: Iterable[str] = (),
    *,
    source: str | None = None,
    limit: int = STORIES,
    steps: int = lens.STEPS,
    seed: int = 0,
    refit: bool = False,
) -> TranslatorsResult:
    """The tuned lens of a model, read or fitted.

    It is fitted on `limit` stories of `source` (as for `model_stories`), else of the model's training stories, or where
    these cannot be read on stories that the model writes itself; never on one of `held_out`. What is kept is fitted
    anew if it was asked for in another way, if it was fitted on a story of `held_out`, or with `refit`.

    Raises:
        InputError: it was fitted on other weights than the model now has (and not `refit`), or the stories asked for
            cannot be read or are too few.
    """
    check_seed(seed)
    place, texts = place_of(model), list(held_out)
    asked = {"source": source, "limit": limit, "steps": steps, "seed": seed}
    if not refit and (kept := _kept(model, place, asked, texts)) is not None:
        return kept
    corpus = fit_stories(model, source, limit, texts)
    note(f"fitting the tuned lens on {corpus.description}")
    fitted = lens.translators(model, corpus, steps=steps, seed=seed)
    try:
        (place / RECORD).unlink(missing_ok=True)  # a kill between the two leaves no record, so it is fitted again
        fitted.save(place)
        files.write_json(
            place / RECORD, {"weights": models.weights_key(model), "asked": asked, "stories": _key(fitted)}
        )
    except OSError as error:
        note(f"The tuned lens cannot be kept in {place} ({str(error.strerror).lower()}): it is fitted again next time.")
    return fitted


def place_of(model: "LanguageModel") -> Path:
    """The folder where the tuned lens of a model is kept: that of its own run, or one in the cache."""
    home, (_, _, step) = models.home_of(model), models.name_of(model).partition("@")
    if home is not None and home not in models.bundled().values():
        return home / "tuned-lens" / (f"step-{step}" if step else "final")
    return cache() / "tuned-lens" / models.weights_key(model)


def _kept(
    model: "LanguageModel", place: Path, asked: dict[str, Any], held_out: Sequence[str]
) -> TranslatorsResult | None:
    """The tuned lens that is kept, if it is the one asked for and may judge these stories."""
    if not (place / RECORD).is_file() or not is_saved(place / TranslatorsResult.__name__):
        return None
    record, found = files.read_json(place / RECORD), TranslatorsResult.load(place)
    if not isinstance(record, dict) or record.get("stories") != _key(found):
        raise InputError(f"{place} was altered: it is not the tuned lens that {RECORD} records. Fit it again: --refit.")
    if record.get("weights") != models.weights_key(model):
        raise InputError(
            f"The tuned lens in {place} was fitted on other weights than {models.name_of(model)} has now. "
            "Fit it again: --refit."
        )
    hashes = torch.tensor([content_hash(text) for text in held_out], dtype=torch.int64)
    if record.get("asked") != asked or torch.isin(hashes, found.story_hashes).any():
        return None
    return found


def _key(fitted: TranslatorsResult) -> str:
    """A hash of the stories and the settings that a tuned lens was fitted with, and of its translators."""
    digest = hashlib.blake2b(f"{fitted.steps} {fitted.seed}".encode(), digest_size=16)
    for part in (fitted.story_hashes, fitted.weight, fitted.bias):
        digest.update(part.contiguous().numpy().data)
    return digest.hexdigest()


def fit_stories(model: "LanguageModel", source: str | None, limit: int, stories: Iterable[str]) -> Corpus:
    """At most `limit` stories to fit on, from where `tuned_lens` says; none of them is one of `stories`, which judge.

    Raises:
        InputError: no story is left, or they cannot be read.
    """
    if limit < 1:
        raise InputError(f"{limit} stories are none to fit a tuned lens on; give 1 or more.")
    held_out = {content_hash(text) for text in stories}
    more = limit + len(held_out)
    if source is not None:
        found = model_stories(model, source, limit=more)
    else:
        try:
            found = model_stories(model, "train", limit=more)
        except InputError:
            own = "stories that the model writes itself: those that it was trained on cannot be read here"
            note(f"The tuned lens is fitted on {own} (`--fit-stories` names others).")
            found = model_stories(model, SELF, limit=more)
    texts = tuple(text for text in found if content_hash(text) not in held_out)[:limit]
    if not texts:
        raise InputError("No story is left to fit a tuned lens on: all of them are held out. Name others.")
    return dataclasses.replace(found, texts=texts)
